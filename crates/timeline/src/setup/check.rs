// SPDX-License-Identifier: Apache-2.0
//! Checks a setup for invalid or contradictory values.

use super::{
    DelayedAck, Direction, Discipline, Flow, FlowKind, JitterTable, Link, LinkKind, NodeKind, Observe, Program,
    QueueKind, Setup, SetupError, JITTER_VALUES_MAX, MTU_LEAST_BYTES, MTU_LEAST_BYTES_IPV6, MTU_MOST_BYTES,
    OVERTAKING_LIMIT_PKTS, VERSION,
};

type Checked = Result<(), SetupError>;

fn rule(ok: bool, what: impl Into<String>, value: impl ToString, rule: impl Into<String>) -> Checked {
    if ok {
        Ok(())
    } else {
        Err(SetupError::Rule { what: what.into(), value: value.to_string(), rule: rule.into() })
    }
}

fn positive(what: &str, value: i64) -> Checked {
    rule(value > 0, what, value, "it must be above 0")
}

fn not_negative(what: &str, value: i64) -> Checked {
    rule(value >= 0, what, value, "it must not be negative")
}

impl Setup {
    pub(super) fn check(&self) -> Checked {
        let version = format!("this agent reads version {VERSION}; rebuild it with `make agent`");
        rule(self.version == VERSION, "version", self.version, version)?;
        positive("duration_ns", self.duration_ns)?;
        observe(&self.observe)?;
        not_negative("drain_ns", self.drain_ns)?;
        not_negative("linger_ns", self.linger_ns)?;
        let least_bytes = if self.is_ipv6() { MTU_LEAST_BYTES_IPV6 } else { MTU_LEAST_BYTES };
        rule(
            (least_bytes..=MTU_MOST_BYTES).contains(&self.mtu_bytes),
            "mtu_bytes",
            self.mtu_bytes,
            format!("it must be from {least_bytes} to {MTU_MOST_BYTES}"),
        )?;
        for (i, host) in self.hosts.iter().enumerate() {
            let is_host = self.nodes.get(host.node).is_some_and(|n| n.kind == NodeKind::Host);
            rule(is_host, format!("hosts[{i}].node"), host.node, "it must be a node of kind host")?;
        }
        for (i, host) in self.hosts.iter().enumerate() {
            let Some(other) = host.joins else { continue };
            let is_alone = other != i && self.hosts.get(other).is_some_and(|host| host.joins.is_none());
            rule(is_alone, format!("hosts[{i}].joins"), other, "it must be another host, which joins none")?;
        }
        self.ipv6()?;
        self.links.iter().enumerate().try_for_each(|(i, each)| link(i, each, self.nodes.len()))?;
        self.cures()?;
        self.jitter_tables.iter().enumerate().try_for_each(|(i, table)| jitter_table(i, table))?;
        for (i, module) in self.modules.iter().enumerate() {
            let is_name = |name: &str| !name.is_empty() && !name.contains('/') && !name.starts_with('.');
            rule(is_name(&module.name), format!("modules[{i}].name"), &module.name, "it must be a module's name")?;
            for name in module.parameters.keys() {
                rule(is_name(name), format!("modules[{i}].parameters"), name, "it must be a parameter's name")?;
            }
        }
        if let Some(shell) = &self.shell {
            let hosts = self.hosts.len();
            rule(shell.at < hosts, "shell.at", shell.at, format!("it must be one of the {hosts} hosts"))?;
            rule(!shell.command.is_empty(), "shell.command", "empty", "it must name a program")?;
            rule(shell.storage_bytes > 0, "shell.storage_bytes", 0, "it must be above 0")?;
        }
        if let Some(live) = &self.live {
            let hosts = self.hosts.len();
            for (what, host) in [("live.from", live.from), ("live.to", live.to)] {
                rule(host < hosts, what, host, format!("it must be one of the {hosts} hosts"))?;
            }
            rule(live.from != live.to, "live.to", live.to, "it must be another host than live.from")?;
            positive("live.step_ns", live.step_ns)?;
            rule(live.window_bytes > 0, "live.window_bytes", 0, "it must be above 0")?;
        }
        (0..self.flows.len()).try_for_each(|i| self.flow(i))
    }

    fn ipv6(&self) -> Checked {
        if !self.is_ipv6() {
            return Ok(());
        }
        let mixed = self.hosts.iter().position(|host| host.address.is_ipv4());
        rule(mixed.is_none(), "hosts", "of IPv4 and of IPv6", "all must have addresses of one family")?;
        // IPv6 is refused with source routing, because path tags are TOS values of IPv4 routes. It is also refused with
        // cures, resolved neighbours and live connections, because these understand only IPv4 headers
        for (what, is_given) in [
            ("source_routing", self.source_routing),
            ("cures", self.cures.any()),
            ("links.arp", self.links.iter().any(|link| link.arp)),
            ("live", self.live.is_some()),
            ("delayed_ack", self.hosts.iter().any(|host| host.delayed_ack == DelayedAck::On)),
        ] {
            rule(!is_given, what, "given", "hosts with addresses of IPv6 cannot have it")?;
        }
        Ok(())
    }

