// SPDX-License-Identifier: Apache-2.0
use super::*;

/// Returns a setup that uses all features. One of its links accepts tables.
pub fn example() -> serde_json::Value {
    serde_json::json!({
        "version": 4, "duration_ns": 10, "seed": 1, "drain_ns": 0, "ends": "flows", "linger_ns": 1,
        "nodes": [{"name": "host:A", "kind": "host"}, {"name": "A", "kind": "ground"}, {"name": "host:B", "kind": "host"}],
        "mtu_bytes": 1115,
        "hosts": [{"node": 0, "address": "10.1.0.1", "sysctl": {}, "pacing": "internal", "delayed_ack": "on"}, {"node": 2, "address": "10.1.0.2", "sysctl": {}}],
        "links": [{"a": 0, "b": 1, "kind": "wire", "discipline": "leolink", "on_down": "drain", "limit_pkts": null,
                   "limit_bytes": null, "overhead_bytes": 0, "arp": false, "directions": [{}, {}]},
                  {"a": 1, "b": 2, "kind": "gsl", "discipline": "leolink", "on_down": "drop", "limit_pkts": 500,
                   "limit_bytes": null, "overhead_bytes": 0, "arp": false, "directions": [
                       {"queue": {"kind": "fq_codel", "ecn": true, "parameters": {"target_ns": 5_000_000},
                                  "limit_pkts": 100, "limit_bytes": null},
                        "in_order": false, "probe_bytes": 98, "capacity_rows": 0, "channel_rows": 0},
                       {}]}],
        "modules": [{"name": "my_cc", "file": "modules/my_cc.ko", "parameters": {"phase_ns": "12000000000"}}],
        "flows": [{"kind": "tcp", "source": 0, "destination": 1, "congestion_control": "cubic", "start_ns": 0, "stop_ns": 10,
                   "size_bytes": null, "rate_bps": null, "interval_ns": null, "payload_bytes": null, "packets": null,
                   "packets_per_s": null, "replies": true, "flood": false}],
        "jitter_tables": [{"name": "normal", "multiplier": 2.0, "values": [-4096, 4096]}],
        "source_routing": false, "sysctl": {},
        "observe": {"sockets_ns": 1, "counters_ns": null, "queues_ns": 1, "packets": "changes", "windows_ns": [[0, 5]], "pcap": "none", "pcap_snap_bytes": 128,
                    "truth": true, "reordering_threshold_pkts": 200, "reordering_window_ns": null, "around_changes_ns": [1, 3]}
    })
}

fn read(value: &serde_json::Value) -> Result<Setup, String> {
    Setup::from_json(value.to_string().as_bytes()).map_err(|e| e.to_string())
}

#[test]
fn reads_the_agreed_shape() {
    let setup = read(&example()).unwrap();
    assert_eq!(setup.hosts[1].short_address(), 0x0a01_0002);
    assert_eq!(setup.links[0].queue_counts, QueueCounts::Waiting);
    assert_eq!((setup.ends, setup.linger_ns), (Ends::Flows, 1));
    assert_eq!(setup.jitter_tables[0].values, [-4096, 4096]);
    assert_eq!((setup.observe.sockets_ns, setup.observe.counters_ns), (Some(1), None));
    assert_eq!(setup.observe.around_changes_ns, (1, 3));
    let [forth, back] = &setup.links[1].directions;
    let queue = forth.queue.as_ref().unwrap();
    assert_eq!((queue.kind, queue.ecn, queue.parameters["target_ns"]), (QueueKind::FqCodel, true, 5_000_000));
    assert_eq!((forth.in_order, forth.probe_bytes), (false, 98));
    assert!(back.is_plain() && setup.links[0].directions.iter().all(Direction::is_plain));
    assert_eq!(setup.hosts[0].pacing, Pacing::Internal);
    assert_eq!([0, 1].map(|i| setup.hosts[i].delayed_ack), [DelayedAck::On, DelayedAck::Adaptive]);
    assert_eq!(setup.mtu_bytes, 1115);
    assert_eq!(setup.modules[0].parameters["phase_ns"], "12000000000");
}

