// SPDX-License-Identifier: Apache-2.0
//! The result of every reader here: sequence numbers in order of arrival.

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

    pub(crate) fn push(&mut self, seq: u64, t_ns: Option<i64>, len_bytes: u32) {
        self.seq.push(seq);
        self.t_ns.extend(t_ns);
        self.len_bytes.push(len_bytes);
    }
}
