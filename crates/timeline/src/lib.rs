// SPDX-License-Identifier: Apache-2.0
//! The interface between host and guest: the guest's input ([`Setup`], [`Event`]) and output tables ([`record`]).
//!
//! The Python side of this interface is `python/leowarp/timeline/schema.py`. `cargo run -p leowarp-timeline --example
//! schema` prints the Rust side as JSON. A test compares this JSON with the Python side. `design/interfaces.md`
//! specifies the interface.

pub mod event;
pub mod record;
pub mod setup;
pub mod tables;

pub use event::{Event, EventError};
pub use record::{Field, Table};
pub use setup::Setup;
pub use tables::Tables;
