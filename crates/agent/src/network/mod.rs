// SPDX-License-Identifier: Apache-2.0
//! The intended network of the run, and the netlink batches that create this network in the kernel.
//!
//! A node is a network namespace. A link is a veth pair between two namespaces. Both ends of a link have the same MAC
//! address and do not use ARP. A route is `destination dev interface`, and the kernel resolves no neighbour. Links with
//! `arp` have addresses at both ends, and routes through the far end's address. The queueing discipline of a direction
//! is on its sending side. Interfaces stay up. The queueing disciplines of a link that is down refuse packets.
//!
//! The messages for all events of an instant are sent in several rounds. In each round, each namespace gets one batch of
//! messages, by one system call. Three rounds create new links. They handle the first end, then the second end, and then
//! the first end again (message::up_again). The last round contains all other messages.

mod ahead;
pub mod aqm;
pub mod directions;
pub mod interfaces;
pub mod leolink;
pub mod message;
pub mod mptcp;
pub mod netlink;
pub mod netns;
mod notices;
pub mod router_addresses;
mod routing;
mod switches;
mod sysctls;
pub mod tags;
pub mod tc;

use crate::base::error::{Error, Result};
use crate::network::directions::{
    highest_rate_bps, initial_direction, is_modelled, netem_routers, refuse_what_netem_cannot,
};
use crate::network::interfaces::{end_address, interface_name, mac};
use crate::network::message::Interface;
use crate::network::netlink::Batch;
use crate::network::netns::{homes, watched, Namespace};
use crate::network::tags::Tags;
use crate::network::tc::{Direction, Jitter, Say};
use leowarp_timeline::event::Change;
use leowarp_timeline::setup::{Discipline, LinkKind, NodeKind, Pacing, Setup, MTU_MOST_BYTES};
use leowarp_timeline::{Event, Tables};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The number of the routing table with the default route of host 0. The table of host h has the number `FIRST_TABLE` +
/// h. A host has its own table only if it joins another host.
const FIRST_TABLE: u32 = 1000;

/// A new TOS value for the packets from one host to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathChange {
    pub source: usize,
    pub destination: usize,
    pub tos: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct LinkState {
    /// The interface numbers at the link's ends a and b. 0 means that the interface does not exist yet.
    ifindex: [u32; 2],
}

/// The network's state before the changes of an instant. It contains only the parts that changed. If the route of a
/// node to a host changed or was removed, `routes` contains its previous direction. `delays_ns` contains the previous
/// value of each delay that changed.
#[derive(Default)]
struct Before {
    routes: BTreeMap<(usize, usize), usize>,
    delays_ns: BTreeMap<usize, u64>,
}

/// The network of a run.
pub struct Network<'a> {
    setup: &'a Setup,
    tables: &'a Tables,
    /// The run's time 0 on the kernel's monotonic clock. None means that this time is not known yet.
    origin_ns: Option<i64>,
    home: Namespace,
    spaces: Vec<Namespace>,
    watch: OwnedFd,
    /// For each namespace, the next free interface number. The index is the node in `homes`.
    next_ifindex: Vec<u32>,
    /// For each node, the node whose namespace it uses. If a host joins another host, its node uses the namespace of
    /// the other host's node. Every other node uses its own namespace.
    homes: Vec<usize>,
    links: Vec<LinkState>,
    directions: Vec<Direction>,
    /// For each jittered direction, the values that the kernel last received.
    told: Vec<Option<Direction>>,
    /// For each direction, the settings that are sent at the end of this instant. None means that nothing is sent.
    say: Vec<Option<Say>>,
    to_say: Vec<usize>,
    /// For each (node, host), the direction on which the node sends untagged packets to the host.
    routes: BTreeMap<(usize, usize), usize>,
    /// With source routing, the routes of each path. The key is (host, path number), and the value maps a node to the
    /// direction on which it sends. If a path loses its tag, its routes remain here until the path gets a new tag.
    path_routes: BTreeMap<(usize, u32), BTreeMap<usize, usize>>,
    tags: Vec<Tags>,
    making: Vec<Batch>,
    joining: Vec<Batch>,
    waking: Vec<Batch>,
    changing: Vec<Batch>,
    touched: BTreeSet<usize>,
    /// The state before the changes of the current instant. It is stored only if a cure acts at route changes.
    before: Before,
    /// The numbers of end markers and notices so far. Only cures send end markers and notices.
    markers: u32,
    notices: u32,
    host_of_node: Vec<Option<usize>>,
    /// Whether the kernel has IPv6, even if the run uses IPv4.
    has_ipv6: bool,
    /// The nodes without hosts that have at least one netem link.
    netem_routers: BTreeSet<usize>,
    /// The nodes of `netem_routers` that got links at the current instant.
    widened: BTreeSet<usize>,
}

