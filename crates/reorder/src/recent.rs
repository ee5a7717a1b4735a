// SPDX-License-Identifier: Apache-2.0
//! Which of the most recent numbers have arrived, and their bytes.

const BLOCK_BITS: u32 = 6;
const GROUP_BITS: u32 = 12;
const LEAST_BLOCKS: usize = 64;
/// A block or group that no number has been put into.
const NONE: u64 = u64::MAX;

/// Numbers of the loss-waiting window, in blocks of 64 and groups of 4096. A ring that grows to the window at most. A
/// block is emptied when a number of a later turn comes into it, so a jump costs nothing, however far.
#[derive(Debug, Clone)]
pub struct Recent {
    /// Number / 64 of the block that is in this place.
    block: Vec<u64>,
    /// Which numbers of the block have arrived.
    arrived: Vec<u64>,
    block_bytes: Vec<u64>,
    len_bytes: Vec<[u32; 64]>,
    /// Number / 4096 of the group that is in this place.
    group: Vec<u64>,
    group_bytes: Vec<u64>,
    window: u64,
    /// Smallest and largest number that was put in.
    ends: Option<(u64, u64)>,
}

impl Recent {
    /// For numbers within `window_pkts` of the largest.
    pub fn new(window_pkts: u32) -> Self {
        let mut empty = Self {
            block: Vec::new(),
            arrived: Vec::new(),
            block_bytes: Vec::new(),
            len_bytes: Vec::new(),
            group: Vec::new(),
            group_bytes: Vec::new(),
            window: u64::from(window_pkts),
            ends: None,
        };
        empty.resize(LEAST_BLOCKS);
        empty
    }

    /// Whether `seq`, which is in the window, has arrived.
    #[inline]
    pub fn contains(&self, seq: u64) -> bool {
        let at = self.block_place(seq);
        self.block[at] == seq >> BLOCK_BITS && self.arrived[at] >> (seq % 64) & 1 == 1
    }

    /// Adds `seq`, which is in the window or the new largest.
    #[inline]
    pub fn insert(&mut self, seq: u64, len_bytes: u32) {
        if self.block[self.block_place(seq)] != seq >> BLOCK_BITS {
            self.open(seq);
        }
        let at = self.block_place(seq);
        self.arrived[at] |= 1 << (seq % 64);
        self.len_bytes[at][(seq % 64) as usize] = len_bytes;
        self.block_bytes[at] += u64::from(len_bytes);
        let group = self.group_place(seq);
        self.group_bytes[group] += u64::from(len_bytes);
    }

    /// Bytes of all that has arrived with numbers in `seq + 1 ..= highest`.
    pub fn bytes_above(&self, seq: u64, highest: u64) -> u64 {
        let mut sum = 0;
        let at = self.block_place(seq);
        if self.block[at] == seq >> BLOCK_BITS {
            let above = &self.len_bytes[at][(seq % 64) as usize + 1..];
            sum += above.iter().map(|&b| u64::from(b)).sum::<u64>();
        }
        let (mut block, last) = ((seq >> BLOCK_BITS) + 1, highest >> BLOCK_BITS);
        while block <= last {
            let whole_group = block % 64 == 0 && block + 63 <= last;
            let (numbers, bytes, bits) = if whole_group {
                (&self.group, &self.group_bytes, GROUP_BITS)
            } else {
                (&self.block, &self.block_bytes, BLOCK_BITS)
            };
            let number = block << BLOCK_BITS >> bits;
            let at = number as usize & (numbers.len() - 1);
            if numbers[at] == number {
                sum += bytes[at];
            }
            block += if whole_group { 64 } else { 1 };
        }
        sum
    }

