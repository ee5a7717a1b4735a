// SPDX-License-Identifier: Apache-2.0
use super::*;
use leowarp_timeline::event;
use proptest::prelude::*;
use std::collections::BTreeMap;

const WINDOW_NS: i64 = 10;
const AROUND_NS: (i64, i64) = (3, 8);

/// Returns a setup of two hosts, with one flow in each direction.
fn setup() -> Setup {
    let flow = |source: usize| {
        serde_json::json!({"kind": "tcp", "source": source, "destination": 1 - source, "congestion_control": "cubic",
            "start_ns": 0, "stop_ns": 100, "size_bytes": null, "rate_bps": null, "interval_ns": null,
            "payload_bytes": null, "packets": null, "packets_per_s": null, "replies": true})
    };
    let text = serde_json::json!({
        "version": 4, "duration_ns": 100, "seed": 1, "drain_ns": 0, "ends": "duration", "linger_ns": 0,
        "nodes": [{"name": "host:A", "kind": "host"}, {"name": "host:B", "kind": "host"}],
        "hosts": [{"node": 0, "address": "10.1.0.1", "sysctl": {}}, {"node": 1, "address": "10.1.0.2", "sysctl": {}}],
        "links": [], "jitter_tables": [], "flows": [flow(0), flow(1)], "source_routing": false, "sysctl": {},
        "observe": {"sockets_ns": null, "counters_ns": null, "queues_ns": null, "packets": "none", "windows_ns": [],
                    "pcap": "none", "pcap_snap_bytes": 128, "truth": true, "reordering_threshold_pkts": 4, "reordering_window_ns": WINDOW_NS,
                    "around_changes_ns": [AROUND_NS.0, AROUND_NS.1]}
    });
    Setup::from_json(text.to_string().as_bytes()).unwrap()
}

/// Returns the events of kind `path` between the hosts of the first flow. `changes` contains the time and number of
/// each route change.
fn paths(setup: &Setup, changes: &[(i64, u32)]) -> Vec<Event> {
    let record = |t_ns: i64, source: u32, change: u32| {
        let mut out = t_ns.to_le_bytes().to_vec();
        [7, source, 1 - source, 0].iter().for_each(|v: &u32| out.extend(v.to_le_bytes()));
        out.extend(i64::from(change).to_le_bytes());
        out
    };
    // the opposite direction has its own events at the same times, with other numbers
    let other = |change: u32| if change == event::NONE { change } else { change + 10 };
    let both = |&(t_ns, change): &(i64, u32)| [record(t_ns, 0, change), record(t_ns, 1, other(change))].concat();
    event::read(&changes.iter().flat_map(both).collect::<Vec<u8>>(), setup).unwrap()
}

#[test]
fn changes_are_numbered_as_the_timeline_says() {
    let setup = setup();
    let events = paths(&setup, &[(0, event::NONE), (10, 0), (20, 1), (40, 2)]);
    assert_eq!(path_changes(&setup, &events, 0), [(0, 10), (1, 20), (2, 40)]);
    assert_eq!(path_changes(&setup, &events, 1), [(10, 10), (11, 20), (12, 40)]);
}

/// A packet of the test. The sending time is twice its number. Its arrival or its loss becomes known at the time `at`,
/// which is odd.
#[derive(Debug, Clone, Copy)]
struct Fate {
    delay: i64,
    lost: bool,
}

fn sent_ns(place: usize) -> i64 {
    // a pause in the middle creates windows and route changes without packets
    2 * place as i64 + if place > 20 { 45 } else { 0 }
}

/// Applies the definition directly. Each scope has its own meter, and numbers its packets from 0.
fn slow(
    fates: &[Fate],
    changes_ns: &[i64],
    settings: Settings,
) -> BTreeMap<(u8, u32), (i64, i64, reorder::Reordering)> {
    let mut scopes = vec![((WHOLE, 0), 0, i64::MAX)];
    let border = |k: u32| (i64::from(k) * WINDOW_NS - WINDOW_NS / 2).max(0);
    scopes.extend((0..20).map(|k| ((WINDOW, k), border(k), border(k + 1))));
    scopes.extend(
        changes_ns.iter().enumerate().map(|(k, t)| ((CHANGE, k as u32), (t - AROUND_NS.0).max(0), t + AROUND_NS.1)),
    );
    let mut out = BTreeMap::new();
    for (key, from_ns, to_ns) in scopes {
        let inside: Vec<usize> = (0..fates.len()).filter(|&i| (from_ns..to_ns).contains(&sent_ns(i))).collect();
        let mut arrivals: Vec<_> = inside
            .iter()
            .enumerate()
            .filter(|(_, &i)| !fates[i].lost)
            .map(|(seq, &i)| (sent_ns(i) + fates[i].delay, seq as u64, i as u32))
            .collect();
        arrivals.sort_unstable();
        let mut meter = Meter::new(settings);
        for (t_ns, seq, len_bytes) in arrivals {
            meter.arrive(Arrival { seq, t_ns: Some(t_ns), len_bytes });
        }
        if !inside.is_empty() {
            out.insert(key, (from_ns, to_ns, meter.finish(Some(inside.len() as u64))));
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    // Tests RFC 4737, 3 (order of sending).
    // Tests RFC 4737, 4.2.4 (part of a stream).
    #[test]
    fn each_scope_is_the_sequence_of_the_packets_sent_in_it(
        fates in proptest::collection::vec(
            (0i64..15, proptest::bool::weighted(0.2)).prop_map(|(d, lost)| Fate { delay: 2 * d + 1, lost }), 1..40),
        mut changes_ns in proptest::collection::vec(1i64..120, 0..6),
    ) {
        changes_ns.sort_unstable();
        changes_ns.dedup();
        let setup = setup();
        let changes: Vec<_> = changes_ns.iter().enumerate().map(|(k, &t)| (t, k as u32)).collect();
        let mut sequence = Sequence::new(&setup, &paths(&setup, &changes), 0);
        let settings = sequence.settings;
        let mut todo: Vec<(i64, usize, bool)> = (0..fates.len())
            .flat_map(|i| [(sent_ns(i), i, false), (sent_ns(i) + fates[i].delay, i, true)])
            .collect();
        todo.sort_unstable();
        let (mut found, mut known, mut settled) = (BTreeMap::new(), vec![false; fates.len()], 0);
        let note = |found: &mut BTreeMap<_, _>, s: Scope| {
            if s.sent_pkts > 0 {
                let before = found.insert((s.kind, s.number), (s.from_ns, s.to_ns, s.meter.finish(Some(s.sent_pkts))));
                assert!(before.is_none());
            }
        };
        for (t_ns, i, is_fate) in todo {
            if !is_fate {
                sequence.sent(i as u32, t_ns);
                continue;
            }
            if !fates[i].lost {
                sequence.arrived(i as u32, sent_ns(i), t_ns, i as u32);
            }
            known[i] = true;
            while settled < fates.len() && known[settled] {
                while let Some(scope) = sequence.over(sent_ns(settled)) {
                    note(&mut found, scope);
                }
                settled += 1;
            }
            prop_assert!(sequence.windows.len() <= 40 / 10 + 6, "scopes are finished as soon as they are over");
        }
        for scope in sequence.windows.into_iter().chain(sequence.changes).chain([sequence.whole]) {
            note(&mut found, scope);
        }
        prop_assert_eq!(found, slow(&fates, &changes_ns, settings));
    }
}
