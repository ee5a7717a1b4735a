// SPDX-License-Identifier: Apache-2.0
use super::*;
use proptest::prelude::*;

fn seen(t_ns: i64, ip_id: u16, seq: u32, len_bytes: u32) -> Seen {
    Seen { t_ns, ip_id, seq, ack: 0, flags: FLAG_ACK, len_bytes }
}

fn settle_all(stream: &mut Stream) -> Vec<Packet> {
    let mut out = Vec::new();
    stream.finish(|p| out.push(*p));
    out
}

/// Sends packets 1, 2, 3, ..., which arrive in the order `arrivals`. Returns the extent of each packet.
fn extents(arrivals: &[u32]) -> Vec<Option<u32>> {
    let mut stream = Stream::new(Numbers::Packets(32), None);
    for n in 1..=*arrivals.iter().max().unwrap() {
        stream.sent(seen(i64::from(n), n as u16, n, 100));
    }
    for (i, &n) in arrivals.iter().enumerate() {
        assert!(stream.received(&seen(1000 + i as i64, n as u16, n, 100)).is_some());
    }
    settle_all(&mut stream).iter().map(|p| p.extent_pkts).collect()
}

// Tests RFC 4737, 4.2.3 (extent).
#[test]
fn extents_are_those_of_the_examples_of_rfc_4737() {
    let late = |v: Vec<Option<u32>>| -> Vec<(u32, u32)> {
        v.into_iter().zip(1..).filter_map(|(e, n)| e.map(|e| (n, e))).collect()
    };
    // sequences from tables 1 to 4 of RFC 4737, section 7
    assert_eq!(late(extents(&[1, 2, 3, 5, 6, 7, 8, 4, 9, 10])), [(4, 4)]);
    assert_eq!(late(extents(&[1, 2, 3, 4, 7, 5, 6, 8, 9, 10])), [(5, 1), (6, 2)]);
    assert_eq!(late(extents(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11])), [(4, 4), (5, 5), (6, 6)]);
    assert_eq!(late(extents(&[1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 12, 13, 11, 14, 15, 16])), [(4, 2), (5, 3), (11, 2)]);
}

#[test]
fn a_retransmission_is_spurious_when_the_original_arrives_even_after_it() {
    let mut stream = Stream::new(Numbers::Tcp, None);
    stream.sent(Seen { flags: FLAG_SYN, ..seen(0, 9, 999, 0) });
    stream.sent(seen(1, 10, 1000, 100));
    stream.sent(seen(2, 11, 1100, 100));
    stream.sent(seen(3, 12, 1000, 100));
    stream.sent(seen(4, 13, 1100, 100));
    assert_eq!(stream.dropped(&seen(5, 11, 1100, 100), Loss { cause: 1, direction: Some(7) }), Some(100));
    for (t, id, seq) in [(6, 12, 1000), (7, 13, 1100), (8, 10, 1000)] {
        assert!(stream.received(&seen(t, id, seq, 100)).is_some());
    }
    assert!(stream.received(&Seen { flags: FLAG_SYN, ..seen(9, 9, 999, 0) }).is_some());
    let mut packets = Vec::new();
    stream.settle(0, CAUSE_UNKNOWN, |p| packets.push(*p));
    assert_eq!(packets.len(), 5, "nothing is held back once all are settled");
    assert_eq!(packets[1].is_spurious, None);
    assert_eq!(packets[1].extent_pkts, Some(2));
    assert_eq!((packets[2].received_ns, packets[2].loss), (None, Some(Loss { cause: 1, direction: Some(7) })));
    assert_eq!((packets[3].is_retransmission, packets[3].is_spurious, packets[3].seq), (true, Some(true), 0));
    assert_eq!((packets[4].is_retransmission, packets[4].is_spurious, packets[4].seq), (true, Some(false), 100));
    assert_eq!(stream.arrived_bytes(), 200);
    assert_eq!(stream.times_ns(), (Some(6), Some(7), None));
}

// Tests RFC 4737, 3.6 (duplicates).
#[test]
fn a_copy_that_was_not_sent_is_said_so() {
    let mut stream = Stream::new(Numbers::Tcp, None);
    stream.sent(seen(0, 1, 0, 10));
    assert!(stream.received(&seen(1, 1, 0, 10)).is_some());
    assert!(stream.received(&seen(2, 1, 0, 10)).is_none(), "the same packet cannot arrive twice");
    assert!(stream.received(&seen(2, 2, 0, 10)).is_none());
}

