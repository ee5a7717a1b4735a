// SPDX-License-Identifier: Apache-2.0
//! Errors in a file, and what to do about each.

use thiserror::Error;

/// Result of everything that reads.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file is not understood. The text says where; [`Error::hint`] what to do.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// A line of a text is no sequence number.
    #[error("line {line}: {text:?} {why}")]
    Line {
        /// Counted from 1.
        line: u64,
        /// The line, shortened.
        text: String,
        /// The rule that it breaks.
        why: String,
    },
    /// The file is no capture.
    #[error("it is neither pcap nor pcapng: its first bytes are {0:02x?}")]
    NoCapture([u8; 4]),
    /// The file ends inside something.
    #[error("it is cut short: {what} begins at byte {from} and reaches to byte {to}, but the file ends at byte {end}")]
    CutShort {
        /// "packet 17", "its header".
        what: String,
        /// First byte of it, counted from 0.
        from: u64,
        /// First byte after it.
        to: u64,
        /// Length of the file.
        end: u64,
    },
    /// Something contradicts the format.
    #[error("{what} at byte {at}: {why}")]
    Malformed {
        /// "packet 17", "the block".
        what: String,
        /// Its beginning, counted from 0.
        at: u64,
        /// Which rule it breaks.
        why: String,
    },
    /// Some packets have a time, others none.
    #[error("packet {packet} at byte {at} has no time, others have one")]
    MixedTimes {
        /// Counted from 1.
        packet: u64,
        /// Where it begins.
        at: u64,
    },
}

impl Error {
    /// The next thing to do or type.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Line { .. } => "one sequence number a line, whole and not negative; empty lines and lines that begin with # are passed over",
            Error::NoCapture(_) => "other formats are read with --input text, csv or parquet",
            Error::CutShort { .. } => "was it copied while it was written? tcpdump -r FILE -w NEW.pcap keeps what is complete",
            Error::Malformed { .. } => "the file is damaged: copy or capture it again",
            Error::MixedTimes { .. } => "write it anew with times: editcap -F pcap FILE NEW.pcap",
        }
    }
}