    /// Makes the block of `seq` an empty one, in a ring that holds all blocks of the window from the smallest number on.
    fn open(&mut self, seq: u64) {
        let (smallest, largest) = self.ends.map_or((seq, seq), |(s, l)| (s.min(seq), l.max(seq)));
        self.ends = Some((smallest, largest));
        let lowest = smallest.max(largest.saturating_sub(self.window));
        let spread = ((largest >> BLOCK_BITS) - (lowest >> BLOCK_BITS)) as usize + 1;
        if spread > self.block.len() {
            self.resize(spread.next_power_of_two());
        }
        let (at, group) = (self.block_place(seq), self.group_place(seq));
        self.block[at] = seq >> BLOCK_BITS;
        self.arrived[at] = 0;
        self.block_bytes[at] = 0;
        self.len_bytes[at] = [0; 64];
        if self.group[group] != seq >> GROUP_BITS {
            self.group[group] = seq >> GROUP_BITS;
            self.group_bytes[group] = 0;
        }
    }

    fn resize(&mut self, blocks: usize) {
        // as many blocks in a row lie in one more group than would hold them
        let groups = (blocks / 64 + 1).next_power_of_two();
        let old = std::mem::replace(
            self,
            Self {
                block: vec![NONE; blocks],
                arrived: vec![0; blocks],
                block_bytes: vec![0; blocks],
                len_bytes: vec![[0; 64]; blocks],
                group: vec![NONE; groups],
                group_bytes: vec![0; groups],
                window: self.window,
                ends: self.ends,
            },
        );
        for from in (0..old.block.len()).filter(|&i| old.block[i] != NONE) {
            let to = old.block[from] as usize & (blocks - 1);
            self.block[to] = old.block[from];
            self.arrived[to] = old.arrived[from];
            self.block_bytes[to] = old.block_bytes[from];
            self.len_bytes[to] = old.len_bytes[from];
        }
        for from in (0..old.group.len()).filter(|&i| old.group[i] != NONE) {
            let to = old.group[from] as usize & (groups - 1);
            self.group[to] = old.group[from];
            self.group_bytes[to] = old.group_bytes[from];
        }
    }

    #[inline]
    fn block_place(&self, seq: u64) -> usize {
        (seq >> BLOCK_BITS) as usize & (self.block.len() - 1)
    }

    #[inline]
    fn group_place(&self, seq: u64) -> usize {
        (seq >> GROUP_BITS) as usize & (self.group.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn moves() -> impl Strategy<Value = Vec<(bool, u64, u32)>> {
        let distance = prop_oneof![4 => 0u64..100, 2 => 0u64..9000, 1 => 0u64..40_000];
        proptest::collection::vec((any::<bool>(), distance, 1u32..1000), 1..120)
    }

    proptest! {
        /// Moves: ahead of the largest or back from it, by how much, bytes.
        #[test]
        fn knows_what_has_arrived_within_the_window(window in prop_oneof![1u32..200, 1u32..20_000], start in 0u64..100_000, moves in moves()) {
            let (mut recent, mut slow, mut largest) = (Recent::new(window), BTreeMap::new(), start);
            recent.insert(start, 7);
            slow.insert(start, 7);
            for (forward, distance, len_bytes) in moves {
                let back = largest.saturating_sub(distance % (u64::from(window) + 1));
                let seq = if forward { largest + distance } else { back };
                largest = largest.max(seq);
                if !slow.contains_key(&seq) {
                    prop_assert!(seq == largest || !recent.contains(seq));
                    recent.insert(seq, len_bytes);
                    slow.insert(seq, len_bytes);
                }
                let lowest = largest.saturating_sub(u64::from(window));
                for asked in [lowest, back, back.max(lowest), largest, (lowest + largest) / 2].into_iter().filter(|&a| a >= lowest) {
                    prop_assert_eq!(recent.contains(asked), slow.contains_key(&asked));
                    let bytes: u64 = slow.range(asked + 1..).map(|(_, &b)| u64::from(b)).sum();
                    prop_assert_eq!(recent.bytes_above(asked, largest), bytes);
                }
            }
            prop_assert!(recent.block.len() <= (window as usize / 64 + 2).next_power_of_two().max(LEAST_BLOCKS));
        }
    }
}
