// SPDX-License-Identifier: Apache-2.0
//! The Python classes for the readers of the crate `arrivals`.

use crate::columns::bytes;
use arrivals::{Arrivals, Field, Flow, Order, Protocol};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

create_exception!(
    leowarp._native,
    InputError,
    PyValueError,
    "A file is not understood; its arguments are a message and a hint."
);

fn refused(error: arrivals::Error) -> PyErr {
    InputError::new_err((error.to_string(), error.hint()))
}

/// A reader of text with one sequence number per line.
#[pyclass(module = "leowarp._native")]
pub struct Text {
    text: arrivals::Text,
}

#[pymethods]
impl Text {
    #[new]
    #[pyo3(signature = (bits=None))]
    fn new(bits: Option<u32>) -> Self {
        Text { text: arrivals::Text::new(bits) }
    }

    /// Reads a chunk of the file. Returns the numbers on the lines that this chunk completes, as uint64.
    fn feed<'py>(&mut self, py: Python<'py>, chunk: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let mut into = Vec::new();
        py.detach(|| self.text.feed(chunk, &mut into)).map_err(refused)?;
        bytes(py, &into, u64::to_ne_bytes)
    }

    /// Ends the file. If the last line has no line end, returns the number on this line, as uint64.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut into = Vec::new();
        self.text.finish(&mut into).map_err(refused)?;
        bytes(py, &into, u64::to_ne_bytes)
    }
}

/// The columns with sequence numbers (uint64), times (int64) and payload lengths (uint32).
type Columns<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

fn columns<'py>(py: Python<'py>, arrivals: &Arrivals) -> PyResult<Columns<'py>> {
    Ok((
        bytes(py, &arrivals.seq, u64::to_ne_bytes)?,
        bytes(py, &arrivals.t_ns, i64::to_ne_bytes)?,
        bytes(py, &arrivals.len_bytes, u32::to_ne_bytes)?,
    ))
}

/// A reader of pcap and pcapng files.
#[pyclass(module = "leowarp._native")]
pub struct Capture {
    capture: arrivals::Capture,
}

#[pymethods]
impl Capture {
    /// Creates a reader. `protocol` is icmp, icmp-reply, tcp, rtp, udp, or None for both icmp and tcp. `offset`, `size`
    /// and `big_endian` are used only for udp.
    #[new]
    #[pyo3(signature = (*, protocol=None, flow=None, offset=0, size=4, big_endian=true))]
    fn new(
        protocol: Option<&str>,
        flow: Option<usize>,
        offset: usize,
        size: usize,
        big_endian: bool,
    ) -> PyResult<Self> {
        let protocol = match protocol {
            None => None,
            Some("icmp") => Some(Protocol::Icmp),
            Some("icmp-reply") => Some(Protocol::IcmpReply),
            Some("tcp") => Some(Protocol::Tcp),
            Some("rtp") => Some(Protocol::Rtp),
            Some("udp") if matches!(size, 2 | 4 | 8) => {
                let order = if big_endian { Order::Big } else { Order::Little };
                Some(Protocol::Udp(Field { offset, size, order }))
            }
            Some("udp") => return Err(PyValueError::new_err(format!("a sequence field of {size} bytes"))),
            Some(other) => return Err(PyValueError::new_err(format!("protocol {other:?}"))),
        };
        Ok(Capture { capture: arrivals::Capture::new(arrivals::Settings { protocol, flow }) })
    }

    /// Reads a chunk of the file. Returns the arrivals whose numbers can be determined after this chunk.
    fn feed<'py>(&mut self, py: Python<'py>, chunk: &[u8]) -> PyResult<Columns<'py>> {
        let mut into = Arrivals::default();
        py.detach(|| self.capture.feed(chunk, &mut into)).map_err(refused)?;
        columns(py, &into)
    }

    /// Ends the file. Returns the remaining arrivals.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let mut into = Arrivals::default();
        self.capture.finish(&mut into).map_err(refused)?;
        columns(py, &into)
    }

    /// Returns the number of flows found so far.
    fn flow_count(&self) -> usize {
        self.capture.flows().len()
    }

    /// Returns the flows found so far, as dictionaries.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.capture.flows().iter().map(|flow| flow_described(py, flow)).collect()
    }

    /// Returns the counts of the packets read so far.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.capture.counts();
        let all = PyDict::new(py);
        for (name, value) in [
            ("packets_pkts", counts.packets),
            ("numbered_pkts", counts.numbered_pkts),
            ("answer_pkts", counts.answer_pkts),
            ("udp_pkts", counts.udp_pkts),
            ("without_field_pkts", counts.without_field_pkts),
            ("foreign_pkts", counts.foreign_pkts),
            ("skipped_pkts", self.capture.skips().packets()),
            ("repeated_pkts", counts.repeated_pkts),
            ("in_need_pkts", counts.in_need_pkts),
            ("undecided_pkts", counts.undecided_pkts),
            ("missed_pkts", counts.missed_pkts),
            ("missed_bytes", counts.missed_bytes),
            ("cut_pkts", counts.cut_pkts),
        ] {
            all.set_item(name, value)?;
        }
        Ok(all)
    }

    /// Returns the skipped packets, as pairs of count and reason. The most frequent reason comes first.
    fn skipped(&self) -> Vec<(u64, String)> {
        self.capture.skips().listed()
    }

    /// Returns the places at which the capture may have been made, and the evidence for them. None means that there is
    /// no measured flow.
    fn place(&self) -> Option<(Vec<String>, Vec<String>)> {
        let verdict = self.capture.place()?;
        Some((verdict.places.iter().map(ToString::to_string).collect(), verdict.evidence))
    }

    /// Returns the number of merged segments, the length in bytes of the longest merged segment, and the length of a
    /// full segment if known. None means that there is no evidence of merged segments.
    fn merged(&self) -> Option<(u64, u32, Option<u32>)> {
        let merged = self.capture.merged()?;
        Some((merged.packets, merged.longest_bytes, merged.unit_bytes))
    }

    /// Returns the names of the supported link types, for messages.
    #[staticmethod]
    fn known_link_types() -> &'static str {
        arrivals::KNOWN_LINK_TYPES
    }
}

fn flow_described<'py>(py: Python<'py>, flow: &Flow) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let (name, id) = match flow.protocol {
        Protocol::Icmp => ("icmp", Some(flow.id)),
        Protocol::IcmpReply => ("icmp-reply", Some(flow.id)),
        Protocol::Rtp => ("rtp", Some(flow.id)),
        Protocol::Tcp => ("tcp", None),
        Protocol::Udp(_) => ("udp", None),
    };
    all.set_item("protocol", name)?;
    all.set_item("source", flow.source.to_string())?;
    all.set_item("destination", flow.destination.to_string())?;
    all.set_item("source_port", flow.ports.map(|ports| ports.0))?;
    all.set_item("destination_port", flow.ports.map(|ports| ports.1))?;
    all.set_item("id", id)?;
    all.set_item("inside", (!flow.via.is_none()).then(|| flow.via.to_string()))?;
    all.set_item("packets_pkts", flow.packets)?;
    all.set_item("payload_bytes", flow.payload_bytes)?;
    all.set_item("first_ns", flow.first_ns)?;
    all.set_item("last_ns", flow.last_ns)?;
    Ok(all)
}
