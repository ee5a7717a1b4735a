// SPDX-License-Identifier: Apache-2.0
//! Python bindings: classes that pass columns of numbers and compute nothing themselves.
//!
//! Columns enter through Python's buffer protocol and leave as `bytes`, which numpy reads in place. The interpreter
//! lock is released while the crates work. A user's mistake is a `ValueError`. The profile `native` unwinds, so that
//! even a panic becomes an exception and does not end the process.

mod columns;
mod meter;
mod readers;

use pyo3::prelude::*;

/// Reordering metrics and readers of arrival sequences; the public interface is `leowarp.reordering`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::meter::Meter;
    #[pymodule_export]
    use crate::readers::{Capture, InputError, Text};
}
