// SPDX-License-Identifier: Apache-2.0
use super::*;
use proptest::prelude::*;

fn packet(sent_ns: i64, received_ns: Option<i64>) -> Packet {
    Packet {
        sent_ns,
        received_ns,
        loss: None,
        seq: 0,
        ack: None,
        len_bytes: 0,
        place: None,
        is_retransmission: false,
        is_spurious: None,
        extent_pkts: None,
    }
}

fn of(delays: &Delays, quantity: u8) -> Vec<DelayBin> {
    delays.rows(4).filter(|row| row.quantity == quantity).collect()
}

#[test]
fn bins_follow_each_other_and_are_narrow() {
    for number in 0..20_000 {
        let (lower, upper) = (lower_ns(number), lower_ns(number + 1));
        assert_eq!((place(lower), place(upper - 1), place(upper)), (number, number, number + 1));
        assert!(upper - lower == 1 || (upper - lower) * 128 <= lower, "{lower} to {upper}");
        assert!(upper - lower <= 10_000, "{lower} to {upper}");
    }
    assert_eq!(lower_ns(0), 0);
    // a packet counts as lost if it is not reported for one minute. One-way delays are therefore at most one minute,
    // and round trips at most two minutes
    assert_eq!(lower_ns(place(120_000_000_000)), 120_000_000_000 / 8192 * 8192);
}

#[test]
#[should_panic(expected = "arrived 1 ns before it left")]
fn no_delay_is_below_0() {
    Histogram::default().count(-1);
}

#[test]
fn a_data_packet_is_answered_by_the_first_packet_back_that_left_once_it_had_arrived_and_arrived_itself() {
    let mut delays = Delays::new(FlowKind::Tcp);
    let data = [packet(0, Some(1_000)), packet(10, None), packet(20, Some(1_010)), packet(30, Some(5_000))];
    data.iter().for_each(|p| delays.arrived(p));
    data.iter().for_each(|p| delays.enter(0, p));
    // The first return packet leaves before any data packet arrives, and the second return packet is lost. The third
    // return packet leaves exactly when the first data packet arrives, and the fourth return packet overtakes the
    // third. The fifth return packet leaves 1 ns before the last data packet arrives.
    delays.enter(1, &packet(999, Some(1_100)));
    delays.enter(1, &packet(1_000, None));
    delays.enter(1, &packet(1_000, Some(9_000)));
    delays.enter(1, &packet(1_010, Some(1_500)));
    delays.enter(1, &packet(4_999, Some(5_100)));
    let trips = of(&delays, ROUND_TRIP);
    let trips: Vec<_> = trips.iter().map(|r| (r.lower_ns, r.upper_ns, r.pkts)).collect();
    // the round trips are 990 + 490 and 1,000 + 8,000 ns, and the last data packet has no return packet
    assert_eq!(trips, [(1_480, 1_488, 1), (8_960, 9_024, 1), (i64::MISSING, i64::MISSING, 1)]);
    assert_eq!(delays.round_trips(), Some(Extremes { min_ns: 1_480, max_ns: 9_000, sum_ns: 10_480 }));
    let there: Vec<_> = of(&delays, 0).iter().map(|r| (r.flow, r.lower_ns, r.upper_ns, r.pkts)).collect();
    // the delays 990 and 1,000 are in different bins, because bins below 1,024 are 4 ns wide
    assert_eq!(there, [(4, 988, 992, 1), (4, 1_000, 1_004, 1), (4, 4_960, 4_992, 1)]);
    assert_eq!(of(&delays, 1).iter().map(|r| r.pkts).sum::<u32>(), 4);
}

#[test]
fn probes_have_one_way_delays_alone() {
    for kind in [FlowKind::Ping, FlowKind::Udp] {
        let mut delays = Delays::new(kind);
        delays.arrived(&packet(0, Some(7)));
        delays.enter(0, &packet(0, Some(7)));
        delays.enter(1, &packet(8, Some(9)));
        let rows: Vec<_> = delays.rows(0).map(|r| (r.quantity, r.lower_ns, r.pkts)).collect();
        assert_eq!(rows, [(0, 7, 1), (1, 1, 1)]);
        assert_eq!(delays.round_trips(), None);
    }
}

