// SPDX-License-Identifier: Apache-2.0
//! `in/setup.json`: the network before it moves, the workload and what is to be observed.

use serde::Deserialize;

/// The version of `setup.json` and `events.bin` that this crate reads.
pub const VERSION: u32 = 2;

/// The whole of `setup.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Must be [`VERSION`].
    pub version: u32,
    /// Length of the run.
    pub duration_ns: i64,
    /// Root of all random streams; each link direction draws from its own.
    pub seed: u64,
    /// How long packets in flight at the end may still arrive.
    pub drain_ns: i64,
    /// What ends the run.
    pub ends: Ends,
    /// `ends` = `flows`: how long the run goes on after the last flow has come to its end.
    pub linger_ns: i64,
    /// Everything that has a network namespace of its own.
    pub nodes: Vec<Node>,
    /// The nodes that run flows.
    pub hosts: Vec<Host>,
    /// Every link that is ever up.
    pub links: Vec<Link>,
    /// Shapes of random delays, which events name by index.
    pub jitter_tables: Vec<JitterTable>,
    /// The workload.
    pub flows: Vec<Flow>,
    /// Packets keep the path they left with: routes carry the path's tag in the TOS field.
    pub source_routing: bool,
    /// Kernel parameters of the whole guest, by dotted name.
    pub sysctl: std::collections::BTreeMap<String, String>,
    /// What is recorded.
    pub observe: Observe,
}

/// What ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// `duration_ns`.
    Duration,
    /// The last flow with a size or a number of packets, and then `linger_ns`; at the latest `duration_ns`.
    Flows,
}

/// The shape of a random delay, as netem draws it (`tabledist` in `net/sched/sch_netem.c`): mean + jitter x value /
/// [`JITTER_SCALE`], each value equally likely. It has mean 0 and standard deviation 1 / `multiplier`, so netem's jitter
/// is the standard deviation times the multiplier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// `uniform`, `normal`, `exponential` or `table`.
    pub name: String,
    /// Of the standard deviation, to give netem's jitter.
    pub multiplier: f64,
    /// At most [`JITTER_VALUES_MAX`]; none = netem's own uniform distribution, from -jitter to +jitter.
    pub values: Vec<i16>,
}

/// `NETEM_DIST_SCALE`: the value that stands for one jitter.
pub const JITTER_SCALE: i64 = 8192;
/// `NETEM_DIST_MAX`.
pub const JITTER_VALUES_MAX: usize = 16384;

/// A network namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// As in the timeline.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A router in orbit.
    Satellite,
    /// A router on the ground.
    Ground,
    /// An end of flows.
    Host,
    /// A router of a chain.
    Router,
}

/// An end of flows.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Index into `nodes`.
    pub node: usize,
    /// Its only address, a /32.
    pub address: std::net::Ipv4Addr,
    /// Kernel parameters of its namespace, by dotted name.
    pub sysctl: std::collections::BTreeMap<String, String>,
}

/// A pair of directions; `2 * index` is a>b and `2 * index + 1` is b>a.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Index into `nodes`.
    pub a: usize,
    /// Index into `nodes`.
    pub b: usize,
    /// What it is.
    pub kind: LinkKind,
    /// What models it; wires need none.
    pub discipline: Option<Discipline>,
    /// What becomes of packets that it holds when it goes down; what counts is what `events.bin` says each time.
    pub on_down: Option<OnDown>,
    /// Packets that may wait; none of the two limits = unlimited.
    pub limit_pkts: Option<u32>,
    /// Bytes that may wait, counted with the overhead.
    pub limit_bytes: Option<u32>,
    /// On top of the Ethernet frame (IP packet + 14).
    pub overhead_bytes: i32,
    /// Neighbours are resolved by ARP each time the link comes up.
    pub arp: bool,
    /// netem and jitter only: what its limit counts.
    #[serde(default)]
    pub queue_counts: QueueCounts,
}

impl Link {
    /// Queueing disciplines model its directions; a wire has none, unless it is a jittered one.
    pub fn is_modelled(&self) -> bool {
        self.kind != LinkKind::Wire || self.discipline == Some(Discipline::Jitter)
    }
}

/// What a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkKind {
    /// Between satellites.
    Isl,
    /// Between satellite and ground.
    Gsl,
    /// Between a host and its station: no delay, no rate, no queue, unless its discipline is `jitter`.
    Wire,
}

