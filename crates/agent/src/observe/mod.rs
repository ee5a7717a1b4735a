// SPDX-License-Identifier: Apache-2.0
//! Takes samples and counts during a run, and records the ends of flows.

pub mod cures;
pub mod diag;
pub mod drops;
pub mod outcome;
pub mod queue;
pub mod sample;
pub mod subflows;