impl<'a> Network<'a> {
    /// Creates an empty namespace for each node.
    pub fn new(setup: &'a Setup, tables: &'a Tables) -> Result<Self> {
        let home = Namespace::current()?;
        let has_ipv6 = sysctls::of_guest(setup)?;
        leolink::set_forwarding(setup.forwarding)?;
        // SAFETY: this is a plain system call; the descriptor is owned afterwards.
        let watch = unsafe {
            OwnedFd::from_raw_fd(crate::base::error::check(libc::epoll_create1(libc::EPOLL_CLOEXEC), "make an epoll")?)
        };
        let mut spaces = Vec::with_capacity(setup.nodes.len());
        for i in 0..setup.nodes.len() {
            let space = netns::of_node(setup, i)?;
            watched(&watch, i, &space)?;
            spaces.push(space);
        }
        for host in &setup.hosts {
            // The joining host's own namespace is removed, with everything in it
            if let Some(other) = host.joins {
                spaces[setup.hosts[other].node].enter()?;
                spaces[host.node] = Namespace::current()?;
                watched(&watch, host.node, &spaces[host.node])?;
            }
        }
        home.enter()?;
        let mut host_of_node = vec![None; setup.nodes.len()];
        for (i, host) in setup.hosts.iter().enumerate() {
            host_of_node[host.node] = Some(i);
        }
        let nodes = setup.nodes.len();
        let mut network = Self {
            setup,
            tables,
            origin_ns: None,
            home,
            spaces,
            watch,
            next_ifindex: vec![2; nodes],
            homes: homes(setup),
            links: vec![LinkState::default(); setup.links.len()],
            directions: (0..2 * setup.links.len()).map(|d| initial_direction(setup, d)).collect(),
            told: vec![None; 2 * setup.links.len()],
            say: vec![None; 2 * setup.links.len()],
            to_say: Vec::new(),
            routes: BTreeMap::new(),
            path_routes: BTreeMap::new(),
            tags: vec![Tags::default(); setup.hosts.len()],
            making: vec![Batch::default(); nodes],
            joining: vec![Batch::default(); nodes],
            waking: vec![Batch::default(); nodes],
            changing: vec![Batch::default(); nodes],
            touched: BTreeSet::new(),
            before: Before::default(),
            markers: 0,
            notices: 0,
            netem_routers: netem_routers(setup, &host_of_node),
            widened: BTreeSet::new(),
            host_of_node,
            has_ipv6,
        };
        for (i, node) in setup.nodes.iter().enumerate() {
            match node.kind {
                NodeKind::Host => message::up(network.changing(i), 1),
                // nothing to do: IPv6 counts packets without a route (sample::no_route_pkts), and a node without an
                // address sends no ICMP answer
                _ if setup.is_ipv6() && setup.shell.is_none() => {}
                // packets without a route are discarded without an ICMP answer, and the guest's counter in_no_route
                // counts them
                _ => message::discard_by_default(network.changing(i), setup.is_ipv6()),
            }
            if setup.shell.is_some() && node.kind != NodeKind::Host {
                router_addresses::set(network.changing(i), i, setup.is_ipv6());
            }
        }
        network.flush(0)?;
        for host in &setup.hosts {
            network.inside(host.node, || host.sysctl.iter().try_for_each(|(n, v)| netns::set_sysctl(n, v)))?;
        }
        Ok(network)
    }

    /// Sets the run's time 0. Existing links get their tables now. Links that are created later get their tables at
    /// that time.
    pub fn begin(&mut self, origin_ns: i64) -> Result<()> {
        self.origin_ns = Some(origin_ns);
        let made: Vec<usize> = (0..self.directions.len()).filter(|&d| self.sending_side(d).is_some()).collect();
        made.into_iter().try_for_each(|direction| self.send_tables(direction, 0))
    }