/// The queueing discipline that models a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Discipline {
    /// Ours (`guest/qdisc/leolink.c`).
    Leolink,
    /// The kernel's.
    Netem,
    /// netem (delay, jitter, loss, limit, no rate) below tbf (rate): packets overtake each other, then are serialised.
    Jitter,
}

/// What becomes of packets that a link holds when it goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDown {
    /// They arrive, and the link goes on taking what is still routed to it.
    Drain,
    /// They are lost, and so is what is offered while it is down.
    Drop,
}

/// What the limit of a netem link counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueCounts {
    /// Packets that wait for the serialiser: netem's own limit is raised by what the delay line holds.
    #[default]
    Waiting,
    /// netem's own rule: the delay line counts too.
    WaitingAndFlying,
}

/// One flow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What it is.
    pub kind: FlowKind,
    /// Index into `hosts`.
    pub source: usize,
    /// Index into `hosts`.
    pub destination: usize,
    /// tcp only.
    pub congestion_control: Option<String>,
    /// When it connects or sends first.
    pub start_ns: i64,
    /// When it is cut off.
    pub stop_ns: i64,
    /// tcp: none = unlimited.
    pub size_bytes: Option<u64>,
    /// tcp: what the application offers (none = as much as TCP takes), payload; udp: frames (IP packet + 14).
    pub rate_bps: Option<u64>,
    /// ping only; none = `packets_per_s`.
    pub interval_ns: Option<i64>,
    /// ping and udp.
    pub payload_bytes: Option<u32>,
    /// ping and udp: how many; none = until `stop_ns`.
    pub packets: Option<u64>,
    /// ping and udp, in place of `interval_ns` and `rate_bps`: packet k is due at start + floor(k 1e9 / packets_per_s).
    pub packets_per_s: Option<f64>,
    /// ping: the destination answers (false: `net.ipv4.icmp_echo_ignore_all` there).
    pub replies: bool,
}

/// What a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// Bulk transfer.
    Tcp,
    /// ICMP echo.
    Ping,
    /// One-way stream at a constant rate.
    Udp,
}

/// What is recorded.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// Between two samples of TCP_INFO; none = no sample.
    pub sockets_ns: Option<i64>,
    /// Between two readings of the kernel's counters; none = at the end alone.
    pub counters_ns: Option<i64>,
    /// Between two readings of the queues; none = no reading.
    pub queues_ns: Option<i64>,
    /// Both ends of each flow are captured and matched; false: no packets, bins, drops of flows, echoes, reordering.
    pub truth: bool,
    /// D_T and B_T of RFC 5236.
    pub reordering_threshold_pkts: u32,
    /// Width of the windows in which reordering is measured; none = no windows.
    pub reordering_window_ns: Option<i64>,
    /// How long before and after a change of its path a flow's reordering is measured.
    pub around_changes_ns: (i64, i64),
    /// Which packets are stored.
    pub packets: Packets,
    /// For `changes`: when, by sending time; sorted, disjoint, half open.
    pub windows_ns: Vec<(i64, i64)>,
    /// Which ends also leave a pcapng of the first flow.
    pub pcap: Pcap,
}

/// Which packets are stored. Late, lost and retransmitted ones always are, unless `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packets {
    /// No packet; bins and totals are made all the same.
    None,
    /// Those inside the windows.
    Changes,
    /// All.
    All,
}

/// Which ends leave a pcapng.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pcap {
    /// None.
    None,
    /// The first flow's source.
    Source,
    /// The first flow's destination.
    Destination,
    /// Both.
    Both,
}

/// Why a setup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Not JSON, or not of this shape.
    #[error("setup.json: {0}")]
    Json(#[from] serde_json::Error),
    /// Of this shape, but it does not make sense.
    #[error("setup.json: {what} is {value}, but {rule}")]
    Rule {
        /// Path of the field.
        what: String,
        /// What it holds.
        value: String,
        /// What it must be.
        rule: String,
    },
}

impl Setup {
    /// Reads and checks `setup.json`.
    ///
    /// # Errors
    /// [`SetupError`] names the field, its value and the rule.
    pub fn from_json(text: &[u8]) -> Result<Self, SetupError> {
        let setup: Self = serde_json::from_slice(text)?;
        setup.check()?;
        Ok(setup)
    }

