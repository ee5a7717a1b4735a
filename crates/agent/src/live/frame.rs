// SPDX-License-Identifier: Apache-2.0
//! The messages between agent and host about live connections. Each message is a frame of 16 bytes in little-endian
//! order: `kind u32, number u32, value i64` (design/interfaces.md, section 4). Connection n has stream 2n at the
//! opening end, and stream 2n + 1 at the accepting end.

use crate::base::error::{Error, Result};

/// The size of every frame. After a `DATA` frame to the host, the data follow.
pub const FRAME_BYTES: usize = 16;

/// A message from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// An outside program requests a connection. `is_answered` says whether an outside program at the far end accepts
    /// the connection.
    Open { connection: u32, is_answered: bool },
    /// The next data file contains `bytes` bytes of the stream.
    Data { stream: u32, bytes: u64 },
    /// The guest may send `bytes` further bytes of the stream to the host.
    Credit { stream: u32, bytes: u64 },
    /// The host has no more data for this stream.
    End { stream: u32 },
    /// The outside program has closed its end.
    Reset { stream: u32 },
    /// The guest need not wait for the host at the next `steps` steps of virtual time.
    Spare { steps: u64 },
}

/// A message to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// The opening end has completed the handshake. `took_ns` is the time since the connection's first segment.
    Connected { connection: u32, took_ns: i64 },
    /// A connection could not be established.
    Failed { connection: u32, errno: i32 },
    /// The far end has accepted a connection.
    Accepted { connection: u32 },
    /// The next `bytes` bytes after the frame are data of this stream.
    Data { stream: u32, bytes: usize },
    /// TCP has taken `bytes` bytes of the stream. The host may send the same number of further bytes.
    Credit { stream: u32, bytes: usize },
    /// The guest will send no more data of this stream to the host.
    End { stream: u32 },
    /// A stream was aborted.
    Reset { stream: u32, errno: i32 },
}

/// Parses a frame from the host.
pub fn read(frame: &[u8; FRAME_BYTES]) -> Result<Told> {
    let word = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let (kind, number, value) = (word(0), word(4), u64::from(word(8)) | u64::from(word(12)) << 32);
    Ok(match kind {
        1 => Told::Open { connection: number, is_answered: value != 0 },
        2 => Told::Data { stream: number, bytes: value },
        3 => Told::Credit { stream: number, bytes: value },
        4 => Told::End { stream: number },
        5 => Told::Reset { stream: number },
        6 => Told::Spare { steps: value },
        _ => return Err(Error::Input(format!("a frame of the host has the kind {kind}"))),
    })
}

/// Returns the frame of a message to the host.
pub fn written(tell: Tell) -> [u8; FRAME_BYTES] {
    let (kind, number, value) = match tell {
        Tell::Connected { connection, took_ns } => (1u32, connection, took_ns),
        Tell::Failed { connection, errno } => (2, connection, i64::from(errno)),
        Tell::Accepted { connection } => (3, connection, 0),
        Tell::Data { stream, bytes } => (4, stream, bytes as i64),
        Tell::Credit { stream, bytes } => (5, stream, bytes as i64),
        Tell::End { stream } => (6, stream, 0),
        Tell::Reset { stream, errno } => (7, stream, i64::from(errno)),
    };
    let mut frame = [0; FRAME_BYTES];
    frame[..4].copy_from_slice(&kind.to_le_bytes());
    frame[4..8].copy_from_slice(&number.to_le_bytes());
    frame[8..].copy_from_slice(&value.to_le_bytes());
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_the_host_writes_them() {
        // The expected bytes are those of struct.pack("<IIq", ...) in python/leowarp/guest/live/frames.py.
        let mut frame = [0; FRAME_BYTES];
        frame[..9].copy_from_slice(&[2, 0, 0, 0, 7, 0, 0, 0, 1]);
        frame[12] = 2;
        assert_eq!(read(&frame).expect("a frame"), Told::Data { stream: 7, bytes: (2 << 32) + 1 });
        frame[0] = 99;
        assert!(read(&frame).is_err());
    }

    #[test]
    fn a_frame_to_the_host_has_kind_number_and_value() {
        let frame = written(Tell::Failed { connection: 258, errno: 111 });
        assert_eq!(frame, [2, 0, 0, 0, 2, 1, 0, 0, 111, 0, 0, 0, 0, 0, 0, 0]);
    }
}
