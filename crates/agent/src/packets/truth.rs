// SPDX-License-Identifier: Apache-2.0
//! Finds what happened to each packet in one direction of one flow. This module has no side effects. Its input is the
//! observed packets and their times.
//!
//! Before working on this file, read RFC 4737, sections 3.3 and 4.2 (reordering and extent). Also read
//! `ip_select_ident` in include/net/ip.h. This function shows that the IP identification differs between the packets of
//! a connection.
//!
//! A packet is settled when it has arrived or when a link has reported its drop. Settled packets are passed on in the
//! order in which they were sent. A packet therefore waits until all earlier packets are settled. Therefore, only the
//! oldest unsettled packet and all later packets are in memory. Before a retransmission is passed on, all earlier
//! copies of its bytes are settled. These copies decide whether the retransmission is spurious.

use crate::packets::ranges::Ranges;
use std::collections::VecDeque;

/// The fields that distinguish a packet on the wire. For IPv6, `ip_id` is a digest (frame.rs).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub t_ns: i64,
    pub ip_id: u16,
    /// For TCP, the sequence number. For ping and UDP, the packet number, truncated to the header's field. For
    /// datagrams of programs, a digest of the packet's first bytes, including the checksum.
    pub seq: u32,
    /// The acknowledgement number of a TCP segment with ACK. 0 for any other packet.
    pub ack: u32,
    /// The flags of a TCP segment. 0 for any other packet.
    pub flags: u8,
    pub len_bytes: u32,
}

/// The flags of a TCP header (RFC 9293, 3.1).
pub const FLAG_SYN: u8 = 2;
pub const FLAG_ACK: u8 = 16;

/// The place and cause of a packet's loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    pub cause: u8,
    /// The direction of the link that lost the packet. None means unknown.
    pub direction: Option<u32>,
}

/// The values of `cause` for losses that no link reports. Links assign the causes 1 to 3 (design/interfaces.md, section
/// 6).
pub const CAUSE_NO_ROUTE: u8 = 4;
pub const CAUSE_UNKNOWN: u8 = 5;

/// A packet with its arrival or loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packet {
    pub sent_ns: i64,
    /// The arrival time. None means that the packet was lost, or was in flight at the end.
    pub received_ns: Option<i64>,
    pub loss: Option<Loss>,
    /// For TCP, the stream offset of the packet's first byte. Otherwise, the packet number.
    pub seq: i64,
    /// The number of bytes of the opposite direction that the packet acknowledges.
    pub ack: Option<i64>,
    pub len_bytes: u32,
    /// The packet's index among the first transmissions, from 0. None means that the packet is a retransmission, or has
    /// no payload.
    pub place: Option<u32>,
    pub is_retransmission: bool,
    /// Whether all bytes of a retransmission also arrived in earlier packets.
    pub is_spurious: Option<bool>,
    /// The reordering extent of the packet, measured over all packets of this direction. These packets include
    /// retransmissions and segments without payload, which may also overtake the packet. None means that the packet was
    /// not late.
    pub extent_pkts: Option<u32>,
}

/// The state of a packet until it is passed on. The size is one cache line. All packets in flight are traversed often,
/// so a larger struct would displace the guest's data from the processor's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Entry {
    sent_ns: i64,
    /// The arrival time. [`i64::MIN`] means that the packet has not arrived.
    received_ns: i64,
    /// `seq` and `ack` are the same as in [`Packet`]. `ack` is valid only if `flags` contains [`FLAG_ACK`].
    seq: i64,
    ack: i64,
    /// The fields from `wire_seq` to `flags` have the values of the packet on the wire.
    wire_seq: u32,
    wire_ack: u32,
    ip_id: u16,
    len_bytes: u16,
    flags: u8,
    is_retransmission: bool,
    /// The cause of the loss. 0 means not lost.
    loss_cause: u8,
    /// The link direction on which the packet was lost. In this field and the next three fields, [`NONE`] means no
    /// value.
    loss_direction: u32,
    place: u32,
    extent_pkts: u32,
    /// The previous packet with the same entry in [`LastWithId`].
    same_place_before: u32,
}

const _: () = assert!(size_of::<Entry>() == 64);

impl Entry {
    /// Returns the time at which the packet left its host.
    pub fn sent_ns(&self) -> i64 {
        self.sent_ns
    }

    /// Records the packet's loss.
    pub fn lose(&mut self, loss: Loss) {
        (self.loss_cause, self.loss_direction) = (loss.cause, loss.direction.unwrap_or(NONE));
    }

    fn is_settled(&self) -> bool {
        self.received_ns != i64::MIN || self.loss_cause != 0
    }