    fn cures(&self) -> Checked {
        if !self.cures.any() {
            return Ok(());
        }
        let is_fifo = |link: &Link| {
            let own = |d: &Direction| d.is_plain() || d.queue.as_ref().is_some_and(|q| q.kind == QueueKind::Fifo);
            !link.is_modelled() || (link.discipline == Some(Discipline::Leolink) && link.directions.iter().all(own))
        };
        let odd = self.links.iter().position(|link| link.arp || !is_fifo(link));
        rule(
            odd.is_none(),
            "cures",
            format!("given, and links[{}] is no leolink with a FIFO and without ARP", odd.unwrap_or_default()),
            "queues of other links cannot be moved or held back",
        )?;
        rule(
            !self.source_routing || !self.cures.at_switches(),
            "cures",
            "given",
            "with source_routing packets keep the path they left with",
        )?;
        let Some(notify) = &self.cures.notify else { return Ok(()) };
        let loss = notify.loss_ratio;
        rule((0.0..=1.0).contains(&loss), "cures.notify.loss_ratio", loss, "it must be from 0 to 1")?;
        let hosts = self.hosts.len();
        for (i, &(t_ns, told, destination)) in notify.r#false.iter().enumerate() {
            rule(
                t_ns >= 0 && told < hosts && destination < hosts && told != destination,
                format!("cures.notify.false[{i}]"),
                format!("({t_ns}, {told}, {destination})"),
                format!("it must be an instant from 0 on and two of the {hosts} hosts"),
            )?;
        }
        Ok(())
    }

    fn flow(&self, i: usize) -> Checked {
        let (flow, hosts) = (&self.flows[i], self.hosts.len());
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
        if let Some(lacks) = lacks(flow) {
            rule(false, format!("flows[{i}]"), format!("{:?}", flow.kind), format!("it needs {lacks}"))?;
        }
        if let Some(program) = &flow.program {
            self.program(i, flow, program)?;
        }
        self.subflow(i, flow)?;
        let longest_bytes = self.mtu_bytes - self.ip_header_bytes() - PROBE_HEADER_BYTES;
        rule(
            flow.kind == FlowKind::Tcp || flow.payload_bytes.is_none_or(|n| n <= longest_bytes),
            format!("flows[{i}].payload_bytes"),
            format!("{:?}", flow.payload_bytes),
            format!("a packet of {} bytes holds {longest_bytes}", self.mtu_bytes),
        )?;
        let pings = |f: &&Flow| f.kind == FlowKind::Ping && f.destination == flow.destination;
        rule(
            flow.kind != FlowKind::Ping || self.flows.iter().filter(pings).all(|f| f.replies == flow.replies),
            format!("flows[{i}].replies"),
            flow.replies,
            "another ping has it otherwise, and the destination answers all or none",
        )
    }

    fn subflow(&self, i: usize, flow: &Flow) -> Checked {
        let what = |name: &str| format!("flows[{i}].{name}");
        rule(
            !flow.is_mptcp || (flow.kind == FlowKind::Tcp && !self.source_routing),
            what("is_mptcp"),
            "true",
            "only tcp has it, and packets without the tag of their path",
        )?;
        let Some(number) = flow.subflow_of else { return Ok(()) };
        let whole = self.flows.get(number).filter(|whole| whole.is_mptcp && whole.subflow_of.is_none());
        let rule_of_whole = "it must be a flow of Multipath TCP that is no subflow";
        let Some(whole) = whole.filter(|_| flow.is_mptcp) else {
            return rule(false, what("subflow_of"), number, rule_of_whole);
        };
        let joined = |mine: usize, other: usize| mine == other || self.hosts[mine].joins == Some(other);
        rule(
            joined(flow.source, whole.source)
                && joined(flow.destination, whole.destination)
                && (flow.source == whole.source) != (flow.destination == whole.destination),
            what("subflow_of"),
            number,
            "one of its ends must be that of the flow, and the other one a host that joins the flow's",
        )
    }

    fn program(&self, i: usize, flow: &Flow, program: &Program) -> Checked {
        let what = |name: &str| format!("flows[{i}].program.{name}");
        rule(
            [flow.source, flow.destination].contains(&program.client_at),
            what("client_at"),
            program.client_at,
            "it must be an end of the flow",
        )?;
        rule(
            (flow.start_ns..flow.stop_ns).contains(&program.client_start_ns),
            what("client_start_ns"),
            program.client_start_ns,
            format!("it must be from {} on and before {} (start and stop)", flow.start_ns, flow.stop_ns),
        )?;
        let commands = [Some(&program.client), program.server.as_ref()];
        rule(commands.iter().flatten().all(|c| !c.is_empty()), what("client"), "empty", "it must name a program")?;
        rule(program.storage_bytes > 0, what("storage_bytes"), 0, "it must be above 0")
    }
}

fn observe(o: &Observe) -> Checked {
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
    let windows = &o.windows_ns;
    let sorted = windows.iter().all(|w| w.0 < w.1) && windows.windows(2).all(|w| w[0].1 <= w[1].0);
    rule(sorted, "observe.windows_ns", "not so", "it must be sorted, disjoint, none empty")
}

