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
    most_blocks: usize,
}

impl Recent {
    /// For numbers within `window_pkts` of the largest.
    pub fn new(window_pkts: u32) -> Self {
        // one more block, since a window need not begin where a block does
        let most_blocks = (window_pkts as usize / 64 + 2).next_power_of_two();
        let mut empty = Self {
            block: Vec::new(),
            arrived: Vec::new(),
            block_bytes: Vec::new(),
            len_bytes: Vec::new(),
            group: Vec::new(),
            group_bytes: Vec::new(),
            most_blocks,
        };
        empty.resize(LEAST_BLOCKS.min(most_blocks));
        empty
    }

    /// Whether `seq`, which is in the window, has arrived.
    #[inline]
    pub fn contains(&self, seq: u64) -> bool {
        let at = self.block_place(seq);
        self.block[at] == seq >> BLOCK_BITS && self.arrived[at] >> (seq % 64) & 1 == 1
    }

    /// Adds `seq`, which is in the window. `lowest` is the smallest number that may still be asked for.
    #[inline]
    pub fn insert(&mut self, seq: u64, len_bytes: u32, lowest: u64) {
        let mut at = self.block_place(seq);
        if self.block[at] != seq >> BLOCK_BITS {
            self.make_room(seq, lowest);
            at = self.block_place(seq);
            self.block[at] = seq >> BLOCK_BITS;
            self.arrived[at] = 0;
            self.block_bytes[at] = 0;
            self.len_bytes[at] = [0; 64];
            let group = self.group_place(seq);
            if self.group[group] != seq >> GROUP_BITS {
                self.group[group] = seq >> GROUP_BITS;
                self.group_bytes[group] = 0;
            }
        }
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

    /// Grows if the block of `seq` would take the place of one that may still be asked for.
    fn make_room(&mut self, seq: u64, lowest: u64) {
        let mut blocks = self.block.len();
        let spread = |seq: u64| (seq >> BLOCK_BITS).saturating_sub(lowest >> BLOCK_BITS);
        while blocks < self.most_blocks && spread(seq) >= blocks as u64 {
            blocks *= 2;
        }
        if blocks > self.block.len() {
            self.resize(blocks);
        }
    }

    fn resize(&mut self, blocks: usize) {
        // a group's place may hold another turn's group as long as one of its blocks may still be asked for
        let groups = (blocks / 64 + 1).next_power_of_two().max(2);
        let old = std::mem::replace(
            self,
            Self {
                block: vec![NONE; blocks],
                arrived: vec![0; blocks],
                block_bytes: vec![0; blocks],
                len_bytes: vec![[0; 64]; blocks],
                group: vec![NONE; groups],
                group_bytes: vec![0; groups],
                most_blocks: self.most_blocks,
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
