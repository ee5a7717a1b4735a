// SPDX-License-Identifier: Apache-2.0
//! A set of byte offsets, stored as sorted ranges that do not overlap or touch. A stream without holes is one range.

/// A set of byte offsets.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Ranges {
    ranges: Vec<(i64, i64)>,
    total: u64,
}

impl Ranges {
    /// Returns the number of offsets in the set.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds the offsets `start..end`.
    pub fn insert(&mut self, start: i64, end: i64) {
        if start >= end {
            return;
        }
        // usually, the new range extends the last one
        if let Some(last) = self.ranges.last_mut() {
            if last.1 == start {
                last.1 = end;
                self.total += (end - start) as u64;
                return;
            }
        }
        let first = self.ranges.partition_point(|r| r.1 < start);
        let after = self.ranges.partition_point(|r| r.0 <= end);
        let merged = self.ranges[first..after].iter().fold((start, end), |m, r| (m.0.min(r.0), m.1.max(r.1)));
        let held: i64 = self.ranges[first..after].iter().map(|r| r.1 - r.0).sum();
        self.total += (merged.1 - merged.0 - held) as u64;
        self.ranges.splice(first..after, [merged]);
    }

    /// Returns whether the set contains all of `start..end`.
    pub fn contains(&self, start: i64, end: i64) -> bool {
        let i = self.ranges.partition_point(|r| r.1 < end);
        self.ranges.get(i).is_some_and(|r| r.0 <= start && end <= r.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn is_a_set_of_offsets(adds in proptest::collection::vec((0i64..60, 0i64..12), 0..40), ask in (0i64..60, 1i64..12)) {
            let (mut ranges, mut slow) = (Ranges::default(), BTreeSet::new());
            for (start, length) in adds {
                ranges.insert(start, start + length);
                slow.extend(start..start + length);
            }
            prop_assert_eq!(ranges.total(), slow.len() as u64);
            prop_assert_eq!(ranges.contains(ask.0, ask.0 + ask.1), (ask.0..ask.0 + ask.1).all(|x| slow.contains(&x)));
            prop_assert!(ranges.ranges.windows(2).all(|w| w[0].1 < w[1].0));
        }
    }
}
