// SPDX-License-Identifier: Apache-2.0
//! Prints the tables and versions as JSON. A test compares the output with the Python side of the interface.

use leowarp_timeline::{event, record, setup, tables};

fn main() {
    let schema = serde_json::json!({
        "setup_version": setup::VERSION,
        "event_bytes": event::RECORD_BYTES,
        "table_row_bytes": tables::RECORD_BYTES,
        "magic": std::str::from_utf8(record::MAGIC).unwrap_or_default(),
        "tables": record::TABLES,
    });
    println!("{schema:#}");
}