#[test]
fn hosts_are_all_of_one_family_and_those_of_ipv6_have_nothing_that_is_of_ipv4_alone() {
    let mut setup = example();
    setup["hosts"][1]["address"] = serde_json::json!("fd00::1:2");
    setup["mtu_bytes"] = serde_json::json!(1500);
    assert!(read(&setup).unwrap_err().contains("all must have addresses of one family"));
    setup["hosts"][0]["address"] = serde_json::json!("fd00::1:1");
    assert!(read(&setup).unwrap_err().contains("delayed_ack is given, but hosts with addresses of IPv6"));
    setup["hosts"][0]["delayed_ack"] = serde_json::json!("off");
    let good = read(&setup).unwrap();
    assert_eq!((good.is_ipv6(), good.ip_header_bytes(), good.hosts[1].short_address()), (true, 40, 0x0001_0002));
    for (pointer, value, said) in [
        ("/mtu_bytes", serde_json::json!(1279), "it must be from 1280 to 1500"),
        ("/source_routing", serde_json::json!(true), "source_routing is given"),
        ("/links/1/arp", serde_json::json!(true), "links.arp is given"),
    ] {
        let mut wrong = setup.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(read(&wrong).unwrap_err().contains(said), "{pointer}");
    }
}

#[test]
fn names_the_field_the_value_and_the_rule() {
    for (pointer, value, expected) in [
        ("/version", serde_json::json!(7), "version is 7"),
        ("/mtu_bytes", serde_json::json!(1501), "mtu_bytes is 1501, but it must be from 256 to 1500"),
        ("/hosts/0/delayed_ack", serde_json::json!("yes"), "unknown variant `yes`"),
        ("/hosts/0/pacing", serde_json::json!("htb"), "unknown variant `htb`"),
        ("/modules/0/name", serde_json::json!("../x"), "modules[0].name is ../x, but it must be a module's name"),
        ("/links/0/directions", serde_json::json!([{"probe_bytes": 1}, {}]), "only leolink has queues, tables"),
        ("/links/1/discipline", serde_json::json!("netem"), "links[1].directions[0] is of a Gsl"),
        ("/links/1/limit_pkts", serde_json::json!(65_537), "directions[0].in_order is false, but limit_pkts must be"),
        ("/links/1/directions/0/queue/kind", serde_json::json!("fifo"), "parameters is target_ns, but fifo has []"),
        ("/links/1/directions/0/queue/kind", serde_json::json!("sfq"), "unknown variant `sfq`"),
        ("/links/1/directions/0/queue/parameters", serde_json::json!({"rtt_ns": 1}), "is rtt_ns, but fq_codel has"),
        ("/flows/0/flood", serde_json::json!(true), "flood = false: only pings have it"),
        ("/hosts/0/node", serde_json::json!(1), "hosts[0].node is 1, but it must be a node of kind host"),
        ("/links/0/b", serde_json::json!(9), "links[0] is 0 - 9"),
        ("/flows/0/stop_ns", serde_json::json!(11), "flows[0] is from 0 to 11 ns"),
        ("/flows/0/kind", serde_json::json!("ping"), "it needs interval_ns"),
        ("/flows/0/packets", serde_json::json!(5), "it needs neither packets nor packets_per_s"),
        ("/flows/0/replies", serde_json::json!(false), "only pings have them"),
        ("/links/0/discipline", serde_json::json!("htb"), "unknown variant `htb`"),
        ("/ends", serde_json::json!("size"), "unknown variant `size`"),
        ("/linger_ns", serde_json::json!(-1), "linger_ns is -1, but it must not be negative"),
        ("/jitter_tables/0/multiplier", serde_json::json!(0.0), "jitter_tables[0].multiplier is 0"),
        ("/jitter_tables/0/values", serde_json::json!(vec![0; 16385]), "16385 values long, but netem takes 16384"),
        ("/jitter_tables/0/values", serde_json::json!([32768]), "invalid value"),
        ("/observe/sockets_ns", serde_json::json!(0), "observe.sockets_ns is 0, but it must be above 0"),
        ("/observe/reordering_threshold_pkts", serde_json::json!(0), "reordering_threshold_pkts is 0"),
        ("/observe/reordering_window_ns", serde_json::json!(0), "reordering_window_ns is 0"),
        ("/observe/around_changes_ns", serde_json::json!([0, -1]), "around_changes_ns[1] is -1"),
        ("/observe/windows_ns", serde_json::json!([[5, 1]]), "observe.windows_ns"),
    ] {
        let mut broken = example();
        *broken.pointer_mut(pointer).unwrap() = value;
        let message = read(&broken).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_subflow_has_one_end_of_its_connection_and_a_host_that_joins_at_the_other() {
    let mut setup = example();
    let mut third = setup["hosts"][0].clone();
    third["joins"] = serde_json::json!(0);
    third["address"] = serde_json::json!("10.1.0.3");
    setup["hosts"].as_array_mut().unwrap().push(third);
    setup["flows"][0]["is_mptcp"] = serde_json::json!(true);
    let (source, destination) = (setup["flows"][0]["source"].clone(), setup["flows"][0]["destination"].clone());
    assert_eq!((&source, &destination), (&serde_json::json!(0), &serde_json::json!(1)));
    let mut second = setup["flows"][0].clone();
    second["source"] = serde_json::json!(2);
    second["subflow_of"] = serde_json::json!(0);
    setup["flows"].as_array_mut().unwrap().push(second);
    let good = read(&setup).unwrap();
    assert_eq!((good.has_mptcp(), good.subflows_of(0).collect::<Vec<_>>()), (true, vec![1]));
    assert_eq!(good.home_of(2), good.hosts[0].node);
    for (pointer, value, said) in [
        ("/hosts/2/joins", serde_json::json!(2), "it must be another host, which joins none"),
        ("/hosts/2/joins", serde_json::json!(9), "it must be another host, which joins none"),
        ("/hosts/2/joins", serde_json::json!(1), "one of its ends must be that of the flow"),
        ("/flows/1/source", serde_json::json!(0), "one of its ends must be that of the flow"),
        ("/flows/1/subflow_of", serde_json::json!(1), "a flow of Multipath TCP that is no subflow"),
        ("/flows/1/is_mptcp", serde_json::json!(false), "a flow of Multipath TCP that is no subflow"),
        ("/flows/0/is_mptcp", serde_json::json!(false), "a flow of Multipath TCP that is no subflow"),
        ("/source_routing", serde_json::json!(true), "packets without the tag of their path"),
    ] {
        let mut wrong = setup.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(read(&wrong).unwrap_err().contains(said), "{pointer}: {}", read(&wrong).unwrap_err());
    }
}

#[test]
fn a_probe_stream_has_one_pace() {
    let probe = |kind: &str, rate_bps: Option<u64>, interval_ns: Option<i64>, packets_per_s: Option<f64>| {
        let mut setup = example();
        for (key, value) in [
            ("kind", serde_json::json!(kind)),
            ("congestion_control", serde_json::json!(null)),
            ("rate_bps", serde_json::json!(rate_bps)),
            ("interval_ns", serde_json::json!(interval_ns)),
            ("packets_per_s", serde_json::json!(packets_per_s)),
            ("packets", serde_json::json!(65535)),
            ("payload_bytes", serde_json::json!(1087)),
        ] {
            setup["flows"][0][key] = value;
        }
        read(&setup)
    };
    assert_eq!(probe("ping", None, None, Some(8235.0)).unwrap().flows[0].packets_per_s, Some(8235.0));
    assert!(probe("udp", None, None, Some(0.5)).is_ok());
    let mut long = example();
    long["flows"][0]["payload_bytes"] = serde_json::json!(1088);
    long["flows"][0]["kind"] = serde_json::json!("udp");
    long["flows"][0]["rate_bps"] = serde_json::json!(1);
    assert!(read(&long).unwrap_err().contains("a packet of 1115 bytes holds 1087"));
    for (kind, rate_bps, interval_ns, packets_per_s) in [
        ("ping", None, None, None),
        ("ping", None, None, Some(0.0)),
        ("ping", None, Some(1), Some(1.0)),
        ("udp", Some(1), None, Some(1.0)),
        ("udp", Some(0), None, None),
    ] {
        let message = probe(kind, rate_bps, interval_ns, packets_per_s).unwrap_err();
        assert!(message.contains("packets_per_s above 0, one of them"), "{message}");
    }
}

#[test]
fn pings_to_one_host_agree_about_replies() {
    let mut setup = example();
    let mut ping = setup["flows"][0].clone();
    ping["kind"] = serde_json::json!("ping");
    ping["interval_ns"] = serde_json::json!(1);
    ping["payload_bytes"] = serde_json::json!(56);
    let mut silent = ping.clone();
    silent["replies"] = serde_json::json!(false);
    setup["flows"] = serde_json::json!([ping, silent]);
    assert!(read(&setup).unwrap_err().contains("flows[0].replies is true"));
    setup["flows"][1]["source"] = serde_json::json!(1);
    setup["flows"][1]["destination"] = serde_json::json!(0);
    assert!(!read(&setup).unwrap().flows[1].replies);
}

#[test]
fn refuses_what_it_does_not_know() {
    let mut broken = example();
    broken["links"][0]["color"] = serde_json::json!("red");
    assert!(read(&broken).unwrap_err().contains("color"));
}

#[test]
fn a_flood_has_replies_and_perhaps_an_interval() {
    let flood = |interval_ns: Option<i64>, packets_per_s: Option<f64>, replies: bool| {
        let mut setup = example();
        for (key, value) in [
            ("kind", serde_json::json!("ping")),
            ("flood", serde_json::json!(true)),
            ("interval_ns", serde_json::json!(interval_ns)),
            ("packets_per_s", serde_json::json!(packets_per_s)),
            ("replies", serde_json::json!(replies)),
            ("payload_bytes", serde_json::json!(56)),
        ] {
            setup["flows"][0][key] = value;
        }
        read(&setup)
    };
    assert!(flood(None, None, true).unwrap().flows[0].flood);
    assert!(flood(Some(10_000_000), None, true).is_ok());
    assert!(flood(Some(0), None, true).unwrap_err().contains("interval_ns above 0, or none"));
    assert!(flood(None, Some(5.0), true).unwrap_err().contains("it is a flood"));
    assert!(flood(None, None, false).unwrap_err().contains("it is a flood"));
}

#[test]
fn cures_need_links_whose_queues_can_be_read_back() {
    let mut setup = example();
    assert!(!read(&setup).unwrap().cures.any());
    setup["cures"] = serde_json::json!({"move_queue": "lost", "hold": {"buffer_bytes": 5000, "full": "send"}});
    assert!(read(&setup).unwrap_err().contains("links[1] is no leolink with a FIFO and without ARP"));
    setup["links"][1]["directions"] = serde_json::json!([{}, {}]);
    let hold = Some(Hold { buffer_bytes: 5000, full: HoldFull::Send });
    assert_eq!(read(&setup).unwrap().cures, Cures { move_queue: Some(MoveQueue::Lost), hold, ..Cures::default() });
    setup["source_routing"] = serde_json::json!(true);
    assert!(read(&setup).unwrap_err().contains("packets keep the path they left with"));
    let mut other = setup.clone();
    other["cures"] = serde_json::json!({"resequence": {"by": "flow", "kind": "basic", "delay_ns": 50_000_000}});
    let resequence = Some(Resequence { by: Numbering::Flow, kind: Ordering::Basic, delay_ns: 50_000_000 });
    assert_eq!(read(&other).unwrap().cures, Cures { resequence, ..Cures::default() });
    other["cures"]["resequence"]["kind"] = serde_json::json!("advanced");
    assert!(read(&other).unwrap_err().contains("packets keep the path they left with"));
    other["source_routing"] = serde_json::json!(false);
    other["cures"] = serde_json::json!({"notify": {"delay_ns": -5, "loss_ratio": 0.5, "false": [[7, 0, 9]]}});
    assert!(read(&other).unwrap_err().contains("cures.notify.false[0]"));
    other["cures"]["notify"]["false"] = serde_json::json!([[7, 0, 1]]);
    let notify = Notify { delay_ns: -5, loss_ratio: 0.5, r#false: vec![(7, 0, 1)] };
    assert_eq!(read(&other).unwrap().cures, Cures { notify: Some(notify), ..Cures::default() });
    setup["cures"]["hold"]["full"] = serde_json::json!("wait");
    assert!(read(&setup).unwrap_err().contains("unknown variant `wait`"));
}
