// SPDX-License-Identifier: Apache-2.0
//! The user's programs and kernel modules.

pub mod console;
pub mod modules;
pub mod place;
pub mod root;
pub mod shell;
pub mod stillness;
