// SPDX-License-Identifier: Apache-2.0
//! Numbers that do not wrap, from fields of 16 or 32 bits that do.

/// Cycles before the one that the first number is put in, so that numbers from before it exist.
const CYCLES_BEFORE: u32 = 16;

/// Numbers without wrap-around. Two successive arrivals are taken to be less than half the range apart; a larger jump is
/// a rollover (RFC 4737 section 6). So one foreign number does no lasting harm: the next one is placed against it, and
/// lands where it would have without.
#[derive(Debug, Clone)]
pub struct Unwrap {
    bits: u32,
    last: Option<u64>,
}

impl Unwrap {
    /// For fields of `bits` bits, 8 to 64. None outside.
    pub fn new(bits: u32) -> Option<Self> {
        (8..=64).contains(&bits).then_some(Self { bits, last: None })
    }

    /// The field's number, unwrapped; higher bits of `field` are ignored.
    ///
    /// Its low bits are the field, and the first one lies 2^16 cycles up (below 48 bits), so that packets which were sent
    /// before the first to arrive, and before a rollover, have a number too.
    pub fn number(&mut self, field: u64) -> u64 {
        if self.bits == 64 {
            return field;
        }
        let range = 1u64 << self.bits;
        let field = field & (range - 1);
        let number = match self.last {
            None if self.bits < 48 => field + (range << CYCLES_BEFORE),
            None => field + range,
            Some(last) => {
                let ahead = field.wrapping_sub(last) & (range - 1);
                if ahead <= range / 2 {
                    last.saturating_add(ahead)
                } else {
                    last.saturating_sub(range - ahead)
                }
            }
        };
        self.last = Some(number);
        number
    }
}
