// SPDX-License-Identifier: Apache-2.0
//! The workload: bulk transfers ([`tcp`]), each in threads of its own, and [`probe`]s, sent by the timeline's player.

pub mod probe;
pub mod socket;
pub mod tcp;
