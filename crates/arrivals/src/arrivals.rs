// SPDX-License-Identifier: Apache-2.0
//! The output of every reader in this crate. It has the sequence numbers in order of arrival.

/// The largest sequence number. A larger number would not fit into the signed 64-bit integers that Parquet and Arrow
/// files usually contain.
pub const SEQ_MAX: u64 = i64::MAX as u64;

/// A list of arrivals, in order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The sequence numbers in packets, unwrapped.
    pub seq: Vec<u64>,
    /// The times of arrival on the capture's clock, in ns since 1970. The list is empty if the capture has no times.
    pub t_ns: Vec<i64>,
    /// The payload of each arrival, in bytes.
    pub len_bytes: Vec<u32>,
}

impl Arrivals {
    /// Removes all arrivals from the buffer and returns them.
    pub fn take(&mut self) -> Arrivals {
        std::mem::take(self)
    }

    pub(crate) fn push(&mut self, seq: u64, t_ns: Option<i64>, len_bytes: u32) {
        self.seq.push(seq);
        self.t_ns.extend(t_ns);
        self.len_bytes.push(len_bytes);
    }
}
