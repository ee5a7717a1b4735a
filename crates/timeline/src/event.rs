// SPDX-License-Identifier: Apache-2.0
//! The format of `in/events.bin`: changes of the network, in order of time.

use crate::setup::{Discipline, Setup};

/// The size of one record, in bytes.
pub const RECORD_BYTES: usize = 32;

/// The value for "none" in a direction or path field.
pub const NONE: u32 = u32::MAX;

/// A record of `events.bin`. Its fields are `t_ns i64, kind u32, a u32, b u32, c u32, value i64`, in little-endian
/// order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// The time since the run's start.
    pub t_ns: i64,
    /// The change that happens at this time.
    pub change: Change,
}

/// A change of the network. The text of each kind begins with its number in `events.bin`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// 1: a link comes up. A link's first `Up` creates the link.
    Up {
        /// The index into `links`.
        link: usize,
    },
    /// 2: a link goes down.
    Down {
        /// The index into `links`.
        link: usize,
        /// Whether the link loses its packets.
        lose: bool,
    },
    /// 3: the propagation delay of a direction changes.
    Delay {
        /// The direction: `2 * link` from a to b, `2 * link + 1` from b to a.
        direction: usize,
        /// The time from the sending of a bit to its arrival at the other end.
        delay_ns: u64,
    },
    /// 4: the rate of a direction's serialiser changes.
    Rate {
        /// The direction: `2 * link` from a to b, `2 * link + 1` from b to a.
        direction: usize,
        /// The rate in bits per second. 0 means unshaped.
        rate_bps: u64,
    },
    /// 5: the random loss ratio of a direction changes.
    Loss {
        /// The direction: `2 * link` from a to b, `2 * link + 1` from b to a.
        direction: usize,
        /// The share of lost packets, 0 to 1.
        ratio: f64,
    },
    /// 6: a node's next hop to a host changes.
    Route {
        /// The index into `nodes`.
        node: usize,
        /// The index into `hosts`.
        host: usize,
        /// The direction by which the node sends packets for the host. None means that the route is removed.
        direction: Option<usize>,
        /// The path to which the route belongs. None means no path.
        path: Option<u32>,
    },
    /// 7: from now on, packets from one host to another leave on this path.
    Path {
        /// The index into `hosts`.
        source: usize,
        /// The index into `hosts`.
        destination: usize,
        /// The path. None means that the pair has no path.
        path: Option<u32>,
        /// The number of the route change, counted from 0 for each pair of source and destination. None means the
        /// pair's first path.
        change: Option<u32>,
    },
    /// 8: the random part of a direction's delay changes. The delay is the propagation delay plus this random part. The
    /// mean of the random part is 0.
    Jitter {
        /// The direction: `2 * link` from a to b, `2 * link + 1` from b to a. The link's discipline must be `jitter`.
        direction: usize,
        /// The index into `jitter_tables`.
        table: usize,
        /// The standard deviation of the random delay.
        sigma_ns: u64,
    },
}

/// The reason why `events.bin` cannot be used.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum EventError {
    /// The file ends in the middle of a record.
    #[error("events.bin has {0} bytes, not a multiple of {RECORD_BYTES}: it is cut short")]
    Length(usize),
    /// A record is invalid.
    #[error("events.bin, record {index}: {what} is {value}, but {rule}")]
    Record {
        /// The number of the record, from 0.
        index: usize,
        /// The name of the field.
        what: &'static str,
        /// The value that the record has in the field.
        value: i64,
        /// The rule that the value must obey.
        rule: &'static str,
    },
}

/// Reads `events.bin` and checks it against the setup.
///
/// # Errors
/// [`EventError`] names the record, the field and the rule.
pub fn read(bytes: &[u8], setup: &Setup) -> Result<Vec<Event>, EventError> {
    if bytes.len() % RECORD_BYTES != 0 {
        return Err(EventError::Length(bytes.len()));
    }
    let mut events = Vec::with_capacity(bytes.len() / RECORD_BYTES);
    let mut before_ns = i64::MIN;
    for (index, record) in bytes.chunks_exact(RECORD_BYTES).enumerate() {
        let event =
            read_one(record, setup).map_err(|(what, value, rule)| EventError::Record { index, what, value, rule })?;
        if event.t_ns < before_ns {
            return Err(EventError::Record {
                index,
                what: "t_ns",
                value: event.t_ns,
                rule: "records must be sorted by time",
            });
        }
        before_ns = event.t_ns;
        events.push(event);
    }
    Ok(events)
}

