// SPDX-License-Identifier: Apache-2.0
//! A Python class for `reorder::Meter`.

use crate::columns::values;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use reorder::{Arrival, Reordering, Settings, Unwrap};

/// Measures the reordering of a sequence while packets arrive.
#[pyclass(module = "leowarp._native")]
pub struct Meter {
    meter: reorder::Meter,
    unwrap: Option<Unwrap>,
}

#[pymethods]
impl Meter {
    /// Creates a meter. `bits` is the width of sequence numbers that wrap around, 8 to 63. None means that numbers do
    /// not wrap around.
    #[new]
    #[pyo3(signature = (*, threshold_pkts, buffer_threshold_pkts, n_max, loss_window_pkts, first_seq=None, bits=None))]
    fn new(
        threshold_pkts: u32,
        buffer_threshold_pkts: u32,
        n_max: u32,
        loss_window_pkts: u32,
        first_seq: Option<u64>,
        bits: Option<u32>,
    ) -> PyResult<Self> {
        let unwrap = match bits {
            None => None,
            Some(bits) => Some(
                Unwrap::new(bits)
                    .filter(|_| bits < 64)
                    .ok_or_else(|| PyValueError::new_err(format!("numbers of {bits} bits cannot be unwrapped")))?,
            ),
        };
        // If numbers wrap around, `Unwrap` places the first arrival in its first cycle. `first_seq` is in the same
        // cycle.
        let first_seq = match (&unwrap, first_seq) {
            (Some(unwrap), Some(first)) => Some(unwrap.clone().number(first)),
            (_, first) => first,
        };
        let settings = Settings {
            density_threshold_pkts: threshold_pkts,
            buffer_threshold_pkts,
            n_max,
            loss_window_pkts,
            first_seq,
        };
        Ok(Meter { meter: reorder::Meter::new(settings), unwrap })
    }

    /// Adds arrivals. Each argument is a column: sequence numbers, times (or None), payloads in bytes (or None).
    #[pyo3(signature = (seq, t_ns=None, len_bytes=None))]
    fn arrive(
        &mut self,
        py: Python<'_>,
        seq: PyBuffer<u64>,
        t_ns: Option<PyBuffer<i64>>,
        len_bytes: Option<PyBuffer<u32>>,
    ) -> PyResult<()> {
        let seq = values(py, &seq)?;
        let t_ns = t_ns.map(|column| values(py, &column)).transpose()?;
        let len_bytes = len_bytes.map(|column| values(py, &column)).transpose()?;
        for length in [t_ns.as_ref().map(Vec::len), len_bytes.as_ref().map(Vec::len)].into_iter().flatten() {
            if length != seq.len() {
                return Err(PyValueError::new_err(format!("columns of {} and {length} values", seq.len())));
            }
        }
        py.detach(|| {
            for (at, &seq) in seq.iter().enumerate() {
                let seq = self.unwrap.as_mut().map_or(seq, |unwrap| unwrap.number(seq));
                let t_ns = t_ns.as_ref().map(|column| column[at]);
                let len_bytes = len_bytes.as_ref().map_or(0, |column| column[at]);
                self.meter.arrive(Arrival { seq, t_ns, len_bytes });
            }
        });
        Ok(())
    }

    /// Returns the metrics of all arrivals so far. More arrivals can be added after this call.
    #[pyo3(signature = (sent_pkts=None))]
    fn measured<'py>(&self, py: Python<'py>, sent_pkts: Option<u64>) -> PyResult<Bound<'py, PyDict>> {
        let found = py.detach(|| self.meter.clone().finish(sent_pkts));
        described(py, &found)
    }
}

fn described<'py>(py: Python<'py>, found: &Reordering) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, value) in [
        ("arrived_pkts", found.arrived_pkts),
        ("received_pkts", found.received_pkts),
        ("duplicate_pkts", found.duplicate_pkts),
        ("too_late_pkts", found.too_late_pkts),
        ("outside_pkts", found.outside_pkts),
        ("expected_pkts", found.expected_pkts),
        ("lost_pkts", found.lost_pkts),
        ("reordered_pkts", found.reordered_pkts),
    ] {
        all.set_item(name, value)?;
    }
    all.set_item("n_reordering", &found.n_reordering)?;

    let extent = PyDict::new(py);
    extent.set_item("counts", &found.extent.counts)?;
    extent.set_item("mean_pkts", found.extent.mean_pkts())?;
    extent.set_item("max_pkts", found.extent.max_pkts)?;
    extent.set_item("late_time_pkts", found.late_time.pkts)?;
    extent.set_item("late_time_mean_ns", found.late_time.mean_ns())?;
    extent.set_item("late_time_max_ns", found.late_time.max_ns)?;
    extent.set_item("byte_offset_mean_bytes", found.byte_offset.mean_bytes())?;
    extent.set_item("byte_offset_max_bytes", found.byte_offset.max_bytes)?;
    all.set_item("extent", extent)?;

    let gaps = PyDict::new(py);
    gaps.set_item("sequence_discontinuities", found.gaps.sequence_discontinuities)?;
    gaps.set_item("reordering_discontinuities", found.gaps.reordering_discontinuities)?;
    gaps.set_item("gaps", found.gaps.gaps)?;
    gaps.set_item("mean_pkts", found.gaps.mean_pkts())?;
    gaps.set_item("max_pkts", found.gaps.max_pkts)?;
    gaps.set_item("mean_ns", found.gaps.mean_ns())?;
    gaps.set_item("max_ns", found.gaps.max_ns)?;
    all.set_item("gaps", gaps)?;

    let runs = PyDict::new(py);
    runs.set_item("in_order_pkts", found.runs.in_order_pkts)?;
    runs.set_item("in_order_ratio", found.runs.in_order_ratio())?;
    runs.set_item("runs", found.runs.runs)?;
    runs.set_item("mean_pkts", found.runs.mean_pkts())?;
    runs.set_item("weighted_mean_pkts", found.runs.weighted_mean_pkts())?;
    runs.set_item("variability_ratio", found.runs.variability_ratio())?;
    runs.set_item("last_pkts", found.runs.last_pkts)?;
    runs.set_item("max_pkts", found.runs.max_pkts)?;
    all.set_item("runs", runs)?;

    let density = PyDict::new(py);
    density.set_item("threshold_pkts", found.density.threshold_pkts)?;
    density.set_item("counts", &found.density.counts)?;
    density.set_item("pkts", found.density.pkts)?;
    density.set_item("early_beyond_pkts", found.density.early_beyond_pkts)?;
    density.set_item("late_beyond_pkts", found.density.late_beyond_pkts)?;
    density.set_item("mean_displacement_pkts", found.density.mean_displacement_pkts())?;
    density.set_item("entropy_nats", found.density.entropy_nats())?;
    all.set_item("density", density)?;

    let buffer = PyDict::new(py);
    buffer.set_item("threshold_pkts", found.buffer_density.threshold_pkts)?;
    buffer.set_item("counts", &found.buffer_density.counts)?;
    buffer.set_item("pkts", found.buffer_density.pkts)?;
    buffer.set_item("late_beyond_pkts", found.buffer_density.late_beyond_pkts)?;
    buffer.set_item("buffer_mean_pkts", found.buffer_density.buffer_mean_pkts())?;
    all.set_item("buffer_density", buffer)?;
    Ok(all)
}
