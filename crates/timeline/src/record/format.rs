// SPDX-License-Identifier: Apache-2.0
//! The format of a record file: the header, the records, and the missing values.

/// A column of a table.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Field {
    /// The name of the column. The name of a quantity ends in its unit.
    pub name: &'static str,
    /// The type of the column: `i64 u64 i32 u32 u16 u8 f64`, in little-endian order.
    #[serde(rename = "type")]
    pub type_: &'static str,
    /// The unit, such as `ns` or `pkts`. `1` means no unit.
    pub unit: &'static str,
    /// The meaning of the column, as one sentence.
    pub doc: &'static str,
}

/// A table.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Table {
    /// The name of the file, without `.rec`.
    pub table: &'static str,
    /// The size of one record in bytes, without padding.
    pub record_bytes: usize,
    /// All columns, in the order of the record's bytes.
    pub fields: &'static [Field],
}

/// The first bytes of each file.
pub const MAGIC: &[u8; 8] = b"LEOWARP1";

/// A type in which one value means "missing" in a record.
pub trait Missing {
    /// The "missing" value: the minimum of a signed type, the maximum of an unsigned type, or NaN.
    const MISSING: Self;
}

macro_rules! missing {
    ($($type:ty: $value:expr,)*) => { $(impl Missing for $type { const MISSING: Self = $value; })* };
}

missing! {
    i64: i64::MIN,
    u64: u64::MAX,
    i32: i32::MIN,
    u32: u32::MAX,
    u16: u16::MAX,
    u8: u8::MAX,
    f64: f64::NAN,
}

/// A record of a table.
pub trait Record {
    /// The table to which the record belongs.
    const TABLE: Table;
    /// Appends the bytes of the record.
    fn put(&self, out: &mut Vec<u8>);
}

/// Returns the header of a file of `table`. The header has the magic bytes, the length of a JSON text, and this text.
/// Padding after the text makes the records begin at a multiple of 8 bytes. `extra` contains further information for
/// readers, such as the `names` of counters.
pub fn header(table: &Table, extra: &serde_json::Map<String, serde_json::Value>) -> Vec<u8> {
    let mut json = serde_json::Map::new();
    json.insert("table".into(), table.table.into());
    json.insert("record_bytes".into(), table.record_bytes.into());
    json.insert("fields".into(), serde_json::json!(table.fields));
    json.extend(extra.iter().map(|(k, v)| (k.clone(), v.clone())));
    let mut text = serde_json::Value::Object(json).to_string().into_bytes();
    while (MAGIC.len() + 4 + text.len()) % 8 != 0 {
        text.push(b' ');
    }
    let mut out = MAGIC.to_vec();
    out.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(text);
    out
}

macro_rules! tables {
    ($($(#[$meta:meta])* $table:literal $record:ident { $($field:ident: $type:ident [$unit:literal, $doc:literal],)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq)]
            pub struct $record {
                $(#[doc = $doc] pub $field: $type,)*
            }

            impl Record for $record {
                const TABLE: Table = Table {
                    table: $table,
                    record_bytes: 0 $(+ size_of::<$type>())*,
                    fields: &[$(Field { name: stringify!($field), type_: stringify!($type), unit: $unit, doc: $doc },)*],
                };
                fn put(&self, out: &mut Vec<u8>) {
                    let mut bytes = [0u8; <Self as Record>::TABLE.record_bytes];
                    let mut at = 0;
                    $(
                        bytes[at..at + size_of::<$type>()].copy_from_slice(&self.$field.to_le_bytes());
                        at += size_of::<$type>();
                    )*
                    debug_assert_eq!(at, bytes.len());
                    out.extend_from_slice(&bytes);
                }
            }
        )*

        /// All tables.
        pub const TABLES: &[Table] = &[$($record::TABLE,)*];
    };
}
pub(super) use tables;
