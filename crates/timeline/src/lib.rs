// SPDX-License-Identifier: Apache-2.0
//! The agreement of host and guest: the guest's input ([`Setup`], [`Event`]) and the tables that it writes
//! ([`record`]).
//!
//! The Python side of the same border is `python/leowarp/timeline/schema.py`; `cargo run -p leowarp-timeline --example
//! schema` prints this side as JSON, and a test compares the two. The text of the agreement is `design/interfaces.md`.

pub mod event;
pub mod record;
pub mod setup;
pub mod tables;

pub use event::{Event, EventError};
pub use record::{Field, Table};
pub use setup::Setup;
pub use tables::Tables;
