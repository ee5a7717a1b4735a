// SPDX-License-Identifier: Apache-2.0
//! Arrival sequences out of text and packet captures: which packet arrived when, in the order of arrival.
//!
//! Pure: a reader is fed with chunks of bytes, cut anywhere, and gives [`Arrivals`]; nothing here opens a file. Memory is
//! bounded by the longest line or packet and by the number of flows, not by the length of the file. [`Text`] reads one
//! number a line, [`Capture`] pcap and pcapng.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod capture;
#[cfg(test)]
mod capture_test;
mod error;
mod fields;
mod flows;
mod frames;
mod packet;
mod tcp;
mod text;

pub use capture::{Capture, Counts, Settings};
pub use error::{Error, Result};
pub use fields::{Field, Order, Protocol};
pub use flows::Flow;
pub use text::Text;

/// The largest sequence number: one more would not fit into the signed 64 bits of Parquet's and Arrow's usual integers.
pub const SEQ_MAX: u64 = i64::MAX as u64;

/// Arrivals in order of arrival, a column each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Sequence numbers in packets, wrap-around undone.
    pub seq: Vec<u64>,
    /// Instants of arrival on the capture's clock, ns since 1970; empty if the capture has none.
    pub t_ns: Vec<i64>,
    /// Payload of each, bytes.
    pub len_bytes: Vec<u32>,
}

impl Arrivals {
    /// Takes all arrivals out.
    pub fn take(&mut self) -> Arrivals {
        std::mem::take(self)
    }

    fn push(&mut self, seq: u64, t_ns: Option<i64>, len_bytes: u32) {
        self.seq.push(seq);
        self.t_ns.extend(t_ns);
        self.len_bytes.push(len_bytes);
    }
}
