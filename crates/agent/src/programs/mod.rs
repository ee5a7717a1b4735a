// SPDX-License-Identifier: Apache-2.0
//! Programs and kernel modules from the user.

pub mod console;
pub mod modules;
pub mod place;
pub mod root;
pub mod shell;
pub mod stillness;