fn link(i: usize, link: &Link, nodes: usize) -> Checked {
    rule(
        link.a < nodes && link.b < nodes && link.a != link.b,
        format!("links[{i}]"),
        format!("{} - {}", link.a, link.b),
        format!("its ends must be two of the {nodes} nodes"),
    )?;
    let has_one = link.kind == LinkKind::Wire || link.discipline.is_some();
    rule(has_one, format!("links[{i}].discipline"), "null", "only wires have none")?;
    rule(
        !matches!(link.discipline, Some(Discipline::Netem | Discipline::Jitter)) || link.limit_bytes.is_none(),
        format!("links[{i}].limit_bytes"),
        format!("{:?}", link.limit_bytes),
        "netem counts packets only",
    )?;
    let can_resolve = !link.arp || link.kind != LinkKind::Wire;
    rule(can_resolve, format!("links[{i}].arp"), "true", "wires have no neighbours to resolve")?;
    (0..2).try_for_each(|side| direction(&format!("links[{i}].directions[{side}]"), link, side))
}

fn direction(what: &str, link: &Link, side: usize) -> Checked {
    let d = &link.directions[side];
    rule(
        d.is_plain() || (link.discipline == Some(Discipline::Leolink) && link.is_modelled()),
        what,
        format!("of a {:?} of discipline {:?}", link.kind, link.discipline),
        "only leolink has queues, tables and packets that overtake",
    )?;
    rule(
        d.in_order || link.limit_pkts.is_some_and(|n| (1..=OVERTAKING_LIMIT_PKTS).contains(&n)),
        format!("{what}.in_order"),
        "false",
        format!("limit_pkts must be from 1 to {OVERTAKING_LIMIT_PKTS} then"),
    )?;
    let Some(queue) = &d.queue else { return Ok(()) };
    let (known, what) = (queue.kind.parameters(), format!("{what}.queue"));
    for name in queue.parameters.keys() {
        let rest = format!("{} has {known:?}", queue.kind.name());
        rule(known.contains(&name.as_str()), format!("{what}.parameters"), name, rest)?;
    }
    let marks = !queue.ecn || queue.kind != QueueKind::Fifo;
    rule(marks, format!("{what}.ecn"), "true", "a fifo marks nothing")
}

fn jitter_table(i: usize, table: &JitterTable) -> Checked {
    rule(
        table.multiplier.is_finite() && table.multiplier > 0.0,
        format!("jitter_tables[{i}].multiplier"),
        table.multiplier,
        "it must be above 0",
    )?;
    rule(
        table.values.len() <= JITTER_VALUES_MAX,
        format!("jitter_tables[{i}].values"),
        format!("{} values long", table.values.len()),
        format!("netem takes {JITTER_VALUES_MAX} at most"),
    )
}

/// The size of the header of ICMP or UDP.
const PROBE_HEADER_BYTES: u32 = 8;

/// Returns the name of a required field that the flow lacks. None means that no field is missing.
fn lacks(flow: &Flow) -> Option<&'static str> {
    let pace = flow.packets_per_s.is_some_and(|n| n.is_finite() && n > 0.0);
    let either = |other: bool| if flow.packets_per_s.is_some() { pace && !other } else { other };
    match flow.kind {
        FlowKind::Program if flow.program.is_none() => Some("program"),
        FlowKind::Tcp | FlowKind::Ping | FlowKind::Udp if flow.program.is_some() => Some("no program"),
        FlowKind::Tcp if flow.congestion_control.is_none() => Some("congestion_control"),
        FlowKind::Tcp if flow.packets.is_some() || flow.packets_per_s.is_some() => {
            Some("neither packets nor packets_per_s")
        }
        FlowKind::Ping if flow.flood && (flow.packets_per_s.is_some() || !flow.replies) => {
            Some("replies and no packets_per_s: it is a flood")
        }
        FlowKind::Ping if flow.flood && flow.interval_ns.is_some_and(|n| n <= 0) => {
            Some("interval_ns above 0, or none")
        }
        FlowKind::Ping if !flow.flood && !either(flow.interval_ns.is_some_and(|n| n > 0)) => {
            Some("interval_ns above 0 or packets_per_s above 0, one of them")
        }
        FlowKind::Ping if flow.payload_bytes.is_none() => Some("payload_bytes"),
        FlowKind::Udp if !either(flow.rate_bps.is_some_and(|n| n > 0)) => {
            Some("rate_bps above 0 or packets_per_s above 0, one of them")
        }
        // the first 8 bytes of the payload contain the packet's number
        FlowKind::Udp if flow.payload_bytes.is_none_or(|n| n < 8) => Some("payload_bytes from 8 on"),
        _ if flow.packets == Some(0) => Some("packets above 0"),
        FlowKind::Tcp | FlowKind::Udp | FlowKind::Program if !flow.replies => {
            Some("replies = true: only pings have them")
        }
        FlowKind::Tcp | FlowKind::Udp | FlowKind::Program if flow.flood => Some("flood = false: only pings have it"),
        _ => None,
    }
}
