// SPDX-License-Identifier: Apache-2.0
//! Converts numeric columns between Python and Rust.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Copies an input column, because Python may change its own column while the interpreter lock is released.
pub fn values<T: Element>(py: Python<'_>, buffer: &PyBuffer<T>) -> PyResult<Vec<T>> {
    if buffer.dimensions() != 1 {
        return Err(PyValueError::new_err(format!("a column has one dimension, not {}", buffer.dimensions())));
    }
    buffer.to_vec(py)
}

/// Converts a column of numbers to bytes in native byte order, for numpy.
pub fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    column: &[T],
    to_bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, column.len() * N, |place| {
        for (place, &value) in place.chunks_exact_mut(N).zip(column) {
            place.copy_from_slice(&to_bytes(value));
        }
        Ok(())
    })
}