    fn is(&self, seen: &Seen) -> bool {
        (self.wire_seq, self.wire_ack, self.ip_id) == (seen.seq, seen.ack, seen.ip_id)
            && (self.flags, u32::from(self.len_bytes)) == (seen.flags, seen.len_bytes)
    }

    /// Returns what is known about the packet so far. The value of `is_spurious` is not known yet.
    fn packet(&self) -> Packet {
        let some = |value: u32| Some(value).filter(|&value| value != NONE);
        Packet {
            sent_ns: self.sent_ns,
            received_ns: Some(self.received_ns).filter(|&t_ns| t_ns != i64::MIN),
            loss: (self.loss_cause != 0).then(|| Loss { cause: self.loss_cause, direction: some(self.loss_direction) }),
            seq: self.seq,
            ack: (self.flags & FLAG_ACK != 0).then_some(self.ack),
            len_bytes: u32::from(self.len_bytes),
            place: some(self.place),
            is_retransmission: self.is_retransmission,
            is_spurious: None,
            extent_pkts: some(self.extent_pkts),
        }
    }
}

/// How sequence numbers are interpreted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// A 32-bit byte offset, which begins after a SYN.
    Tcp,
    /// A packet number. The value is the width of its field in bits.
    Packets(u32),
    /// No number. Packets are numbered in send order.
    Order,
}

/// One direction of one flow.
#[derive(Debug)]
pub struct Stream {
    numbers: Numbers,
    entries: VecDeque<Entry>,
    /// The packet number of the first entry.
    first: u32,
    /// For each IP identification, the last packet that was sent with this identification.
    last_with_id: LastWithId,
    /// The wire value and the offset of the furthest packet. The next number is unwrapped relative to this pair.
    seq_reference: Option<(u32, i64)>,
    ack_reference: Option<(u32, i64)>,
    /// The end of the data sent so far.
    sent_until: i64,
    first_transmissions: u32,
    arrivals: u64,
    /// The in-order arrivals. They are stored as runs. Each entry contains the first arrival of a run, this arrival's
    /// packet number, and the length of the run.
    in_order: VecDeque<(u64, u32, u32)>,
    /// The bytes that arrived in settled packets.
    settled_bytes: Ranges,
    /// The bytes that have arrived so far.
    arrived_bytes: Ranges,
    /// The number of bytes that arrived in datagrams without packet numbers.
    arrived_datagram_bytes: u64,
    first_byte_ns: Option<i64>,
    last_byte_ns: Option<i64>,
    size_bytes: Option<u64>,
    complete_ns: Option<i64>,
}

const NONE: u32 = u32::MAX;

/// For the low bits of each IP identification, the number of the last packet with these bits. The low bits are the
/// index. The number of entries is a power of two. An entry has 4 bytes. There are at least as many entries as packets
/// in flight. A connection increments its IP identification with each packet, so packets in flight seldom share an
/// entry. A table with an entry for each possible identification would take 256 KiB per stream. The first use of each
/// page of this memory would take 40 us. Such a large table would also displace the guest's data from the processor's
/// cache.
#[derive(Debug)]
struct LastWithId(Vec<u32>);

impl Default for LastWithId {
    fn default() -> Self {
        Self(vec![NONE; 64])
    }
}

impl LastWithId {
    const MOST: usize = 1 << u16::BITS;

    fn place(&self, id: u16) -> usize {
        usize::from(id) & (self.0.len() - 1)
    }

    fn get(&self, id: u16) -> u32 {
        self.0[self.place(id)]
    }

    /// Replaces an entry and returns the previous one.
    fn replace(&mut self, id: u16, number: u32) -> u32 {
        let place = self.place(id);
        std::mem::replace(&mut self.0[place], number)
    }

    /// Returns whether the table is too small for this number of packets in flight.
    fn is_small_for(&self, packets: usize) -> bool {
        packets >= self.0.len() && self.0.len() < Self::MOST
    }

    /// Replaces the table with an empty table of twice the size.
    fn double(&mut self) {
        let places = 2 * self.0.len();
        self.0.clear();
        self.0.resize(places, NONE);
    }
}

impl Stream {
    /// Creates a stream without packets. `size_bytes` is the number of payload bytes that the stream will carry. None
    /// means unlimited.
    pub fn new(numbers: Numbers, size_bytes: Option<u64>) -> Self {
        Self {
            numbers,
            entries: VecDeque::new(),
            first: 0,
            last_with_id: LastWithId::default(),
            seq_reference: None,
            ack_reference: None,
            sent_until: 0,
            first_transmissions: 0,
            arrivals: 0,
            in_order: VecDeque::new(),
            settled_bytes: Ranges::default(),
            arrived_bytes: Ranges::default(),
            arrived_datagram_bytes: 0,
            first_byte_ns: None,
            last_byte_ns: None,
            size_bytes,
            complete_ns: None,
        }
    }

