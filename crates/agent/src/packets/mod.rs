// SPDX-License-Identifier: Apache-2.0
//! The capture, parsing and matching of packets at both ends of every flow.

pub mod acks;
pub mod books;
pub mod capture;
pub mod connections;
pub mod delays;
pub mod frame;
pub mod ledger;
pub mod pcapng;
pub mod ranges;
pub mod reordering;
pub mod ring;
pub mod short;
pub mod subflows;
pub mod taps;
pub mod truth;
pub mod wires;
