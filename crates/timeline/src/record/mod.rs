// SPDX-License-Identifier: Apache-2.0
//! The tables `out/*.rec`, which the guest writes. For each table, one macro defines the struct, its encoding in the
//! file, and its description. Therefore, the description in the file's header always matches the records. The columns
//! are defined in `python/leowarp/trace/schema/`. `make docs` generates `tables.rs` from these definitions.

mod format;
mod tables;

pub use format::{header, Field, Missing, Record, Table, MAGIC};
pub use tables::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_the_bytes_that_its_table_says() {
        let mut out = Vec::new();
        Echo { flow: 1, index: 2, sent_ns: 3, received_ns: i64::MISSING, reply_ns: 4 }.put(&mut out);
        assert_eq!(out.len(), Echo::TABLE.record_bytes);
        assert_eq!(out[..16], [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out[16..24], i64::MIN.to_le_bytes());
    }

    #[test]
    fn each_table_adds_up_and_names_units() {
        for table in TABLES {
            let bytes: usize = table
                .fields
                .iter()
                .map(|f| match f.type_ {
                    "i64" | "u64" | "f64" => 8,
                    "i32" | "u32" => 4,
                    "u16" => 2,
                    "u8" => 1,
                    other => panic!("{other} is not a type of the agreement"),
                })
                .sum();
            assert_eq!(bytes, table.record_bytes, "{}", table.table);
            for field in table.fields {
                for (ending, unit) in [("_ns", "ns"), ("_us", "us"), ("_bytes", "bytes"), ("_bps", "bit/s")] {
                    assert!(!field.name.ends_with(ending) || field.unit == unit, "{}.{}", table.table, field.name);
                }
                assert!(!field.doc.is_empty());
            }
        }
    }

    #[test]
    fn a_header_ends_at_a_multiple_of_eight() {
        let mut extra = serde_json::Map::new();
        for text in ["", "a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg"] {
            extra.insert("x".into(), text.into());
            let bytes = header(&Echo::TABLE, &extra);
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(bytes[..8], *MAGIC);
            let json: serde_json::Value = serde_json::from_slice(&bytes[12..]).unwrap();
            assert_eq!(json["record_bytes"], 32);
            assert_eq!(json["fields"][2]["type"], "i64");
            assert_eq!(json["x"], text);
        }
    }
}
