// SPDX-License-Identifier: Apache-2.0
//! The numbers that arrived most recently, with their payload bytes.

const CHUNK_BITS: u32 = 4;
const BLOCK_BITS: u32 = 8;
const GROUP_BITS: u32 = 12;
/// A group has this many blocks, a block has this many chunks, and a chunk has this many numbers.
const FAN: usize = 16;
const LEAST_BLOCKS: usize = 4;
/// The value of the field `number` of a block or group that contains no packet.
const NONE: u64 = u64::MAX;

/// The numbers in the loss-waiting window, in chunks of 16, blocks of 256 and groups of 4096. The blocks are stored in
/// a ring, which grows at most to the size of the window. A block is cleared only when the first number of a new cycle
/// of the ring enters it. A jump to a much larger number therefore costs no more than a small step.
/// Implements RFC 4737, 6 (missing numbers).
#[derive(Debug, Clone)]
pub struct Recent {
    blocks: Vec<Block>,
    groups: Vec<Group>,
    window: u64,
    /// In each block, one number was the first to enter. The pair contains the smallest and the largest of these first
    /// numbers.
    ends: Option<(u64, u64)>,
}

#[derive(Debug, Clone)]
struct Block {
    /// The number of the block, which is a packet's number divided by 256.
    number: u64,
    bytes: u64,
    arrived: [u64; 4],
    chunk_bytes: [u64; FAN],
    len_bytes: [[u32; FAN]; FAN],
}

#[derive(Debug, Clone)]
struct Group {
    /// The number of the group, which is a packet's number divided by 4096.
    number: u64,
    bytes: u64,
}

impl Recent {
    /// Creates a set for numbers that are at most `window_pkts` below the largest number.
    pub fn new(window_pkts: u32) -> Self {
        let mut empty = Self { blocks: Vec::new(), groups: Vec::new(), window: u64::from(window_pkts), ends: None };
        empty.resize(LEAST_BLOCKS);
        empty
    }

    /// Returns whether the number `seq` has arrived. `seq` must be in the window.
    #[inline]
    pub fn contains(&self, seq: u64) -> bool {
        let block = &self.blocks[self.block_place(seq)];
        block.number == seq >> BLOCK_BITS && block.arrived[(seq / 64 % 4) as usize] >> (seq % 64) & 1 == 1
    }

    /// Adds `seq`, which must be in the window or larger than all numbers so far.
    #[inline]
    pub fn insert(&mut self, seq: u64, len_bytes: u32) {
        if self.blocks[self.block_place(seq)].number != seq >> BLOCK_BITS {
            self.open(seq);
        }
        let (at, group) = (self.block_place(seq), self.group_place(seq));
        let (chunk, place) = chunk(seq);
        let block = &mut self.blocks[at];
        block.arrived[(seq / 64 % 4) as usize] |= 1 << (seq % 64);
        block.len_bytes[chunk][place] = len_bytes;
        block.chunk_bytes[chunk] += u64::from(len_bytes);
        block.bytes += u64::from(len_bytes);
        self.groups[group].bytes += u64::from(len_bytes);
    }

    /// Returns the payload bytes of all arrivals with the numbers `seq + 1 ..= largest`.
    #[inline]
    pub fn bytes_above(&self, seq: u64, largest: u64) -> u64 {
        let mut sum = 0;
        let block = &self.blocks[self.block_place(seq)];
        if block.number == seq >> BLOCK_BITS {
            let (chunk, place) = chunk(seq);
            sum += after(&block.len_bytes[chunk].map(u64::from), place) + after(&block.chunk_bytes, chunk);
        }
        let (mut number, last) = ((seq >> BLOCK_BITS) + 1, largest >> BLOCK_BITS);
        while number <= last {
            if number % FAN as u64 == 0 && number + FAN as u64 - 1 <= last {
                let group = &self.groups[self.group_place(number << BLOCK_BITS)];
                if group.number == number >> (GROUP_BITS - BLOCK_BITS) {
                    sum += group.bytes;
                }
                number += FAN as u64;
            } else {
                let block = &self.blocks[self.block_place(number << BLOCK_BITS)];
                if block.number == number {
                    sum += block.bytes;
                }
                number += 1;
            }
        }
        sum
    }