type Complaint = (&'static str, i64, &'static str);

fn read_one(record: &[u8], setup: &Setup) -> Result<Event, Complaint> {
    let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    let long = |at: usize| i64::from(word(at + 4)) << 32 | i64::from(word(at));
    let (t_ns, kind, a, b, c, value) = (long(0), word(8), word(12), word(16), word(20), long(24));
    let index = |what, value: u32, count: usize, rule| {
        let i = value as usize;
        if i < count {
            Ok(i)
        } else {
            Err((what, i64::from(value), rule))
        }
    };
    let link = || index("a", a, setup.links.len(), "it must be a link of the setup");
    let direction = |what, v| index(what, v, 2 * setup.links.len(), "it must be a direction of a link of the setup");
    let host = |what, v| index(what, v, setup.hosts.len(), "it must be a host of the setup");
    let amount = || u64::try_from(value).map_err(|_| ("value", value, "it must not be negative"));
    let without_channel = |direction: usize| {
        if setup.direction(direction).channel_rows == 0 {
            return Ok(direction);
        }
        Err(("a", direction as i64, "its direction has a table of delay and loss, so it takes no single ones"))
    };
    let change = match kind {
        1 => Change::Up { link: link()? },
        2 => Change::Down { link: link()?, lose: value != 0 },
        3 => Change::Delay { direction: without_channel(direction("a", a)?)?, delay_ns: amount()? },
        4 => {
            let direction = direction("a", a)?;
            if setup.direction(direction).capacity_rows > 0 {
                return Err(("a", i64::from(a), "its direction has a table of capacity, so it takes no rate"));
            }
            Change::Rate { direction, rate_bps: amount()? }
        }
        5 => {
            let ratio = f64::from_bits(value as u64);
            if !(0.0..=1.0).contains(&ratio) {
                return Err(("value", value, "it must be the bits of a ratio from 0 to 1"));
            }
            Change::Loss { direction: without_channel(direction("a", a)?)?, ratio }
        }
        6 => Change::Route {
            node: index("a", a, setup.nodes.len(), "it must be a node of the setup")?,
            host: host("b", b)?,
            direction: if c == NONE { None } else { Some(direction("c", c)?) },
            path: u32::try_from(value).ok().filter(|&p| p != NONE),
        },
        7 => Change::Path {
            source: host("a", a)?,
            destination: host("b", b)?,
            path: Some(c).filter(|&c| c != NONE),
            change: u32::try_from(value).ok().filter(|&n| n != NONE),
        },
        8 => {
            let direction = direction("a", a)?;
            let table = index("b", b, setup.jitter_tables.len(), "it must be a jitter table of the setup")?;
            if setup.links[direction / 2].discipline != Some(Discipline::Jitter) {
                return Err(("a", i64::from(a), "the discipline of its link must be jitter"));
            }
            // netem silently limits its jitter to i32::MAX (netem_change)
            if amount()? as f64 * setup.jitter_tables[table].multiplier > f64::from(i32::MAX) {
                return Err(("value", value, "times the table's multiplier it must be below 2^31 ns"));
            }
            Change::Jitter { direction, table, sigma_ns: amount()? }
        }
        _ => return Err(("kind", i64::from(kind), "1 to 8 are known")),
    };
    if let Change::Route { node, direction: Some(d), .. } = change {
        let link = &setup.links[d / 2];
        if node != if d % 2 == 0 { link.a } else { link.b } {
            return Err(("c", d as i64, "the direction must begin at the node"));
        }
    }
    Ok(Event { t_ns, change })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        Setup::from_json(
            br#"{"version": 4, "duration_ns": 10, "seed": 1, "drain_ns": 0, "ends": "duration", "linger_ns": 0,
            "nodes": [{"name": "h", "kind": "host"}, {"name": "g", "kind": "ground"}],
            "hosts": [{"node": 0, "address": "10.1.0.1", "sysctl": {}}],
            "links": [{"a": 0, "b": 1, "kind": "wire", "discipline": "netem", "on_down": "drop", "limit_pkts": null,
                       "limit_bytes": null, "overhead_bytes": 0, "arp": false},
                      {"a": 0, "b": 1, "kind": "isl", "discipline": "jitter", "on_down": "drop", "limit_pkts": 5000,
                       "limit_bytes": null, "overhead_bytes": 0, "arp": false},
                      {"a": 0, "b": 1, "kind": "gsl", "discipline": "leolink", "on_down": "drop", "limit_pkts": null,
                       "limit_bytes": null, "overhead_bytes": 0, "arp": false,
                       "directions": [{"capacity_rows": 1}, {"channel_rows": 1}]}],
            "jitter_tables": [{"name": "uniform", "multiplier": 1.0, "values": []},
                              {"name": "table", "multiplier": 4.0, "values": [1]}],
            "flows": [], "source_routing": false, "sysctl": {},
            "observe": {"sockets_ns": 1, "counters_ns": 1, "queues_ns": 1, "packets": "none", "windows_ns": [], "pcap": "none", "pcap_snap_bytes": 128,
                        "truth": false, "reordering_threshold_pkts": 1, "reordering_window_ns": 1, "around_changes_ns": [0, 0]}}"#,
        )
        .unwrap()
    }

    fn record(t_ns: i64, kind: u32, a: u32, b: u32, c: u32, value: i64) -> Vec<u8> {
        let mut out = t_ns.to_le_bytes().to_vec();
        for word in [kind, a, b, c] {
            out.extend(word.to_le_bytes());
        }
        out.extend(value.to_le_bytes());
        out
    }

    #[test]
    fn reads_each_kind() {
        let bytes = [
            record(0, 1, 0, 0, 0, 0),
            record(0, 3, 1, 0, 0, 5_000_000_001),
            record(0, 5, 0, 0, 0, 0.25f64.to_bits() as i64),
            record(1, 6, 1, 0, 1, 4),
            record(1, 6, 1, 0, NONE, -1),
            record(1, 7, 0, 0, NONE, 2),
            record(1, 7, 0, 0, 3, i64::from(NONE)),
            record(1, 8, 2, 1, 0, 536_870_911),
            record(2, 2, 0, 0, 0, 1),
        ]
        .concat();
        let changes: Vec<Change> = read(&bytes, &setup()).unwrap().iter().map(|e| e.change).collect();
        assert_eq!(
            changes,
            [
                Change::Up { link: 0 },
                Change::Delay { direction: 1, delay_ns: 5_000_000_001 },
                Change::Loss { direction: 0, ratio: 0.25 },
                Change::Route { node: 1, host: 0, direction: Some(1), path: Some(4) },
                Change::Route { node: 1, host: 0, direction: None, path: None },
                Change::Path { source: 0, destination: 0, path: None, change: Some(2) },
                Change::Path { source: 0, destination: 0, path: Some(3), change: None },
                Change::Jitter { direction: 2, table: 1, sigma_ns: 536_870_911 },
                Change::Down { link: 0, lose: true },
            ]
        );
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        let cases = [
            (record(0, 9, 0, 0, 0, 0), "kind"),
            (record(0, 1, 3, 0, 0, 0), "a"),
            (record(0, 4, 4, 0, 0, 5), "a"),
            (record(0, 3, 5, 0, 0, 5), "a"),
            (record(0, 5, 5, 0, 0, 0), "a"),
            (record(0, 8, 1, 0, 0, 5), "a"),
            (record(0, 8, 2, 2, 0, 5), "b"),
            (record(0, 8, 2, 1, 0, -5), "value"),
            (record(0, 8, 2, 1, 0, 536_870_912), "value"),
            (record(0, 3, 0, 0, 0, -1), "value"),
            (record(0, 5, 0, 0, 0, 2f64.to_bits() as i64), "value"),
            (record(0, 6, 1, 0, 0, 0), "c"),
            ([record(5, 1, 0, 0, 0, 0), record(4, 1, 0, 0, 0, 0)].concat(), "t_ns"),
        ];
        for (bytes, field) in cases {
            match read(&bytes, &setup()) {
                Err(EventError::Record { what, .. }) => assert_eq!(what, field),
                other => panic!("{field}: {other:?}"),
            }
        }
        assert_eq!(read(&[0; 33], &setup()), Err(EventError::Length(33)));
    }
}
