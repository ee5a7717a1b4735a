// SPDX-License-Identifier: Apache-2.0
//! Samples and counts during a run, and the ends of flows.

pub mod cures;
pub mod diag;
pub mod drops;
pub mod outcome;
pub mod queue;
pub mod sample;
pub mod subflows;
