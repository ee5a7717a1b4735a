// SPDX-License-Identifier: Apache-2.0
//! Arrival sequences out of text and packet captures: which packet arrived when, in the order of arrival.
//!
//! Pure: a reader is fed with chunks of bytes, cut anywhere, and gives [`Arrivals`]; nothing here opens a file. Memory is
//! bounded by the longest line or packet and by the number of flows, not by the length of the file. [`Text`] reads one
//! number a line, [`Capture`] pcap and pcapng.
#![forbid(unsafe_code)]

mod arrivals;
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

pub use arrivals::{Arrivals, SEQ_MAX};
pub use capture::{Capture, Counts, Settings};
pub use error::{Error, Result};
pub use fields::{Field, Order, Protocol};
pub use flows::Flow;
pub use text::Text;
