// SPDX-License-Identifier: Apache-2.0
//! The Python bindings of the crates `arrivals` and `reorder`. The bindings only pass columns of numbers to the crates.
//!
//! The bindings read columns from Python by the buffer protocol. numpy reads the returned `bytes` without a copy. While
//! the crates compute, other Python threads can run, because the interpreter lock is released. A mistake in the input
//! raises a `ValueError`. The build profile `native` unwinds the stack at a panic, so a panic becomes a Python
//! exception.

mod columns;
mod meter;
mod readers;

use pyo3::prelude::*;

/// The reordering metrics and the readers of arrival sequences. The public interface is `leowarp.reordering`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::meter::Meter;
    #[pymodule_export]
    use crate::readers::{Capture, InputError, Text};
}