    /// Records that a packet left its host. If the packet is a first transmission, returns its number among the first
    /// transmissions of this direction. Otherwise, returns None.
    pub fn sent(&mut self, seen: Seen) -> Option<u32> {
        if self.last_with_id.is_small_for(self.entries.len()) {
            self.make_places();
        }
        let number = self.first + self.entries.len() as u32;
        let seq = self.unwrap_seq(&seen);
        let mut ack = 0;
        if seen.flags & FLAG_ACK != 0 {
            ack = unwrap(self.ack_reference.unwrap_or((seen.ack, 0)), seen.ack, 32);
            self.ack_reference = Some((seen.ack, ack));
        }
        let tcp = self.numbers == Numbers::Tcp;
        let end = seq + if tcp { i64::from(seen.len_bytes) } else { 1 };
        // Implements RFC 4737, 6.1 (retransmissions).
        let is_retransmission = tcp && seen.len_bytes > 0 && seq < self.sent_until;
        let place = (!is_retransmission && (!tcp || seen.len_bytes > 0)).then_some(self.first_transmissions);
        self.first_transmissions += u32::from(place.is_some());
        self.sent_until = self.sent_until.max(end);
        debug_assert!(seen.len_bytes <= u32::from(u16::MAX), "no IPv4 packet: {seen:?}");
        self.entries.push_back(Entry {
            sent_ns: seen.t_ns,
            received_ns: i64::MIN,
            seq,
            ack,
            wire_seq: seen.seq,
            wire_ack: seen.ack,
            ip_id: seen.ip_id,
            len_bytes: seen.len_bytes as u16,
            flags: seen.flags,
            is_retransmission,
            loss_cause: 0,
            loss_direction: NONE,
            place: place.unwrap_or(NONE),
            extent_pkts: NONE,
            same_place_before: self.last_with_id.replace(seen.ip_id, number),
        });
        place
    }

    /// Records that a packet reached its host. Returns the packet. None means that no such packet was sent.
    /// Implements RFC 4737, 3.6 (duplicates).
    #[must_use]
    pub fn received(&mut self, seen: &Seen) -> Option<Packet> {
        let number = self.find(seen)?;
        let arrival = self.arrivals;
        self.arrivals += 1;
        let extent = self.arrive_in_order(arrival, number);
        let entry = &mut self.entries[(number - self.first) as usize];
        entry.received_ns = seen.t_ns;
        if !entry.is_retransmission {
            entry.extent_pkts = extent.unwrap_or(NONE);
        }
        let packet = entry.packet();
        let (seq, length) = (packet.seq, i64::from(seen.len_bytes));
        if length > 0 {
            let before = self.arrived_bytes.total();
            match self.numbers {
                Numbers::Tcp => self.arrived_bytes.insert(seq, seq + length),
                Numbers::Packets(_) => self.arrived_bytes.insert(seq * length, (seq + 1) * length),
                // Datagrams may have different lengths. Each datagram is matched only once, so its bytes can be added.
                Numbers::Order => self.arrived_datagram_bytes += length as u64,
            }
            if self.arrived_bytes.total() > before || self.numbers == Numbers::Order {
                self.first_byte_ns.get_or_insert(seen.t_ns);
                self.last_byte_ns = Some(seen.t_ns);
            }
            if self.size_bytes.is_some_and(|size| self.arrived_bytes.total() >= size) {
                self.complete_ns.get_or_insert(seen.t_ns);
            }
        }
        Some(packet)
    }

    /// Records that a link dropped a packet. Returns the packet's offset or number. None means that no sent packet
    /// matches `seen`.
    #[must_use]
    pub fn dropped(&mut self, seen: &Seen, loss: Loss) -> Option<i64> {
        let number = self.find(seen)?;
        let entry = &mut self.entries[(number - self.first) as usize];
        entry.lose(loss);
        Some(entry.seq)
    }

    /// Passes settled packets to `each`, in send order. If a packet was sent before `silent_before_ns` and has no
    /// report, it counts as lost, with the cause `silence`.
    pub fn settle(&mut self, silent_before_ns: i64, silence: u8, mut each: impl FnMut(&Packet)) {
        while let Some(entry) = self.entries.front_mut() {
            if !entry.is_settled() {
                if entry.sent_ns >= silent_before_ns {
                    break;
                }
                entry.lose(Loss { cause: silence, direction: None });
            }
            self.settle_first(&mut each);
        }
        // All unsettled packets have the number `first` or a higher one. A run of in-order packets that ends below
        // `first` no longer affects any extent.
        while self.in_order.front().is_some_and(|r| r.1 + r.2 <= self.first) && self.in_order.len() > 1 {
            self.in_order.pop_front();
        }
    }

    /// Returns the unsettled packets, in send order.
    pub fn unsettled(&mut self) -> impl DoubleEndedIterator<Item = &mut Entry> {
        self.entries.iter_mut().filter(|e| !e.is_settled())
    }

