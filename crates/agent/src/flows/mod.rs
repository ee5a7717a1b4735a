// SPDX-License-Identifier: Apache-2.0
//! The workload: bulk transfers ([`tcp`]), each in threads of its own, [`probe`]s, sent by the timeline's player, and
//! [`flood`]s of them, each in a thread of its own.

pub mod flood;
pub mod probe;
pub mod socket;
pub mod tcp;
pub mod tcp_info;
