// SPDX-License-Identifier: Apache-2.0
//! Python bindings. Their classes pass columns of numbers and compute nothing themselves.
//!
//! Columns enter through Python's buffer protocol. Results leave as `bytes`, which numpy reads without a copy. While
//! the crates compute, the interpreter lock is released. A user's mistake is a `ValueError`. The profile `native`
//! unwinds the stack at a panic. A panic therefore becomes an exception, and does not end the process.

mod columns;
mod meter;
mod readers;

use pyo3::prelude::*;

/// Reordering metrics, and readers of arrival sequences. The public interface is `leowarp.reordering`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::meter::Meter;
    #[pymodule_export]
    use crate::readers::{Capture, InputError, Text};
}
