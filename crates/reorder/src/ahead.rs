// SPDX-License-Identifier: Apache-2.0
//! A sorted set of numbers that are not below a base. The base only increases.

use std::collections::BTreeSet;

const LEAST_BITS: u64 = 1 << 12;
const MOST_BITS: u64 = 1 << 22;

/// A set of numbers. The numbers are at least `base` and below `u64::MAX`. Numbers near `base` are stored as bits of a
/// ring. The few numbers far above `base` are stored in a tree. They move to the ring when `base` comes near. If most
/// numbers near `base` are in the set, each operation takes only a few instructions.
#[derive(Debug, Clone)]
pub struct Ahead {
    base: u64,
    words: Vec<u64>,
    near: usize,
    far: BTreeSet<u64>,
}

impl Ahead {
    /// Creates an empty set for about `pkts` numbers. The set is fast if the largest and the smallest number differ by
    /// less than four times `pkts`.
    pub fn new(pkts: u32) -> Self {
        let bits = (4 * (u64::from(pkts) + 1)).next_power_of_two().clamp(LEAST_BITS, MOST_BITS);
        Self { base: 0, words: vec![0; (bits / 64) as usize], near: 0, far: BTreeSet::new() }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.near + self.far.len()
    }

    /// Returns whether the set contains `number`.
    #[inline]
    pub fn contains(&self, number: u64) -> bool {
        match self.place(number) {
            Place::Near(word, bit) => self.words[word] & bit != 0,
            Place::Far => self.far.contains(&number),
            Place::Behind => false,
        }
    }

    /// Adds `number`. Returns false if the number is already in the set, or below the base.
    #[inline]
    pub fn insert(&mut self, number: u64) -> bool {
        match self.place(number) {
            Place::Near(word, bit) => {
                let new = self.words[word] & bit == 0;
                self.words[word] |= bit;
                self.near += usize::from(new);
                new
            }
            Place::Far => self.far.insert(number),
            Place::Behind => false,
        }
    }

    /// Removes `number` if it is in the set.
    #[inline]
    pub fn remove(&mut self, number: u64) {
        match self.place(number) {
            Place::Near(word, bit) if self.words[word] & bit != 0 => {
                self.words[word] ^= bit;
                self.near -= 1;
            }
            Place::Far => {
                self.far.remove(&number);
            }
            Place::Near(..) | Place::Behind => {}
        }
    }

    /// Returns the smallest number in the set.
    #[inline]
    pub fn first(&self) -> Option<u64> {
        if self.near == 0 {
            return self.far.first().copied();
        }
        let mask = self.words.len() - 1;
        let start = (self.base / 64) as usize & mask;
        let offset = self.base % 64;
        let above = self.words[start] & (!0 << offset);
        if above != 0 {
            return Some(self.base - offset + u64::from(above.trailing_zeros()));
        }
        for step in 1..=self.words.len() {
            let word = self.words[(start + step) & mask];
            if word != 0 {
                return Some(self.base - offset + 64 * step as u64 + u64::from(word.trailing_zeros()));
            }
        }
        None
    }

    /// Returns the base of the set. No number in the set is below the base.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Moves the base up to `base`. The caller must make sure that the set contains no number below the new base.
    #[inline]
    pub fn advance(&mut self, base: u64) {
        self.base = base;
        if !self.far.is_empty() {
            self.promote();
        }
    }

    /// Removes `first` and moves the base past it. `first` must be the smallest number in the set.
    #[inline]
    pub fn pass_first(&mut self, first: u64) {
        self.remove(first);
        self.advance(first + 1);
    }

    /// Moves the base to the smallest number that is above `number` and is not in the set. The set must not contain
    /// numbers below `number`. The numbers below the new base are removed.
    #[inline]
    pub fn pass(&mut self, number: u64) {
        self.remove(number);
        self.advance(number + 1);
        while self.near > 0 {
            let (word, offset) = ((self.base / 64) as usize & (self.words.len() - 1), self.base % 64);
            let run = (self.words[word] >> offset).trailing_ones();
            if run == 0 {
                break;
            }
            self.words[word] &= !(!0 >> (64 - run) << offset);
            self.near -= run as usize;
            self.advance(self.base + u64::from(run));
        }
    }

    fn promote(&mut self) {
        while let Some(&number) = self.far.first() {
            let Place::Near(word, bit) = self.place(number) else { break };
            self.far.remove(&number);
            self.words[word] |= bit;
            self.near += 1;
        }
    }

    #[inline]
    fn place(&self, number: u64) -> Place {
        match number.checked_sub(self.base) {
            None => Place::Behind,
            Some(ahead) if ahead < 64 * self.words.len() as u64 => {
                Place::Near((number / 64) as usize & (self.words.len() - 1), 1 << (number % 64))
            }
            Some(_) => Place::Far,
        }
    }
}

enum Place {
    Behind,
    /// The number has a bit in the ring. The fields are the index of the bit's word, and a mask with only this bit.
    Near(usize, u64),
    Far,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each step consists of a kind of operation and a distance from the base.
        #[test]
        fn is_a_sorted_set(steps in proptest::collection::vec((0u8..6, prop_oneof![0u64..20, 0u64..9000, Just(1 << 50)]), 0..200)) {
            let (mut ahead, mut slow) = (Ahead::new(3), BTreeSet::new());
            for (operation, above) in steps {
                let number = ahead.base() + above;
                let first = slow.first().copied();
                match (operation, first) {
                    (0 | 1, _) => prop_assert_eq!(ahead.insert(number), slow.insert(number)),
                    (2, _) => {
                        ahead.remove(number);
                        slow.remove(&number);
                    }
                    (3, _) => ahead.advance(first.map_or(number, |first| first.min(number))),
                    (4, Some(first)) => {
                        ahead.pass_first(first);
                        slow.remove(&first);
                        prop_assert_eq!(ahead.base(), first + 1);
                    }
                    _ => {
                        let from = first.map_or(number, |first| first.min(number));
                        ahead.pass(from);
                        slow.remove(&from);
                        let end = (from + 1..).find(|n| !slow.remove(n));
                        prop_assert_eq!(Some(ahead.base()), end);
                    }
                }
                prop_assert!(ahead.base() == 0 || !ahead.insert(ahead.base() - 1));
                prop_assert_eq!(ahead.first(), slow.first().copied());
                prop_assert_eq!(ahead.len(), slow.len());
                prop_assert_eq!(ahead.contains(number), slow.contains(&number));
            }
        }
    }
}
