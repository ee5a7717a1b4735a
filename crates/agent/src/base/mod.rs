// SPDX-License-Identifier: Apache-2.0
//! What every part of the agent stands on.

pub mod clock;
pub mod context;
pub mod ending;
pub mod error;
pub mod say;
pub mod table;
