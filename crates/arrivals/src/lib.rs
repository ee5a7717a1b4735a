// SPDX-License-Identifier: Apache-2.0
//! Reads arrival sequences from texts and packet captures. A sequence contains the number and the time of each packet
//! that arrived, in order of arrival.
//!
//! A reader receives chunks of bytes, which may be split anywhere, and returns [`Arrivals`]. This crate itself opens no
//! files. A reader's memory depends on the longest line or packet and on the number of flows, but not on the length of
//! the file. [`Text`] reads one number per line, and [`Capture`] reads pcap and pcapng.
#![forbid(unsafe_code)]

mod arrivals;
mod capture;
#[cfg(test)]
mod capture_test;
mod ends;
mod error;
#[cfg(test)]
mod evidence_test;
mod fields;
mod flows;
mod frames;
mod layers;
mod link;
mod measured;
mod merged;
mod names;
mod packet;
mod place;
mod skips;
mod tcp;
mod text;
mod tunnels;
#[cfg(test)]
mod tunnels_test;
mod via;

pub use arrivals::{Arrivals, SEQ_MAX};
pub use capture::{Capture, Counts, Settings};
pub use error::{Error, Result};
pub use fields::{Field, Order, Protocol};
pub use flows::Flow;
pub use link::KNOWN as KNOWN_LINK_TYPES;
pub use merged::Merged;
pub use place::{Place, Verdict};
pub use skips::{Reason, Skips};
pub use text::Text;
pub use via::Via;
