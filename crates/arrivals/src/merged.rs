// SPDX-License-Identifier: Apache-2.0
//! The captured segments that are several segments on the wire. The segments were merged before the capture (GRO, LRO),
//! or split after it (TSO).

use std::collections::BTreeMap;

/// The maximum number of data bytes in a normal Ethernet frame: 1500 bytes minus 40 bytes of headers.
const USUAL_BYTES: u32 = 1460;
/// The maximum number of data bytes in a jumbo frame. The largest usual jumbo frames have 9216 bytes.
const JUMBO_BYTES: u32 = 9216 - 40;
/// The minimum number of data bytes in a full segment. The limit is the size of 576 bytes that IPv4 guarantees, minus
/// two headers (RFC 9293, 3.7.1).
const FULL_LEAST_BYTES: u32 = 536;
const LENGTHS_MAX: usize = 1024;

/// For each length, the number of the flow's segments with this length.
#[derive(Debug, Default)]
pub struct Lengths {
    counts: BTreeMap<u32, u64>,
}

/// Evidence that some captured segments were merged from several segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// The number of captured segments that were merged from several segments.
    pub packets: u64,
    /// The length of the longest merged segment.
    pub longest_bytes: u32,
    /// The length of a full segment on the wire, if known. This length divides the lengths of nine of ten longer
    /// segments, or the receiver announced it as the maximum.
    pub unit_bytes: Option<u32>,
}

impl Lengths {
    pub fn count(&mut self, len_bytes: u32) {
        if let Some(count) = self.counts.get_mut(&len_bytes) {
            *count += 1;
        } else if self.counts.len() < LENGTHS_MAX {
            self.counts.insert(len_bytes, 1);
        }
    }

    /// Returns the evidence of merged segments. `mss_bytes` is the maximum segment size in the receiver's SYN.
    pub fn merged(&self, mss_bytes: Option<u16>) -> Option<Merged> {
        let longest_bytes = *self.counts.keys().next_back().filter(|&&longest| longest > USUAL_BYTES)?;
        let mss = mss_bytes.map(u32::from).filter(|&mss| mss >= FULL_LEAST_BYTES && mss < longest_bytes);
        let unit_bytes = self.unit().or(mss);
        if unit_bytes.is_none() && (mss_bytes.is_some() || longest_bytes <= JUMBO_BYTES) {
            return None;
        }
        let single = mss.or(unit_bytes).unwrap_or(JUMBO_BYTES);
        Some(Merged { packets: self.longer_than(single).map(|(_, count)| count).sum(), longest_bytes, unit_bytes })
    }

    fn longer_than(&self, least: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.counts.range(least + 1..).map(|(&length, &count)| (length, count))
    }

    /// Returns the length of a full segment on the wire. It is the shortest length that divides the lengths of nine of
    /// ten longer segments.
    fn unit(&self) -> Option<u32> {
        let seen = self.counts.range(FULL_LEAST_BYTES..).map(|(&length, _)| length);
        // If no segment was captured alone, the segment size is the greatest common divisor of the lengths that are too
        // long for a frame.
        let common = self.longer_than(USUAL_BYTES).map(|(length, _)| length).reduce(gcd);
        let common = common.filter(|&unit| (FULL_LEAST_BYTES..=USUAL_BYTES).contains(&unit));
        seen.chain(common).find(|&unit| {
            let all: u64 = self.longer_than(unit).map(|(_, count)| count).sum();
            let multiples: u64 = self.longer_than(unit).filter(|(length, _)| length % unit == 0).map(|(_, n)| n).sum();
            multiples >= 2 && multiples * 10 >= all * 9
        })
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lengths: &[u32], mss_bytes: Option<u16>) -> Option<Merged> {
        let mut all = Lengths::default();
        lengths.iter().for_each(|&length| all.count(length));
        all.merged(mss_bytes)
    }

    #[test]
    fn multiples_of_a_full_segment_are_merged_ones() {
        let found = of(&[1368, 1368, 2736, 1368, 5472, 21_888, 300], None).unwrap();
        assert_eq!(found, Merged { packets: 3, longest_bytes: 21_888, unit_bytes: Some(1368) });
        // Every captured segment consists of several merged segments.
        assert_eq!(of(&[2896, 4344, 8688], None).unwrap().unit_bytes, Some(1448));
        // Only merging explains a segment that is longer than any frame, or longer than the receiver accepts.
        assert_eq!(of(&[80_000; 4], None).unwrap(), Merged { packets: 4, longest_bytes: 80_000, unit_bytes: None });
        assert_eq!(of(&[1448, 2900, 1448], Some(1460)).unwrap().packets, 1);
    }

    #[test]
    fn segments_that_fit_into_frames_are_not_merged() {
        for lengths in [&[1448, 1448, 700, 30][..], &[536, 1072, 1072], &[8948, 8948, 1448], &[4000, 3000, 1700], &[]] {
            assert_eq!(of(lengths, None), None, "{lengths:?}");
        }
        assert_eq!(of(&[65_483, 32_768, 9000], Some(65_495)), None);
    }
}