/// Returns a strategy for the packets of one direction. Each element contains the interval since the previous packet,
/// and the delay if the packet arrives.
fn direction() -> impl Strategy<Value = Vec<Packet>> {
    let one = (0i64..2_000, prop_oneof![4 => (1i64..5_000_000).prop_map(Some), 1 => Just(None)]);
    prop::collection::vec(one, 0..60).prop_map(|all| {
        let mut t_ns = 0;
        let sent = all.into_iter().map(|(after_ns, delay_ns)| {
            t_ns += after_ns;
            packet(t_ns, delay_ns.map(|d| t_ns + d % if t_ns % 3 == 0 { 40 } else { 9_000 }))
        });
        sent.collect()
    })
}

/// Like the capture, reports packets up to each instant. It first reports the arrivals of data packets, then the
/// settled packets of each direction.
fn told(data: &[Packet], back: &[Packet], instants_ns: &[i64]) -> Delays {
    let mut delays = Delays::new(FlowKind::Tcp);
    let mut arrivals: Vec<_> = data.iter().filter(|p| p.received_ns.is_some()).collect();
    arrivals.sort_by_key(|p| p.received_ns);
    let (mut arrived, mut settled) = (0, [0, 0]);
    for &until_ns in instants_ns.iter().chain([&i64::MAX]) {
        while arrivals.get(arrived).is_some_and(|p| p.received_ns < Some(until_ns)) {
            delays.arrived(arrivals[arrived]);
            arrived += 1;
        }
        for (way, packets) in [data, back].into_iter().enumerate() {
            // the fate of a lost packet is known as soon as the packet has left
            let is_known = |p: &Packet| p.received_ns.unwrap_or(p.sent_ns) < until_ns;
            while packets.get(settled[way]).is_some_and(is_known) {
                delays.enter(way as u8, &packets[settled[way]]);
                settled[way] += 1;
            }
        }
    }
    delays
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_packet_is_in_the_bin_of_its_delay_whenever_its_fate_is_told(
        data in direction(),
        back in direction(),
        mut instants_ns in prop::collection::vec(0i64..100_000, 0..20),
    ) {
        instants_ns.sort_unstable();
        let delays = told(&data, &back, &instants_ns);
        let delay = |p: &Packet| p.received_ns.map(|t| t - p.sent_ns);
        let answer = |t_ns: i64| back.iter().filter(|b| b.sent_ns >= t_ns).find_map(delay);
        let delivered: Vec<&Packet> = data.iter().filter(|p| p.received_ns.is_some()).collect();
        let trips = delivered.iter().map(|p| Some(delay(p)? + answer(p.received_ns?)?));
        let trips: Vec<Option<i64>> = trips.collect();
        let expected = [
            data.iter().filter_map(delay).collect::<Vec<_>>(),
            back.iter().filter_map(delay).collect(),
            trips.iter().flatten().copied().collect(),
        ];
        for (exact, quantity) in expected.into_iter().zip(0u8..) {
            let (bins, none): (Vec<_>, Vec<_>) = of(&delays, quantity).into_iter().partition(|r| r.lower_ns >= 0);
            prop_assert!(bins.windows(2).all(|w| w[0].upper_ns <= w[1].lower_ns));
            prop_assert_eq!(bins.iter().map(|r| r.pkts).sum::<u32>(), exact.len() as u32);
            for row in &bins {
                let mine = exact.iter().filter(|&d| (row.lower_ns..row.upper_ns).contains(d)).count();
                prop_assert_eq!(row.pkts, mine as u32);
            }
            if quantity == ROUND_TRIP {
                let smallest = exact.iter().copied().min();
                let extremes = smallest.map(|min_ns| Extremes {
                    min_ns,
                    max_ns: exact.iter().copied().max().unwrap_or(min_ns),
                    sum_ns: exact.iter().sum(),
                });
                prop_assert_eq!(delays.round_trips(), extremes);
            }
            let unanswered = if quantity == ROUND_TRIP { trips.iter().filter(|t| t.is_none()).count() } else { 0 };
            prop_assert_eq!(none.iter().map(|r| r.pkts).sum::<u32>(), unanswered as u32);
        }
    }
}
