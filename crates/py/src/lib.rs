// SPDX-License-Identifier: Apache-2.0
//! The seam: classes that hand columns of numbers over, and compute nothing themselves.
//!
//! Columns come in by Python's buffer protocol and go out as `bytes` that numpy reads in place. The interpreter is let go
//! while the crates work. A user's mistake is a `ValueError`. The profile `native` unwinds, so that even a panic would
//! be an exception and not the end of the process.

mod columns;
mod meter;
mod readers;

use pyo3::prelude::*;

/// Reordering metrics and readers of arrival sequences; the public face is `leowarp.reordering`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::meter::Meter;
    #[pymodule_export]
    use crate::readers::{Capture, InputError, Text};
}
