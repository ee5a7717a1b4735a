// SPDX-License-Identifier: Apache-2.0
//! Python bindings of the crates `arrivals` and `reorder`. The bindings only pass columns of numbers to the crates and
//! compute nothing.
//!
//! Columns from Python are read by the buffer protocol. Results leave as `bytes`, which numpy reads without a copy. The
//! interpreter lock is released while the crates compute. A mistake in the input becomes a `ValueError`. The build
//! profile `native` unwinds the stack at a panic. A panic therefore becomes a Python exception, and does not end the
//! process.

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
