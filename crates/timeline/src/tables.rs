// SPDX-License-Identifier: Apache-2.0
//! The format of `in/tables.bin`: the capacity, delay and loss of directions over time.

use crate::setup::Setup;
use std::ops::Range;

/// The size of one record with the fields `t_ns i64, value u64, loss u32, zero u32`, in little-endian order.
pub const RECORD_BYTES: usize = 24;

/// The value for an unlimited capacity: every packet leaves immediately.
pub const UNSHAPED: u64 = u64::MAX;

/// A parsed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The row is valid from this time on, in ns since the run's start.
    pub t_ns: i64,
    /// The rate in bits per second in a capacity table, and the delay in ns in a channel table. A rate of 0 means that
    /// nothing is sent.
    pub value: u64,
    /// The loss as a share of 2^32. If all bits are set, every packet is lost.
    pub loss: u32,
}

impl Row {
    fn of(record: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let long = |at: usize| u64::from(word(at + 4)) << 32 | u64::from(word(at));
        Self { t_ns: long(0) as i64, value: long(8), loss: word(16) }
    }
}

/// Iterates over the records of one table.
pub fn rows(table: &[u8]) -> impl Iterator<Item = Row> + '_ {
    table.chunks_exact(RECORD_BYTES).map(Row::of)
}

/// The tables of all directions.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    bytes: Vec<u8>,
    /// For each direction, the byte range of its capacity table in `bytes`, and the byte range of its channel table.
    places: Vec<[Range<usize>; 2]>,
}

/// The reason why `tables.bin` cannot be used.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum TablesError {
    /// The file does not have the number of records that the setup states.
    #[error("tables.bin has {found} bytes, but the rows of the setup make {expected}")]
    Length {
        /// The number of bytes in the file.
        found: usize,
        /// The number of bytes that the file must have according to the setup.
        expected: usize,
    },
    /// A record is invalid.
    #[error("tables.bin, {table} of direction {direction}, row {row}: {rule}")]
    Row {
        /// The name of the table: capacity or channel.
        table: &'static str,
        /// The direction: `2 * link` from a to b, `2 * link + 1` from b to a.
        direction: usize,
        /// The number of the row in the table, from 0.
        row: usize,
        /// The rule that the row must obey.
        rule: &'static str,
    },
}

impl Tables {
    /// Reads `tables.bin` and checks it against the setup. If the setup has no tables, `bytes` must be empty. The file
    /// may then be missing.
    ///
    /// # Errors
    /// [`TablesError`] names the table, the row and the rule.
    pub fn read(bytes: Vec<u8>, setup: &Setup) -> Result<Self, TablesError> {
        let mut end = 0;
        let mut next = |rows: usize| {
            let begin = end;
            end += rows * RECORD_BYTES;
            begin..end
        };
        let directions = setup.links.iter().flat_map(|link| &link.directions);
        let places: Vec<_> = directions.map(|d| [next(d.capacity_rows), next(d.channel_rows)]).collect();
        if end != bytes.len() {
            return Err(TablesError::Length { found: bytes.len(), expected: end });
        }
        let tables = Self { bytes, places };
        for direction in 0..tables.places.len() {
            for (table, records) in [("capacity", tables.capacity(direction)), ("channel", tables.channel(direction))] {
                check(records, table == "capacity").map_err(|(row, rule)| TablesError::Row {
                    table,
                    direction,
                    row,
                    rule,
                })?;
            }
        }
        Ok(tables)
    }

    /// Returns the capacity records of a direction. Empty means that the direction has no capacity table.
    pub fn capacity(&self, direction: usize) -> &[u8] {
        self.places.get(direction).map_or(&[], |p| &self.bytes[p[0].clone()])
    }

    /// Returns the delay and loss records of a direction. Empty means that the direction has no channel table.
    pub fn channel(&self, direction: usize) -> &[u8] {
        self.places.get(direction).map_or(&[], |p| &self.bytes[p[1].clone()])
    }
}

fn check(records: &[u8], is_capacity: bool) -> Result<(), (usize, &'static str)> {
    let mut before_ns = None;
    for (i, row) in rows(records).enumerate() {
        let in_order = before_ns.map_or(row.t_ns == 0, |before_ns| row.t_ns > before_ns);
        if !in_order {
            return Err((i, "times must begin at 0 and increase"));
        }
        if is_capacity && row.loss != 0 {
            return Err((i, "a capacity has no loss"));
        }
        before_ns = Some(row.t_ns);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::setup_test::example;

    fn setup(capacity_rows: usize, channel_rows: usize) -> Setup {
        let mut value = example();
        value["links"][1]["directions"][1] =
            serde_json::json!({"capacity_rows": capacity_rows, "channel_rows": channel_rows});
        Setup::from_json(value.to_string().as_bytes()).unwrap()
    }

    fn record(t_ns: i64, value: u64, loss: u32) -> Vec<u8> {
        [&t_ns.to_le_bytes()[..], &value.to_le_bytes(), &loss.to_le_bytes(), &[0; 4]].concat()
    }

    #[test]
    fn each_direction_has_its_capacity_and_then_its_channel() {
        let bytes = [record(0, UNSHAPED, 0), record(5, 0, 0), record(0, 20_000_000_001, u32::MAX)].concat();
        let tables = Tables::read(bytes, &setup(2, 1)).unwrap();
        let capacity: Vec<Row> = rows(tables.capacity(3)).collect();
        assert_eq!(capacity, [Row { t_ns: 0, value: UNSHAPED, loss: 0 }, Row { t_ns: 5, value: 0, loss: 0 }]);
        let channel: Vec<Row> = rows(tables.channel(3)).collect();
        assert_eq!(channel, [Row { t_ns: 0, value: 20_000_000_001, loss: u32::MAX }]);
        assert!(tables.capacity(2).is_empty() && tables.channel(9).is_empty());
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        let read = |capacity: usize, channel: usize, records: &[Vec<u8>]| {
            Tables::read(records.concat(), &setup(capacity, channel)).unwrap_err().to_string()
        };
        assert!(read(2, 0, &[record(0, 1, 0)]).contains("has 24 bytes, but the rows of the setup make 48"));
        assert!(read(0, 1, &[record(1, 1, 0)]).contains("channel of direction 3, row 0: times must begin at 0"));
        assert!(read(0, 2, &[record(0, 1, 0), record(0, 2, 0)]).contains("row 1: times must begin at 0 and increase"));
        assert!(read(1, 0, &[record(0, 1, 7)]).contains("capacity of direction 3, row 0: a capacity has no loss"));
    }
}