    /// Clears the block that contains `seq`, so that the block can be used. If the ring cannot hold all blocks of the
    /// window from the smallest number on, the ring is enlarged first.
    #[cold]
    fn open(&mut self, seq: u64) {
        let (smallest, largest) = self.ends.map_or((seq, seq), |(s, l)| (s.min(seq), l.max(seq)));
        self.ends = Some((smallest, largest));
        let lowest = smallest.max(largest.saturating_sub(self.window));
        let spread = ((largest >> BLOCK_BITS) - (lowest >> BLOCK_BITS)) as usize + 1;
        if spread > self.blocks.len() {
            self.resize(spread.next_power_of_two());
        }
        let (at, group) = (self.block_place(seq), self.group_place(seq));
        self.blocks[at] = Block { number: seq >> BLOCK_BITS, ..Block::EMPTY };
        if self.groups[group].number != seq >> GROUP_BITS {
            self.groups[group] = Group { number: seq >> GROUP_BITS, bytes: 0 };
        }
    }

    fn resize(&mut self, blocks: usize) {
        let old_blocks = std::mem::replace(&mut self.blocks, vec![Block::EMPTY; blocks]);
        // one more group, because the first block of the ring may be in the middle of a group
        let groups = (blocks.div_ceil(FAN) + 1).next_power_of_two();
        let old_groups = std::mem::replace(&mut self.groups, vec![Group { number: NONE, bytes: 0 }; groups]);
        // blocks that have different indices in the old ring have different indices in the larger ring as well
        for block in old_blocks.into_iter().filter(|b| b.number != NONE) {
            let at = self.block_place(block.number << BLOCK_BITS);
            self.blocks[at] = block;
        }
        for group in old_groups.into_iter().filter(|g| g.number != NONE) {
            let at = self.group_place(group.number << GROUP_BITS);
            self.groups[at] = group;
        }
    }

    #[inline]
    fn block_place(&self, seq: u64) -> usize {
        (seq >> BLOCK_BITS) as usize & (self.blocks.len() - 1)
    }

    #[inline]
    fn group_place(&self, seq: u64) -> usize {
        (seq >> GROUP_BITS) as usize & (self.groups.len() - 1)
    }
}

impl Block {
    const EMPTY: Self =
        Self { number: NONE, bytes: 0, arrived: [0; 4], chunk_bytes: [0; FAN], len_bytes: [[0; FAN]; FAN] };
}

/// Returns the index of the chunk in its block, and the index of the number in its chunk.
#[inline]
fn chunk(seq: u64) -> (usize, usize) {
    ((seq >> CHUNK_BITS) as usize % FAN, seq as usize % FAN)
}

/// Sixteen masks of zeros, followed by fifteen masks of ones.
const STEP: [u64; 2 * FAN - 1] = {
    let mut step = [0; 2 * FAN - 1];
    let mut i = FAN;
    while i < step.len() {
        step[i] = !0;
        i += 1;
    }
    step
};

/// Returns the sum of the entries after the index `at`. To avoid a branch, all sixteen entries are added, each with a
/// mask from a table. With a loop, this function caused 1.1 of the 5.4 million mispredicted branches of
/// `examples/speed` (callgrind, 100,000 packets). A version with a condition caused as many mispredicted branches,
/// because the compiler turned the condition into a loop.
#[inline]
fn after(bytes: &[u64; FAN], at: usize) -> u64 {
    bytes.iter().zip(&STEP[FAN - 1 - at..]).map(|(b, mask)| b & mask).sum()
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
        /// Each move inserts a packet number. This number is some distance above or below the largest number. The third
        /// value of a move is the packet's size in bytes.
        #[test]
        fn knows_what_has_arrived_within_the_window(window in prop_oneof![1u32..200, 1u32..20_000], start in 0u64..100_000, moves in moves()) {
            let (mut recent, mut slow, mut largest) = (Recent::new(window), BTreeMap::new(), start);
            recent.insert(start, 7);
            slow.insert(start, 7);
            for (forward, distance, len_bytes) in moves {
                let back = largest.saturating_sub(distance % (u64::from(window) + 1));
                let seq = if forward { largest + distance } else { back };
                largest = largest.max(seq);
                let new = !slow.contains_key(&seq);
                if new {
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
            prop_assert!(recent.blocks.len() <= (window as usize / 256 + 2).next_power_of_two().max(LEAST_BLOCKS));
        }
    }
}