    /// Passes on all remaining packets, settled or not.
    pub fn finish(&mut self, mut each: impl FnMut(&Packet)) {
        while !self.entries.is_empty() {
            self.settle_first(&mut each);
        }
    }

    /// Returns the number of payload bytes that arrived. Each byte counts once, even if it arrived several times.
    pub fn arrived_bytes(&self) -> u64 {
        self.arrived_bytes.total() + self.arrived_datagram_bytes
    }

    /// Returns the arrival times of the first payload, of the last payload, and of the payload that completed the
    /// stream.
    pub fn times_ns(&self) -> (Option<i64>, Option<i64>, Option<i64>) {
        (self.first_byte_ns, self.last_byte_ns, self.complete_ns)
    }

    fn settle_first(&mut self, each: &mut impl FnMut(&Packet)) {
        let Some(entry) = self.entries.pop_front() else { return };
        self.first += 1;
        let mut packet = entry.packet();
        if self.numbers == Numbers::Tcp && packet.len_bytes > 0 {
            let end = packet.seq + i64::from(packet.len_bytes);
            if packet.is_retransmission {
                packet.is_spurious = Some(self.settled_bytes.contains(packet.seq, end));
            }
            if packet.received_ns.is_some() {
                self.settled_bytes.insert(packet.seq, end);
            }
        }
        each(&packet);
    }

    /// Doubles the table `last_with_id`, and adds all packets that are in memory, in send order.
    fn make_places(&mut self) {
        self.last_with_id.double();
        for (entry, number) in self.entries.iter_mut().zip(self.first..) {
            entry.same_place_before = self.last_with_id.replace(entry.ip_id, number);
        }
    }

    fn bits(&self) -> u32 {
        match self.numbers {
            Numbers::Tcp | Numbers::Order => 32,
            Numbers::Packets(bits) => bits,
        }
    }

    fn unwrap_seq(&mut self, seen: &Seen) -> i64 {
        if self.numbers == Numbers::Order {
            return i64::from(self.first_transmissions);
        }
        // The first byte after a SYN has offset 0; packet numbers are unwrapped relative to the first packet's number.
        let syn = self.numbers == Numbers::Tcp && seen.flags & FLAG_SYN != 0;
        let start = if self.numbers == Numbers::Tcp { 0 } else { i64::from(seen.seq) };
        if syn {
            self.seq_reference.get_or_insert((seen.seq.wrapping_add(1), 0));
            return 0;
        }
        let reference = *self.seq_reference.get_or_insert((seen.seq, start));
        let offset = unwrap(reference, seen.seq, self.bits());
        if offset > reference.1 {
            self.seq_reference = Some((seen.seq, offset));
        }
        offset
    }

    /// Returns the unsettled packet that matches `seen`, or None. If several packets match, the packet sent first is
    /// chosen. For example, every SYN-ACK of Linux has the identification 0.
    fn find(&self, seen: &Seen) -> Option<u32> {
        let mut found = None;
        let mut number = self.last_with_id.get(seen.ip_id);
        while number != NONE && number >= self.first {
            let entry = &self.entries[(number - self.first) as usize];
            if entry.is(seen) && !entry.is_settled() {
                found = Some(number);
            }
            number = entry.same_place_before;
        }
        found
    }

    /// Records an arrival. If a packet that was sent later has already arrived, this packet is reordered, and its
    /// extent is returned. The extent is the distance to the earliest such arrival, which is always in order (RFC 4737,
    /// 4.2).
    /// Implements RFC 4737, 4.2.3 (extent).
    fn arrive_in_order(&mut self, arrival: u64, number: u32) -> Option<u32> {
        match self.in_order.back_mut() {
            Some(run) if number < run.1 + run.2 => {
                let i = self.in_order.partition_point(|r| r.1 + r.2 - 1 <= number);
                let run = self.in_order[i];
                let into = u64::from((number + 1).saturating_sub(run.1));
                return Some((arrival - (run.0 + into)) as u32);
            }
            Some(run) if number == run.1 + run.2 && arrival == run.0 + u64::from(run.2) => run.2 += 1,
            _ => self.in_order.push_back((arrival, number, 1)),
        }
        None
    }
}

/// Converts `value`, which has only `bits` bits, to an offset. The reference is a pair (value, offset). The result is
/// the possible offset that is nearest to the offset of the reference.
fn unwrap(reference: (u32, i64), value: u32, bits: u32) -> i64 {
    let shift = 32 - bits;
    let delta = (value.wrapping_sub(reference.0) << shift) as i32 >> shift;
    reference.1 + i64::from(delta)
}

#[cfg(test)]
#[path = "truth_test.rs"]
mod tests;