#[test]
fn of_copies_that_nothing_tells_apart_the_first_sent_arrives_first() {
    // The path's delay is more than a second, so a SYN-ACK is retransmitted while the first copy is in flight
    let mut stream = Stream::new(Numbers::Tcp, None);
    let copy = |t_ns| Seen { flags: FLAG_SYN | FLAG_ACK, ..seen(t_ns, 0, 77, 0) };
    stream.sent(copy(0));
    stream.sent(copy(1000));
    assert_eq!(stream.received(&copy(900)).map(|p| p.sent_ns), Some(0));
    assert!(stream.received(&copy(1900)).is_some());
    let took: Vec<_> = settle_all(&mut stream).iter().map(|p| p.received_ns.map(|t| t - p.sent_ns)).collect();
    assert_eq!(took, [Some(900), Some(900)]);
}

#[test]
fn silence_is_a_loss_after_a_while() {
    let mut stream = Stream::new(Numbers::Tcp, None);
    stream.sent(seen(100, 1, 0, 10));
    stream.sent(seen(200, 2, 10, 10));
    let mut packets = Vec::new();
    stream.settle(100, CAUSE_UNKNOWN, |p| packets.push(*p));
    assert!(packets.is_empty());
    stream.settle(101, CAUSE_UNKNOWN, |p| packets.push(*p));
    assert_eq!(packets[0].loss, Some(Loss { cause: CAUSE_UNKNOWN, direction: None }));
    assert_eq!(packets.len(), 1);
    assert!(stream.received(&seen(300, 1, 0, 10)).is_none(), "too late to change what was handed on");
}

#[test]
fn sequence_numbers_go_on_beyond_32_bits() {
    let mut stream = Stream::new(Numbers::Tcp, None);
    let step = 1 << 30;
    for i in 0..9u32 {
        let seq = 4_000_000_000u32.wrapping_add(i.wrapping_mul(step));
        stream.sent(seen(i64::from(i), i as u16, seq, 5));
    }
    assert_eq!(settle_all(&mut stream).last().unwrap().seq, 8 << 30);
    assert_eq!(unwrap((65_530, 65_530), 4, 16), 65_540);
    assert_eq!(unwrap((4, 65_540), 65_530, 16), 65_530);
}

#[test]
fn an_ip_identification_may_come_again_while_older_packets_are_unsettled() {
    let mut stream = Stream::new(Numbers::Tcp, None);
    for (i, seq) in [(0, 0), (1, 100), (2, 200)] {
        stream.sent(seen(i, 7, seq, 100));
    }
    for (t, seq) in [(5, 200), (6, 0), (7, 100)] {
        assert!(stream.received(&seen(t, 7, seq, 100)).is_some());
    }
    let times: Vec<_> = settle_all(&mut stream).iter().map(|p| p.received_ns).collect();
    assert_eq!(times, [Some(6), Some(7), Some(5)]);
}

#[test]
fn packets_are_found_however_many_are_in_flight() {
    let mut stream = Stream::new(Numbers::Packets(32), None);
    let packet = |t_ns: i64, i: u32| seen(t_ns, i as u16, i, 100);
    for i in 0..70_000 {
        stream.sent(packet(0, i));
    }
    for i in (0..70_000).rev() {
        assert_eq!(stream.received(&packet(1, i)).map(|p| p.seq), Some(i64::from(i)));
    }
    assert_eq!(stream.last_with_id.0.len(), LastWithId::MOST);
}

#[test]
fn places_are_as_many_as_packets_in_flight_and_not_as_all_that_were_sent() {
    let mut stream = Stream::new(Numbers::Packets(32), None);
    let packet = |t_ns: u32| seen(i64::from(t_ns), t_ns as u16, t_ns, 100);
    for i in 0..200_000 {
        stream.sent(packet(i));
        if i >= 100 {
            assert!(stream.received(&packet(i - 100)).is_some());
        }
        stream.settle(i64::MIN, CAUSE_UNKNOWN, |_| {});
    }
    assert_eq!(stream.last_with_id.0.len(), 128);
}

/// A packet of the test with the bytes `seq..seq + len`.
#[derive(Debug, Clone, Copy)]
struct Plan {
    seq: u32,
    len: u32,
    delay: i64,
    lost: bool,
}

fn plan() -> impl Strategy<Value = Vec<Plan>> {
    let one = (0u32..30, 0u32..6, 1i64..40, proptest::bool::weighted(0.2));
    proptest::collection::vec(one.prop_map(|(seq, len, delay, lost)| Plan { seq, len, delay, lost }), 1..60)
}

