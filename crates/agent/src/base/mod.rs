// SPDX-License-Identifier: Apache-2.0
//! The foundations of the agent.

pub mod clock;
pub mod context;
pub mod ending;
pub mod error;
pub mod say;
pub mod table;
