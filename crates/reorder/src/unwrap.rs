// SPDX-License-Identifier: Apache-2.0
//! Unwraps sequence numbers that wrap around, from fields of 8 to 64 bits.

/// Below the cycle of the first arrival, there are 2^`CYCLES_BEFORE` cycles of the field. Packets that were sent before
/// the first arrival get numbers in these lower cycles.
const CYCLES_BEFORE: u32 = 16;

/// State for unwrapping the numbers of one sequence. Two successive arrivals are assumed to differ by less than half
/// the range of the field. If the difference is larger, the field is assumed to have wrapped around (RFC 4737, section
/// 6). A single foreign number has no lasting effect. The next number is unwrapped as if the foreign number had not
/// arrived.
/// Implements RFC 5236, 3 (wrap-around).
#[derive(Debug, Clone)]
pub struct Unwrap {
    bits: u32,
    last: Option<u64>,
}

impl Unwrap {
    /// Creates the state for fields with `bits` bits, 8 to 64. None means that the number of bits is not supported.
    pub fn new(bits: u32) -> Option<Self> {
        (8..=64).contains(&bits).then_some(Self { bits, last: None })
    }

    /// Unwraps the number in a field. Bits of `field` above the field's width are ignored.
    ///
    /// The low bits of the result are equal to the field. The first number is placed 2^16 cycles above 0. For fields of
    /// 48 bits or more, it is one cycle above 0. Therefore, a packet sent before the first arrival has a number above
    /// 0, even if a rollover lies between them.
    /// Implements RFC 4737, 6 (rollover corrected).
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
                let before = last & (range - 1);
                let up = last.saturating_add(field.wrapping_sub(before) & (range - 1));
                let down = last.saturating_sub(before.wrapping_sub(field) & (range - 1));
                // Implements RFC 4737, 6 (rollover found).
                // Implements RFC 4737, 6 (late at a rollover).
                let rollover = field.abs_diff(before) > range / 2;
                if (field > before) != rollover {
                    up
                } else {
                    down
                }
            }
        };
        self.last = Some(number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the unwrapped numbers. The first unwrapped number is subtracted from each of them.
    fn steps(bits: u32, fields: &[u64]) -> Vec<i64> {
        let mut unwrap = Unwrap::new(bits).unwrap();
        let numbers: Vec<u64> = fields.iter().map(|&f| unwrap.number(f)).collect();
        numbers.iter().map(|n| n.wrapping_sub(numbers[0]) as i64).collect()
    }

    // Tests RFC 4737, 6 (rollover corrected).
    // Tests RFC 4737, 6 (late at a rollover).
    #[test]
    fn numbers_go_on_after_a_rollover_and_late_ones_stay_behind_it() {
        assert_eq!(steps(16, &[65_534, 0, 65_535, 1]), [0, 2, 1, 3]);
        assert_eq!(steps(32, &[u64::from(u32::MAX), 1, 0]), [0, 2, 1]);
        assert_eq!(steps(16, &[1, 65_535, 0, 2]), [0, -2, -1, 1]);
    }

    // Tests RFC 4737, 6 (rollover found).
    #[test]
    fn a_jump_of_half_the_range_is_no_rollover_and_a_larger_one_is() {
        assert_eq!(steps(16, &[0, 32_768]), [0, 32_768]);
        assert_eq!(steps(16, &[0, 32_769]), [0, -32_767]);
        assert_eq!(steps(16, &[40_000, 7_232]), [0, -32_768]);
        assert_eq!(steps(16, &[40_000, 7_231]), [0, 32_767]);
    }

    #[test]
    fn a_foreign_number_does_no_lasting_harm() {
        assert_eq!(steps(16, &[100, 40_000, 101, 102]), [0, -25_636, 1, 2]);
    }

    #[test]
    fn the_low_bits_are_the_field() {
        let mut unwrap = Unwrap::new(16).unwrap();
        assert_eq!(unwrap.number(0xabc_0005), (1 << 32) + 5);
        assert_eq!(Unwrap::new(64).unwrap().number(u64::MAX), u64::MAX);
        assert!(Unwrap::new(7).is_none() && Unwrap::new(65).is_none());
    }

    proptest! {
        // Tests RFC 4737, 6 (rollover corrected).
        // Tests RFC 4737, 6 (late at a rollover).
        // Tests RFC 5236, 3 (wrap-around).
        #[test]
        fn gives_back_what_was_wrapped(bits in 8u32..64, start: u64, jumps in proptest::collection::vec(-1.0f64..1.0, 0..60)) {
            let range = 1u128 << bits;
            let mut numbers = vec![i128::from(start)];
            for jump in jumps {
                // every jump is less than half the range
                numbers.push(numbers[numbers.len() - 1] + (jump * (range / 2 - 1) as f64 * 0.999) as i128);
            }
            let fields: Vec<u64> = numbers.iter().map(|n| n.rem_euclid(range as i128) as u64).collect();
            let mut unwrap = Unwrap::new(bits).unwrap();
            let got: Vec<u64> = fields.iter().map(|&f| unwrap.number(f)).collect();
            // with wide fields, the first number is only a few cycles above 0. Cases in which a later number would be
            // negative are skipped
            let first = i128::from(got[0]);
            prop_assume!(numbers.iter().all(|n| (0..i128::from(u64::MAX)).contains(&(first + n - numbers[0]))));
            for (n, g) in numbers.iter().zip(&got) {
                prop_assert_eq!(i128::from(*g) - first, n - numbers[0]);
            }
        }

        #[test]
        fn keeps_the_field_whatever_comes(bits in 8u32..48, fields in proptest::collection::vec(any::<u64>(), 0..100)) {
            let mut unwrap = Unwrap::new(bits).unwrap();
            for field in fields {
                prop_assert_eq!((unwrap.number(field) ^ field) << (64 - bits), 0);
            }
        }
    }
}