    fn check(&self) -> Result<(), SetupError> {
        let (nodes, hosts) = (self.nodes.len(), self.hosts.len());
        let rule = |ok: bool, what: String, value: String, rule: String| {
            if ok {
                Ok(())
            } else {
                Err(SetupError::Rule { what, value, rule })
            }
        };
        let positive =
            |what: &str, value: i64| rule(value > 0, what.into(), value.to_string(), "it must be above 0".into());
        let not_negative =
            |what: &str, value: i64| rule(value >= 0, what.into(), value.to_string(), "it must not be negative".into());
        rule(
            self.version == VERSION,
            "version".into(),
            self.version.to_string(),
            format!("this agent reads version {VERSION}; rebuild it with `make agent`"),
        )?;
        positive("duration_ns", self.duration_ns)?;
        let o = &self.observe;
        for (what, value) in [
            ("observe.sockets_ns", o.sockets_ns),
            ("observe.counters_ns", o.counters_ns),
            ("observe.queues_ns", o.queues_ns),
            ("observe.reordering_window_ns", o.reordering_window_ns),
        ] {
            value.map_or(Ok(()), |value| positive(what, value))?;
        }
        positive("observe.reordering_threshold_pkts", o.reordering_threshold_pkts.into())?;
        not_negative("observe.around_changes_ns[0]", o.around_changes_ns.0)?;
        not_negative("observe.around_changes_ns[1]", o.around_changes_ns.1)?;
        not_negative("drain_ns", self.drain_ns)?;
        not_negative("linger_ns", self.linger_ns)?;
        for (i, host) in self.hosts.iter().enumerate() {
            let is_host = self.nodes.get(host.node).is_some_and(|n| n.kind == NodeKind::Host);
            rule(is_host, format!("hosts[{i}].node"), host.node.to_string(), "it must be a node of kind host".into())?;
        }
        for (i, link) in self.links.iter().enumerate() {
            rule(
                link.a < nodes && link.b < nodes && link.a != link.b,
                format!("links[{i}]"),
                format!("{} - {}", link.a, link.b),
                format!("its ends must be two of the {nodes} nodes"),
            )?;
            rule(
                link.kind == LinkKind::Wire || link.discipline.is_some(),
                format!("links[{i}].discipline"),
                "null".into(),
                "only wires have none".into(),
            )?;
            rule(
                !matches!(link.discipline, Some(Discipline::Netem | Discipline::Jitter)) || link.limit_bytes.is_none(),
                format!("links[{i}].limit_bytes"),
                format!("{:?}", link.limit_bytes),
                "netem counts packets only".into(),
            )?;
            rule(
                !link.arp || link.kind != LinkKind::Wire,
                format!("links[{i}].arp"),
                "true".into(),
                "wires have no neighbours to resolve".into(),
            )?;
        }
        for (i, table) in self.jitter_tables.iter().enumerate() {
            rule(
                table.multiplier.is_finite() && table.multiplier > 0.0,
                format!("jitter_tables[{i}].multiplier"),
                table.multiplier.to_string(),
                "it must be above 0".into(),
            )?;
            rule(
                table.values.len() <= JITTER_VALUES_MAX,
                format!("jitter_tables[{i}].values"),
                format!("{} values long", table.values.len()),
                format!("netem takes {JITTER_VALUES_MAX} at most"),
            )?;
        }
        for (i, flow) in self.flows.iter().enumerate() {
            rule(
                flow.source < hosts && flow.destination < hosts && flow.source != flow.destination,
                format!("flows[{i}]"),
                format!("{} > {}", flow.source, flow.destination),
                format!("its ends must be two of the {hosts} hosts"),
            )?;
            rule(
                0 <= flow.start_ns && flow.start_ns <= flow.stop_ns && flow.stop_ns <= self.duration_ns,
                format!("flows[{i}]"),
                format!("from {} to {} ns", flow.start_ns, flow.stop_ns),
                format!("0 <= start <= stop <= {} (the duration) must hold", self.duration_ns),
            )?;
            let pace = flow.packets_per_s.is_some_and(|n| n.is_finite() && n > 0.0);
            let either = |other: bool| if flow.packets_per_s.is_some() { pace && !other } else { other };
            let lacks = match flow.kind {
                FlowKind::Tcp if flow.congestion_control.is_none() => Some("congestion_control"),
                FlowKind::Tcp if flow.packets.is_some() || flow.packets_per_s.is_some() => {
                    Some("neither packets nor packets_per_s")
                }
                FlowKind::Ping if !either(flow.interval_ns.is_some_and(|n| n > 0)) => {
                    Some("interval_ns above 0 or packets_per_s above 0, one of them")
                }
                FlowKind::Ping if flow.payload_bytes.is_none_or(|n| n > 1472) => Some("payload_bytes up to 1472"),
                FlowKind::Udp if !either(flow.rate_bps.is_some_and(|n| n > 0)) => {
                    Some("rate_bps above 0 or packets_per_s above 0, one of them")
                }
                // the first 8 bytes carry the packet's number
                FlowKind::Udp if flow.payload_bytes.is_none_or(|n| !(8..=1472).contains(&n)) => {
                    Some("payload_bytes from 8 to 1472")
                }
                _ if flow.packets == Some(0) => Some("packets above 0"),
                FlowKind::Tcp | FlowKind::Udp if !flow.replies => Some("replies = true: only pings have them"),
                _ => None,
            };
            if let Some(lacks) = lacks {
                rule(false, format!("flows[{i}]"), format!("{:?}", flow.kind), format!("it needs {lacks}"))?;
            }
            let pings = |f: &&Flow| f.kind == FlowKind::Ping && f.destination == flow.destination;
            rule(
                flow.kind != FlowKind::Ping || self.flows.iter().filter(pings).all(|f| f.replies == flow.replies),
                format!("flows[{i}].replies"),
                flow.replies.to_string(),
                "another ping has it otherwise, and the destination answers all or none".into(),
            )?;
        }
        let windows = &self.observe.windows_ns;
        let sorted = windows.iter().all(|w| w.0 < w.1) && windows.windows(2).all(|w| w[0].1 <= w[1].0);
        rule(sorted, "observe.windows_ns".into(), "not so".into(), "it must be sorted, disjoint, none empty".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> serde_json::Value {
        serde_json::json!({
            "version": 2, "duration_ns": 10, "seed": 1, "drain_ns": 0, "ends": "flows", "linger_ns": 1,
            "nodes": [{"name": "host:A", "kind": "host"}, {"name": "A", "kind": "ground"}, {"name": "host:B", "kind": "host"}],
            "hosts": [{"node": 0, "address": "10.1.0.1", "sysctl": {}}, {"node": 2, "address": "10.1.0.2", "sysctl": {}}],
            "links": [{"a": 0, "b": 1, "kind": "wire", "discipline": "leolink", "on_down": "drain", "limit_pkts": null,
                       "limit_bytes": null, "overhead_bytes": 0, "arp": false}],
            "flows": [{"kind": "tcp", "source": 0, "destination": 1, "congestion_control": "cubic", "start_ns": 0, "stop_ns": 10,
                       "size_bytes": null, "rate_bps": null, "interval_ns": null, "payload_bytes": null, "packets": null,
                       "packets_per_s": null, "replies": true}],
            "jitter_tables": [{"name": "normal", "multiplier": 2.0, "values": [-4096, 4096]}],
            "source_routing": false, "sysctl": {},
            "observe": {"sockets_ns": 1, "counters_ns": null, "queues_ns": 1, "packets": "changes", "windows_ns": [[0, 5]], "pcap": "none",
                        "truth": true, "reordering_threshold_pkts": 200, "reordering_window_ns": null, "around_changes_ns": [1, 3]}
        })
    }

    fn read(value: &serde_json::Value) -> Result<Setup, String> {
        Setup::from_json(value.to_string().as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn reads_the_agreed_shape() {
        let setup = read(&example()).unwrap();
        assert_eq!(setup.hosts[1].address.octets(), [10, 1, 0, 2]);
        assert_eq!(setup.links[0].queue_counts, QueueCounts::Waiting);
        assert_eq!((setup.ends, setup.linger_ns), (Ends::Flows, 1));
        assert_eq!(setup.jitter_tables[0].values, [-4096, 4096]);
        assert_eq!((setup.observe.sockets_ns, setup.observe.counters_ns), (Some(1), None));
        assert_eq!(setup.observe.around_changes_ns, (1, 3));
    }

    #[test]
    fn names_the_field_the_value_and_the_rule() {
        for (pointer, value, expected) in [
            ("/version", serde_json::json!(7), "version is 7"),
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
                ("payload_bytes", serde_json::json!(1472)),
            ] {
                setup["flows"][0][key] = value;
            }
            read(&setup)
        };
        assert_eq!(probe("ping", None, None, Some(8235.0)).unwrap().flows[0].packets_per_s, Some(8235.0));
        assert!(probe("udp", None, None, Some(0.5)).is_ok());
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
}
