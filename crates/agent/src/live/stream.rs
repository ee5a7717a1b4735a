// SPDX-License-Identifier: Apache-2.0
//! One end of a live connection in the guest. It has a socket, the data to write, and the host's credit in bytes.
//!
//! The host buffers at most one window of data for the guest. The guest buffers at most one window of data for the
//! host. If the guest's socket accepts no more data, the host stops reading from the program. If an outside program
//! stops reading, its data stay in the guest's socket.

use crate::base::error::{Error, Result};
use crate::flows::socket;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};

/// The result of writing to a stream or reading from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A number of bytes was transferred.
    Moved(usize),
    /// Nothing can be transferred now.
    Waits,
    /// The other end has closed the stream.
    Ended,
    /// The stream was aborted with this errno.
    Failed(i32),
}

/// One end of a live connection, a non-blocking socket with buffers.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
    /// The data from the host that wait for TCP. `written` is the number of bytes that TCP has taken from the first
    /// piece.
    pieces: VecDeque<Vec<u8>>,
    written: usize,
    waiting_bytes: usize,
    /// Whether the host will send no more data.
    is_last: bool,
    /// Whether the socket's sending side has been shut down.
    is_shut: bool,
    /// Whether the other end's stream has been read to its end.
    has_ended: bool,
    credit_bytes: u64,
    window_bytes: usize,
}

impl Stream {
    /// Creates a stream from a connected socket.
    pub fn new(fd: OwnedFd, window_bytes: u32) -> Self {
        Self {
            fd,
            pieces: VecDeque::new(),
            written: 0,
            waiting_bytes: 0,
            is_last: false,
            is_shut: false,
            has_ended: false,
            credit_bytes: u64::from(window_bytes),
            window_bytes: window_bytes as usize,
        }
    }

    /// Returns the events that poll(2) should report for this stream. If the result is 0, the socket must not be
    /// polled, because poll(2) would immediately report that both ends have hung up.
    pub fn awaited(&self) -> i16 {
        let reads = if self.credit_bytes > 0 && !self.has_ended { libc::POLLIN } else { 0 };
        reads | if self.pieces.is_empty() { 0 } else { libc::POLLOUT }
    }

    /// Returns the descriptor of the stream's socket.
    pub fn raw(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Adds data from the host.
    pub fn push(&mut self, piece: Vec<u8>) -> Result<()> {
        self.waiting_bytes += piece.len();
        if self.waiting_bytes > self.window_bytes || self.is_last {
            return Err(Error::Broken(format!(
                "the host sent {} bytes more than a stream had room for, or after its end",
                self.waiting_bytes.saturating_sub(self.window_bytes)
            )));
        }
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
        Ok(())
    }

    /// Allows the guest to send `bytes` further bytes to the host.
    pub fn grant(&mut self, bytes: u64) {
        self.credit_bytes += bytes;
    }

    /// Records that the host will send no more data. The socket is shut down when all data are written.
    pub fn finish(&mut self) {
        self.is_last = true;
    }

    /// Returns whether both directions of the stream are closed.
    pub fn is_over(&self) -> bool {
        self.is_shut && self.has_ended
    }

    /// Writes as much as the socket accepts.
    pub fn write(&mut self) -> Outcome {
        let mut moved = 0;
        while let Some(piece) = self.pieces.front() {
            let rest = &piece[self.written..];
            // SAFETY: the bytes outlive the call.
            let n = unsafe { libc::send(self.raw(), rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) };
            match n {
                0.. => {
                    moved += n as usize;
                    self.written += n as usize;
                    if self.written == piece.len() {
                        self.pieces.pop_front();
                        self.written = 0;
                    }
                }
                _ => match socket::errno() {
                    libc::EAGAIN | libc::EINTR => break,
                    errno => return Outcome::Failed(errno),
                },
            }
        }
        self.waiting_bytes -= moved;
        if self.pieces.is_empty() && self.is_last && !self.is_shut {
            // SAFETY: this is a plain system call. If the connection is already gone, the next read reports the error.
            unsafe { libc::shutdown(self.raw(), libc::SHUT_WR) };
            self.is_shut = true;
        }
        if moved > 0 {
            Outcome::Moved(moved)
        } else {
            Outcome::Waits
        }
    }

    /// Reads as many bytes as the host accepts, at most one buffer.
    pub fn read(&mut self, buffer: &mut [u8]) -> Outcome {
        let most = self.credit_bytes.min(buffer.len() as u64) as usize;
        if most == 0 || self.has_ended {
            return Outcome::Waits;
        }
        // SAFETY: the buffer outlives the call and is at least as long as `most`.
        match unsafe { libc::recv(self.raw(), buffer.as_mut_ptr().cast(), most, 0) } {
            0 => {
                self.has_ended = true;
                Outcome::Ended
            }
            n @ 1.. => {
                self.credit_bytes -= n as u64;
                Outcome::Moved(n as usize)
            }
            _ => match socket::errno() {
                libc::EAGAIN | libc::EINTR => Outcome::Waits,
                errno => Outcome::Failed(errno),
            },
        }
    }

    /// Closes the socket with a reset for the other end.
    pub fn cut(self) -> Result<()> {
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        socket::set(self.raw(), libc::SOL_SOCKET, libc::SO_LINGER, &at_once, "reset a connection")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    fn pair(window_bytes: u32) -> (Stream, UnixStream) {
        let (ours, other) = UnixStream::pair().expect("two ends");
        ours.set_nonblocking(true).expect("an end that does not block");
        (Stream::new(ours.into(), window_bytes), other)
    }

    #[test]
    fn no_more_is_read_than_the_host_takes() {
        let (mut stream, mut other) = pair(5);
        other.write_all(b"seven!!").expect("a write");
        let mut buffer = [0; 64];
        assert_eq!(stream.read(&mut buffer), Outcome::Moved(5));
        assert_eq!((stream.read(&mut buffer), stream.awaited()), (Outcome::Waits, 0));
        stream.grant(9);
        assert_eq!((stream.awaited(), stream.read(&mut buffer)), (libc::POLLIN, Outcome::Moved(2)));
        drop(other);
        assert_eq!(stream.read(&mut buffer), Outcome::Ended);
        assert_eq!(stream.awaited(), 0);
    }

    #[test]
    fn its_end_follows_what_was_to_be_written_and_the_other_way_stays_open() {
        let (mut stream, mut other) = pair(8);
        stream.push(b"12345".to_vec()).expect("room");
        stream.finish();
        assert_eq!((stream.awaited(), stream.write()), (libc::POLLIN | libc::POLLOUT, Outcome::Moved(5)));
        let mut text = String::new();
        other.read_to_string(&mut text).expect("the end");
        assert_eq!((text.as_str(), stream.is_over()), ("12345", false));
        other.write_all(b"ok").expect("a write");
        drop(other);
        let mut buffer = [0; 8];
        assert_eq!((stream.read(&mut buffer), stream.read(&mut buffer)), (Outcome::Moved(2), Outcome::Ended));
        assert!(stream.is_over());
    }

    #[test]
    fn more_than_a_window_of_the_host_is_an_error() {
        let (mut stream, _other) = pair(4);
        stream.push(vec![0; 4]).expect("room");
        assert!(stream.push(vec![0]).is_err());
    }
}
