// SPDX-License-Identifier: Apache-2.0
//! The errors in a file.

use thiserror::Error;

/// The result type of all readers.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a file cannot be read. The error's text says where in the file the fault is. [`Error::hint`] says
/// what the user can do.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Error {
    /// A line of a text is not a sequence number.
    #[error("line {line}: {text:?} {why}")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// The text of the line, shortened.
        text: String,
        /// The rule that the line violates.
        why: String,
    },
    /// The file is not a capture.
    #[error("it is neither pcap nor pcapng: its first bytes are {0:02x?}")]
    NoCapture([u8; 4]),
    /// The file ends inside an element.
    #[error("it is cut short: {what} begins at byte {from} and reaches to byte {to}, but the file ends at byte {end}")]
    CutShort {
        /// The name of the element, such as "packet 17" or "its header".
        what: String,
        /// The offset of the element's first byte, from 0.
        from: u64,
        /// The offset of the first byte after the element.
        to: u64,
        /// The length of the file.
        end: u64,
    },
    /// An element violates the format.
    #[error("{what} at byte {at}: {why}")]
    Malformed {
        /// The element that is malformed, such as "packet 17" or "the block".
        what: String,
        /// The offset of the element's first byte, from 0.
        at: u64,
        /// The rule that the element violates.
        why: String,
    },
    /// Some packets have a time, but others do not.
    #[error("packet {packet} at byte {at} has no time, others have one")]
    MixedTimes {
        /// The number of the packet, from 1.
        packet: u64,
        /// The offset at which the packet begins.
        at: u64,
    },
}

impl Error {
    /// Returns advice on what the user can do next.
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