    /// Runs `what` while the calling thread is in the node's namespace.
    pub fn inside<T>(&self, node: usize, what: impl FnOnce() -> Result<T>) -> Result<T> {
        self.spaces[node].enter()?;
        let result = what();
        self.home.enter()?;
        result
    }

    /// Returns the nodes without a host.
    pub fn routers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.spaces.len()).filter(|&node| self.setup.hosts.iter().all(|host| host.node != node))
    }

    /// Returns the route netlink socket of a node.
    pub fn route_socket(&self, node: usize) -> &crate::network::netlink::Socket {
        &self.spaces[node].route
    }

    /// Returns the interface number of a host's wire.
    pub fn wire_of(&self, host: usize) -> Result<u32> {
        let node = self.setup.hosts[host].node;
        for (link, state) in self.setup.links.iter().zip(&self.links) {
            if link.kind == LinkKind::Wire && (link.a == node || link.b == node) && state.ifindex[0] != 0 {
                return Ok(state.ifindex[usize::from(link.b == node)]);
            }
        }
        Err(Error::Input(format!("host {host} has no wire that is up at the start")))
    }

    /// Returns the namespace and interface number of a direction's sending side. None means that the link does not
    /// exist yet.
    pub fn sending_side(&self, direction: usize) -> Option<(usize, u32)> {
        let (link, side) = (&self.setup.links[direction / 2], direction % 2);
        let ifindex = self.links[direction / 2].ifindex[side];
        (ifindex != 0).then_some((if side == 0 { link.a } else { link.b }, ifindex))
    }

    /// Applies all events of one instant. The clock is not read in between, so all events happen at the same virtual
    /// time.
    pub fn apply(&mut self, events: &[Event]) -> Result<Vec<PathChange>> {
        let mut paths = Vec::new();
        for event in events {
            match event.change {
                Change::Up { link } => self.bring_up(link),
                // a link that goes down refuses new packets. With `lose`, the link also drops the packets that it
                // holds. Without `lose`, these packets still arrive
                Change::Down { link, lose } => {
                    for d in [2 * link, 2 * link + 1] {
                        self.directions[d].down = true;
                        self.mark(d, if lose { Say::Flush } else { Say::Changes });
                    }
                }
                Change::Delay { direction, delay_ns } => {
                    let former_ns = std::mem::replace(&mut self.directions[direction].delay_ns, delay_ns);
                    if self.setup.cures.at_switches() {
                        self.before.delays_ns.entry(direction).or_insert(former_ns);
                    }
                    self.mark(direction, Say::Changes);
                }
                Change::Rate { direction, rate_bps } => {
                    self.directions[direction].rate_bps = rate_bps;
                    self.mark(direction, Say::Changes);
                }
                Change::Loss { direction, ratio } => {
                    self.directions[direction].loss_ratio = ratio;
                    self.mark(direction, Say::Changes);
                }
                Change::Route { node, host, direction, path } => self.route(node, host, direction, path)?,
                Change::Path { source, destination, path, .. } if self.setup.source_routing => {
                    let tos = path.map_or(0, |path| self.tag(destination, path));
                    paths.push(PathChange { source, destination, tos });
                }
                Change::Path { .. } => {}
                Change::Jitter { direction, table, sigma_ns } => {
                    let spread_ns = (sigma_ns as f64 * self.setup.jitter_tables[table].multiplier).round() as u64;
                    self.directions[direction].jitter = Jitter { spread_ns, table };
                    self.mark(direction, Say::Changes);
                }
            }
        }
        self.flush(events.first().map_or(0, |e| e.t_ns))?;
        Ok(paths)
    }

    fn changing(&mut self, node: usize) -> &mut Batch {
        self.touched.insert(node);
        &mut self.changing[node]
    }

    fn mark(&mut self, direction: usize, say: Say) {
        let made = self.links[direction / 2].ifindex[0] != 0;
        if !made || !is_modelled(self.setup, direction) {
            return;
        }
        match &mut self.say[direction] {
            Some(Say::All | Say::Flush) => {}
            Some(already) => *already = say,
            none => {
                *none = Some(say);
                self.to_say.push(direction);
            }
        }
    }

    fn bring_up(&mut self, link: usize) {
        let spec = &self.setup.links[link];
        if self.links[link].ifindex[0] == 0 {
            self.make(link);
            return;
        }
        for d in [2 * link, 2 * link + 1] {
            if self.directions[d].down {
                self.directions[d].down = false;
                self.mark(d, Say::Changes);
            }
        }
        if spec.arp {
            for (side, node) in [spec.a, spec.b].into_iter().enumerate() {
                let ifindex = self.links[link].ifindex[side];
                message::forget_neighbours(self.changing(node), ifindex);
            }
        }
    }

    fn make(&mut self, link: usize) {
        let spec = &self.setup.links[link];
        let ends = [spec.a, spec.b];
        let interfaces = [0, 1].map(|side| {
            let ifindex = self.next_ifindex[self.homes[ends[side]]];
            self.next_ifindex[self.homes[ends[side]]] += 1;
            self.links[link].ifindex[side] = ifindex;
            Interface {
                ifindex,
                name: interface_name(link),
                mac: mac(link, if spec.arp { side } else { 0 }),
                arp: spec.arp,
                multicast: !self.has_ipv6,
                mtu_bytes: if self.host_of_node[ends[side]].is_some() { self.setup.mtu_bytes } else { MTU_MOST_BYTES },
            }
        });
        self.widened.extend(ends.into_iter().filter(|node| self.netem_routers.contains(node)));
        self.touched.insert(spec.a);
        message::make_pair(&mut self.making[spec.a], &interfaces[0], &interfaces[1], self.spaces[spec.b].raw());
        self.touched.insert(spec.b);
        message::up(&mut self.joining[spec.b], interfaces[1].ifindex);
        message::up_again(&mut self.waking[spec.a], interfaces[0].ifindex);
        for side in [0, 1] {
            if spec.arp {
                message::address(
                    self.changing(ends[side]),
                    interfaces[side].ifindex,
                    end_address(link, side).into(),
                    31,
                );
            }
            if spec.kind == LinkKind::Wire {
                if let Some(host) = self.host_of_node[ends[side]] {
                    let address = self.setup.hosts[host].address;
                    let out = self.hop(ends[side], interfaces[side].ifindex, None);
                    let joins = self.setup.hosts[host].joins.is_some();
                    let batch = self.changing(ends[side]);
                    message::address(batch, interfaces[side].ifindex, address, message::whole_prefix(address));
                    if joins {
                        // packets from the joining host's address leave over the joining host's own wire
                        message::default_route_of(batch, FIRST_TABLE + host as u32, address, out);
                    } else {
                        message::default_route(batch, address, out);
                    }
                    let hop = self.hop(ends[1 - side], interfaces[1 - side].ifindex, None);
                    message::route(self.changing(ends[1 - side]), address, 0, hop);
                    self.routes.insert((ends[1 - side], host), 2 * link + 1 - side);
                    if self.setup.hosts[host].pacing == Pacing::Fq {
                        aqm::pacing(self.changing(ends[side]), interfaces[side].ifindex);
                    }
                }
            }
            if is_modelled(self.setup, 2 * link + side) {
                self.directions[2 * link + side].down = false;
                self.say[2 * link + side] = Some(Say::All);
                self.to_say.push(2 * link + side);
            }
        }
    }

    /// Sends the tables of a direction. The kernel must already have created the direction's discipline.
    fn send_tables(&self, direction: usize, t_ns: i64) -> Result<()> {
        let (capacity, channel) = (self.tables.capacity(direction), self.tables.channel(direction));
        let (Some(origin_ns), Some((node, ifindex))) = (self.origin_ns, self.sending_side(direction)) else {
            return Ok(());
        };
        if capacity.is_empty() && channel.is_empty() {
            return Ok(());
        }
        for batch in leolink::tables(ifindex, origin_ns, capacity, channel) {
            self.spaces[node].route.send(&batch)?;
            self.errors(t_ns)?;
        }
        Ok(())
    }

    fn flush(&mut self, t_ns: i64) -> Result<()> {
        let mut made = Vec::new();
        let mut to_say = std::mem::take(&mut self.to_say);
        let told = self.told();
        if !told.is_empty() {
            // a link that goes down is handled last, because its state must be read before it loses its packets
            to_say.sort_by_key(|&d| self.say[d] == Some(Say::Flush));
        }
        let mut told = Some(told);
        for direction in to_say {
            if self.say[direction] == Some(Say::Flush) {
                self.tell(told.take());
            }
            let (Some(say), Some((node, ifindex))) = (self.say[direction].take(), self.sending_side(direction)) else {
                continue;
            };
            let (spec, d) = (&self.setup.links[direction / 2], self.directions[direction]);
            let batch = &mut self.changing[node];
            self.touched.insert(node);
            match spec.discipline {
                Some(Discipline::Leolink) => {
                    leolink::leolink(batch, ifindex, &d, say);
                    if let (Say::All, Some(queue)) = (say, &self.setup.direction(direction).queue) {
                        let limit = aqm::Limit {
                            pkts: spec.limit_pkts,
                            bytes: spec.limit_bytes,
                            frame_bytes: d.full_packet_bytes + tc::ETHERNET_BYTES,
                        };
                        let rate_bps = highest_rate_bps(self.tables.capacity(direction)).unwrap_or(d.rate_bps);
                        aqm::child(batch, ifindex, queue, aqm::Limit::of(queue, limit), Some(rate_bps))?;
                    }
                    if say == Say::All {
                        made.push(direction);
                    }
                }
                Some(Discipline::Netem) => tc::netem(batch, ifindex, &d, spec.queue_counts, say),
                Some(Discipline::Jitter) => {
                    let before = self.told[direction].filter(|_| say == Say::Changes);
                    refuse_what_netem_cannot(self.setup, &d, before.as_ref())?;
                    let table = &self.setup.jitter_tables.get(d.jitter.table).map_or(&[][..], |t| &t.values);
                    tc::jitter(batch, ifindex, &d, before.as_ref(), table, say == Say::Flush);
                    self.told[direction] = Some(d);
                }
                None => {}
            }
        }
        self.tell(told.take());
        let touched = std::mem::take(&mut self.touched);
        for batches in [&self.making, &self.joining, &self.waking, &self.changing] {
            for &node in touched.iter().filter(|&&n| !batches[n].is_empty()) {
                self.spaces[node].route.send(&batches[node])?;
            }
        }
        self.errors(t_ns)?;
        made.into_iter().try_for_each(|direction| self.send_tables(direction, t_ns))?;
        for node in std::mem::take(&mut self.widened) {
            self.inside(node, leolink::forward_here)?;
        }
        for &node in &touched {
            for batches in [&mut self.making, &mut self.joining, &mut self.waking, &mut self.changing] {
                batches[node].clear();
            }
        }
        Ok(())
    }

    /// Fails if the kernel has refused any message. The kernel answers only refused messages, so one check of all
    /// sockets is enough.
    fn errors(&self, t_ns: i64) -> Result<()> {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: `event` outlives the call and has room for the one event that is requested.
        let n = unsafe { libc::epoll_wait(self.watch.as_raw_fd(), &raw mut event, 1, 0) };
        if crate::base::error::check(n, "look for netlink errors")? == 0 {
            return Ok(());
        }
        let node = event.u64 as usize;
        let Some(refusal) = self.spaces[node].route.refusals()?.into_iter().next() else { return Ok(()) };
        let leolink = self.setup.links.iter().any(|l| l.discipline == Some(Discipline::Leolink) && l.is_modelled());
        if refusal.errno == libc::ENOENT && leolink && !std::path::Path::new("/proc/leolink").exists() {
            return Err(Error::Lacks {
                what: "this guest kernel has no queueing discipline leolink".into(),
                hint: "build the kernel with `leowarp kernel build`, or set network.link_model = \"netem\"".into(),
            });
        }
        let name = &self.setup.nodes[node].name;
        let words = refusal.text.as_deref().unwrap_or("the kernel gives no reason");
        let attempt = format!(
            "change the network of {name} at {t_ns} ns (netlink message {}, kind {}): {words}",
            refusal.number, refusal.kind
        );
        Err(Error::errno(attempt, refusal.errno))
    }
}
