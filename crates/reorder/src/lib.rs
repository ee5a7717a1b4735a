// SPDX-License-Identifier: Apache-2.0
//! The metrics of packet reordering from RFC 4737 and RFC 5236, with mean displacement and entropy. All metrics are
//! computed while packets arrive.
//!
//! ```
//! use reorder::{Arrival, Meter, Settings};
//!
//! let mut meter = Meter::new(Settings { density_threshold_pkts: 4, ..Settings::default() });
//! for seq in [1, 4, 2, 5, 3, 6, 7, 8] {
//!     meter.arrive(Arrival::new(seq));
//! }
//! let reordering = meter.finish(Some(8));
//! assert_eq!(reordering.density.counts, [(-2, 1), (-1, 1), (0, 4), (1, 1), (2, 1)]);
//! assert_eq!(reordering.reordered_ratio(), Some(0.25));
//! ```
//!
//! The RFCs contradict themselves in some cases, and leave other cases open. The following decisions are documented in
//! the code, and a test shows the effect of each:
//!
//! - the first packet that arrives is in order, and only first copies are analysed ([`Reordering`]);
//! - an extent counts from the *first* overtaking packet ([`Extents`]);
//! - discontinuities are sorted by arrival, not by discovery ([`Gaps`]);
//! - the last run of a sequence ends without a reordered packet, and is counted as in the RFC's counters ([`Runs`]);
//! - n-reordering is a share of all received packets ([`Reordering::n_reordered_ratio`]);
//! - the receive index of RD also advances if a packet is late by more than D_T ([`Density`]);
//! - if RBD's buffer is full, it still stores a packet that remains early after the expected number has moved
//!   ([`BufferDensity`]);
//! - The documentation of [`Settings`] explains how an unknown first number and the loss-waiting window are treated.

mod ahead;
mod buffer;
mod density;
mod extent;
mod gaps;
mod meter;
mod n_reordering;
mod recent;
mod reordering;
mod runs;
mod settings;
mod unwrap;
mod verdict;

#[cfg(test)]
mod examples_test;
#[cfg(test)]
mod obvious;
#[cfg(test)]
mod obvious_test;

pub use buffer::{BufferDensity, BufferMeter};
pub use density::{Density, DensityMeter};
pub use extent::{ByteOffsets, Extents, LateTimes};
pub use gaps::Gaps;
pub use meter::Meter;
pub use reordering::Reordering;
pub use runs::Runs;
pub use settings::{Arrival, Settings};
pub use unwrap::Unwrap;
pub use verdict::{Late, Verdict};
