// SPDX-License-Identifier: Apache-2.0
//! Errors in a file, each with a hint.

use thiserror::Error;

/// Result type of all readers.
pub type Result<T> = std::result::Result<T, Error>;

/// Reason why a file cannot be read. The text has the place, and [`Error::hint`] the remedy.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// A line of a text is not a sequence number.
    #[error("line {line}: {text:?} {why}")]
    Line {
        /// Counted from 1.
        line: u64,
        /// The line, shortened.
        text: String,
        /// The violated rule.
        why: String,
    },
    /// The file is not a capture.
    #[error("it is neither pcap nor pcapng: its first bytes are {0:02x?}")]
    NoCapture([u8; 4]),
    /// The file ends inside an element.
    #[error("it is cut short: {what} begins at byte {from} and reaches to byte {to}, but the file ends at byte {end}")]
    CutShort {
        /// Name of the element: "packet 17", "its header".
        what: String,
        /// First byte of the element, counted from 0.
        from: u64,
        /// First byte after the element.
        to: u64,
        /// Length of the file.
        end: u64,
    },
    /// An element violates the format.
    #[error("{what} at byte {at}: {why}")]
    Malformed {
        /// Name of the element: "packet 17", "the block".
        what: String,
        /// Beginning of the element, counted from 0.
        at: u64,
        /// The violated rule.
        why: String,
    },
    /// Some packets have a time, others do not.
    #[error("packet {packet} at byte {at} has no time, others have one")]
    MixedTimes {
        /// Counted from 1.
        packet: u64,
        /// Where it begins.
        at: u64,
    },
}

impl Error {
    /// What the user should do or type next.
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
