// SPDX-License-Identifier: Apache-2.0
//! What is sampled and counted while a run goes on, and how flows end.

pub mod cures;
pub mod diag;
pub mod drops;
pub mod outcome;
pub mod queue;
pub mod sample;