/// Returns the expected result. All definitions are applied directly to the packets of `plan`.
fn slow(plan: &[Plan]) -> Vec<Packet> {
    let sent_ns = |i: usize| 2 * i as i64;
    let received_ns = |i: usize| (!plan[i].lost).then(|| sent_ns(i) + 2 * plan[i].delay + 1);
    let mut order: Vec<usize> = (0..plan.len()).filter(|&i| !plan[i].lost).collect();
    order.sort_by_key(|&i| (received_ns(i), i));
    let again = |i: usize| plan[i].len > 0 && (0..i).any(|j| plan[i].seq < plan[j].seq + plan[j].len);
    let is_first = |i: usize| plan[i].len > 0 && !again(i);
    (0..plan.len())
        .map(|i| {
            let bytes = |j: usize| plan[j].seq..plan[j].seq + plan[j].len;
            let is_retransmission = again(i);
            let arrived_before = |b: u32| (0..i).any(|j| !plan[j].lost && bytes(j).contains(&b));
            let position = order.iter().position(|&j| j == i);
            let overtaker = position.and_then(|p| (0..p).find(|&q| order[q] > i).map(|q| (p - q) as u32));
            Packet {
                sent_ns: sent_ns(i),
                received_ns: received_ns(i),
                loss: plan[i].lost.then_some(Loss { cause: 1, direction: Some(3) }),
                seq: i64::from(plan[i].seq),
                ack: Some(0),
                len_bytes: plan[i].len,
                place: is_first(i).then(|| (0..i).filter(|&j| is_first(j)).count() as u32),
                is_retransmission,
                is_spurious: is_retransmission.then(|| bytes(i).all(arrived_before)),
                extent_pkts: overtaker.filter(|_| !is_retransmission),
            }
        })
        .collect()
}

proptest! {
    // Tests RFC 4737, 6.1 (retransmissions).
    #[test]
    fn agrees_with_the_definitions(plan in plan(), id_bits in 0u32..6) {
        let mut stream = Stream::new(Numbers::Tcp, None);
        stream.sent(Seen { flags: FLAG_SYN | FLAG_ACK, ..seen(-2, 0, u32::MAX, 0) });
        let syn = Seen { flags: FLAG_SYN | FLAG_ACK, ..seen(-1, 0, u32::MAX, 0) };
        prop_assert!(stream.received(&syn).is_some());
        let packet = |t_ns: i64, i: usize| {
            let mut s = seen(t_ns, (i & ((1 << id_bits) - 1)) as u16, plan[i].seq, plan[i].len);
            s.ack = 0;
            s
        };
        let mut todo: Vec<(i64, usize, u8)> = Vec::new();
        let expected = slow(&plan);
        for (i, expected) in expected.iter().enumerate() {
            todo.push((expected.sent_ns, i, 0));
            match expected.received_ns {
                Some(t) => todo.push((t, i, 1)),
                None => todo.push((expected.sent_ns + 5, i, 2)),
            }
        }
        todo.sort();
        let mut out = Vec::new();
        for (t, i, what) in todo {
            match what {
                0 => prop_assert_eq!(stream.sent(packet(t, i)), expected[i].place),
                // identical packets in flight cannot be distinguished, so either of them may be matched
                1 => prop_assert!(stream.received(&packet(t, i)).is_some()),
                _ => {
                    let loss = Loss { cause: 1, direction: Some(3) };
                    prop_assert!(stream.dropped(&packet(t, i), loss).is_some());
                }
            }
            stream.settle(i64::MIN, CAUSE_UNKNOWN, |p| out.push(*p));
        }
        let identical = (0..plan.len()).any(|i| (0..i).any(|j| {
            Seen { t_ns: 0, ..packet(0, i) } == Seen { t_ns: 0, ..packet(0, j) }
        }));
        prop_assert_eq!(out.len(), plan.len() + 1);
        prop_assume!(!identical);
        prop_assert_eq!(&out[1..], &expected[..]);
        prop_assert!(stream.in_order.len() <= 1);
    }

    #[test]
    fn every_packet_is_handed_on_once_in_order_of_sending(plan in plan(), cut in 0usize..60) {
        let mut stream = Stream::new(Numbers::Packets(32), None);
        let mut out = Vec::new();
        for (i, p) in plan.iter().enumerate() {
            stream.sent(seen(i as i64, i as u16, i as u32, p.len));
            if !p.lost && i < cut {
                prop_assert!(stream.received(&seen(i as i64 + 1, i as u16, i as u32, p.len)).is_some());
            }
            stream.settle(i as i64 - 10, CAUSE_UNKNOWN, |p| out.push(*p));
        }
        stream.finish(|p| out.push(*p));
        let numbers: Vec<i64> = out.iter().map(|p| p.seq).collect();
        prop_assert_eq!(numbers, (0..plan.len() as i64).collect::<Vec<_>>());
    }
}
