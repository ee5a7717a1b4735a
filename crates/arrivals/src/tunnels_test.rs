// SPDX-License-Identifier: Apache-2.0
//! Tests that the same echo requests are read from every supported encapsulation. Also tests how unsupported
//! encapsulations are named.

use crate::capture_test::{
    block, echo, echoes, ethernet, ipv4, ipv6, pcap, pcapng, read, steps, tcp, udp, ETHERNET, RAW,
};
use crate::{Capture, Settings};
use proptest::prelude::*;

fn with_type(kind: u16, rest: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), rest].concat()
}

fn label(value: u32, is_last: bool) -> [u8; 4] {
    (value << 12 | u32::from(is_last) << 8 | 64).to_be_bytes()
}

fn of_udp(port: u16, header: &[u8], inner: &[u8]) -> Vec<u8> {
    ethernet(&ipv4(17, &udp((40_000, port), &[header, inner].concat())), 0)
}

/// Returns each encapsulation's name, and a frame with the IPv4 packet `ip` in this encapsulation.
fn encapsulated(ip: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let frame = ethernet(ip, 1);
    let pppoe = |protocol: &[u8]| {
        let length = (protocol.len() + ip.len()) as u16;
        with_type(0x8864, &[&[0x11, 0, 0x12, 0x34], &length.to_be_bytes()[..], protocol, ip, &[0xee; 9]].concat())
    };
    vec![
        ("", ethernet(ip, 3)),
        ("", with_type(0x88a8, &[&[0, 9, 0x81, 0, 0, 5, 8, 0][..], ip].concat())),
        ("", with_type(0x88e7, &[&[0, 0, 0, 7][..], &frame].concat())),
        ("PPPoE", pppoe(&[0, 0x21])),
        ("PPPoE", pppoe(&[0x21])),
        ("MPLS", with_type(0x8847, &[&label(99, false)[..], &label(16, true), ip].concat())),
        ("MPLS", with_type(0x8848, &[&label(16, true)[..], &[0; 4], &frame].concat())),
        ("MPLS", with_type(0x8847, &[&label(16, true)[..], &frame].concat())),
        ("GRE", ethernet(&ipv4(47, &[&[0, 0, 8, 0][..], ip].concat()), 0)),
        ("GRE", ethernet(&ipv6(47, &[&[0xb0, 0, 8, 0][..], &[7; 12], ip].concat()), 0)),
        ("GRE", ethernet(&ipv4(47, &[&[0x20, 0, 0x65, 0x58][..], &[7; 4], &frame].concat()), 0)),
        ("GRE", ethernet(&ipv4(47, &[&[0x30, 0x81, 0x88, 0x0b][..], &[7; 12], &[0xff, 3, 0, 0x21], ip].concat()), 0)),
        ("ERSPAN", ethernet(&ipv4(47, &[&[0x10, 0, 0x88, 0xbe][..], &[0; 12], &frame].concat()), 0)),
        ("ERSPAN", ethernet(&ipv4(47, &[&[0, 0, 0x88, 0xbe][..], &frame].concat()), 0)),
        ("IP in IP", ethernet(&ipv4(4, ip), 0)),
        ("IP in IP", ethernet(&ipv6(4, ip), 0)),
        ("EtherIP", ethernet(&ipv4(97, &[&[0x30, 0][..], &frame].concat()), 0)),
        ("VXLAN", of_udp(4789, &[8, 0, 0, 0, 0, 0, 5, 0], &frame)),
        ("Geneve", of_udp(6081, &[1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 1, 1, 1], &frame)),
        ("GTP-U", of_udp(2152, &[0x30, 255, 0, 56, 0, 0, 0, 1], ip)),
        ("GTP-U", of_udp(2152, &[0x34, 255, 0, 64, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0], ip)),
        ("GRE, IP in IP", ethernet(&ipv4(47, &[&[0, 0, 8, 0][..], &ipv4(4, ip)].concat()), 0)),
    ]
}

#[test]
fn every_encapsulation_is_looked_into_and_named_by_the_flow() {
    let numbers = [1, 2, 4, 3, 5];
    let plain: Vec<_> = numbers.map(|seq| encapsulated(&ipv4(1, &echo(8, 77, seq)))).into();
    for kind in 0..plain[0].len() {
        let frames: Vec<_> = plain.iter().map(|all| all[kind].1.clone()).collect();
        let name = plain[0][kind].0;
        for file in [pcap(ETHERNET, &frames), pcapng(ETHERNET, &frames)] {
            let (capture, result) = read(&file, 1000, Settings::default());
            let arrivals = result.unwrap();
            assert_eq!((steps(&arrivals), arrivals.len_bytes), (vec![0, 1, 3, 2, 4], vec![24; 5]), "{name} {kind}");
            assert_eq!(capture.flows()[0].via.to_string(), name);
            assert_eq!(capture.skips().packets(), 0);
        }
    }
    let sixes = numbers.map(|seq| ipv4(41, &ipv6(58, &echo(128, 1, seq))));
    let (capture, result) = read(&pcap(RAW, &sixes), 1000, Settings::default());
    assert_eq!(steps(&result.unwrap()), [0, 1, 3, 2, 4]);
    assert_eq!(capture.flows()[0].via.to_string(), "IPv6 in IPv4");
}

#[test]
fn the_same_packets_inside_and_outside_of_a_tunnel_are_two_flows() {
    let ip = ipv4(1, &echo(8, 77, 1));
    let (capture, _) = read(&pcap(RAW, &[ip.clone(), ipv4(4, &ip)]), 1000, Settings::default());
    assert_eq!(capture.flows().iter().map(|flow| flow.via.to_string()).collect::<Vec<_>>(), ["", "IP in IP"]);
}

fn skipped(capture: &Capture) -> Vec<String> {
    capture.skips().listed().iter().map(|(packets, what)| format!("{packets} {what}")).collect()
}

#[test]
fn what_is_not_looked_into_is_named_and_counted_and_ends_nothing() {
    let mut cut = pcap(ETHERNET, &[echoes(&[1])[0][..34].to_vec()]);
    cut[24 + 12] = 66;
    let frames = [
        (with_type(0x8863, &[0; 46]), "of PPPoE discovery (ethertype 0x8863)"),
        (with_type(0x1234, &[0; 46]), "of ethertype 0x1234"),
        (with_type(0x8864, &[0x11, 0, 0, 1, 0, 4, 0xc0, 0x21, 1, 1]), "of PPP LCP (PPP protocol 0xc021)"),
        (with_type(46, &[0x42; 46]), "of IEEE 802.3 with LLC"),
        (
            with_type(0x8847, &[&label(16, true)[..], &[0x10; 60]].concat()),
            "of MPLS that carry neither IP nor Ethernet",
        ),
        (ethernet(&ipv4(47, &[0, 0, 0, 1, 0, 0]), 0), "of GRE that carry protocol 0x0001"),
        (ethernet(&ipv4(50, &[7; 30]), 0), "of ESP, encrypted (IP protocol 50)"),
        (ethernet(&ipv4(200, &[7; 30]), 0), "of IP protocol 200"),
        (with_type(0x0800, &[0x45; 10]), "damaged: shorter than the headers need, or with lengths that contradict"),
    ];
    for (frame, what) in frames {
        let all = [echoes(&[1]), vec![frame], echoes(&[2])].concat();
        let (capture, result) = read(&pcap(ETHERNET, &all), 1000, Settings::default());
        assert_eq!(steps(&result.unwrap()), [0, 1], "{what}");
        assert_eq!(skipped(&capture), [format!("1 {what}")]);
    }
    let (capture, result) =
        read(&[cut, pcap(ETHERNET, &echoes(&[2, 3]))[24..].to_vec()].concat(), 1000, Settings::default());
    assert_eq!(steps(&result.unwrap()), [0, 1]);
    assert_eq!(skipped(&capture), ["1 cut to 34 bytes"]);
    // The truncated packet has the same ends as the flow, so it may belong to the flow.
    assert_eq!(capture.counts().cut_pkts, 1);
}

#[test]
fn udp_on_a_tunnels_port_that_is_no_tunnel_is_udp() {
    for (port, payload) in [(4789, &[8u8; 40][..]), (2152, &[0x30; 40]), (6081, &[0; 40]), (4789, &[8, 0])] {
        let (capture, _) = read(&pcap(ETHERNET, &[of_udp(port, payload, &[])]), 1000, Settings::default());
        assert_eq!((capture.counts().udp_pkts, capture.skips().packets()), (1, 0), "{port}");
    }
}

#[test]
fn packets_of_a_link_type_or_record_that_is_not_known_are_passed_over() {
    let file = pcapng(ETHERNET, &echoes(&[1, 3, 2]));
    let can = block(1, &[0, 227, 0, 0, 0, 0, 0, 0]);
    let frame = |interface: u32, captured: u32| {
        block(6, &[[interface, 0, 1, captured, 16].map(u32::to_be_bytes).concat(), vec![7; 16]].concat())
    };
    let all = [file, can, frame(1, 16), frame(1, 16), frame(9, 16), frame(0, 4000)].concat();
    let (capture, result) = read(&all, 13, Settings::default());
    assert_eq!(steps(&result.unwrap()), [0, 2, 1]);
    let record = "2 damaged: a record that contradicts itself, or of no known interface";
    assert_eq!(skipped(&capture), ["2 of CAN (link type 227)", record]);
    assert_eq!(capture.counts().packets, 7);
}

#[test]
fn ipv6_of_length_0_is_as_long_as_the_frame_or_its_jumbo_option_says() {
    let segment = |seq: u32| tcp(seq, 16, Some(1), 80_000);
    let v6 = |next: u8, options: &[u8], segment: &[u8]| {
        let mut ip = ipv6(next, &[options, segment].concat());
        ip[4..6].copy_from_slice(&[0, 0]);
        ip
    };
    let jumbo = |length: u32| [&[6, 0, 0xc2, 4][..], &length.to_be_bytes()].concat();
    for kind in 0..2 {
        let frames: Vec<_> = (0..4)
            .map(|k| {
                let segment = segment(1000 + 80_000 * k);
                match kind {
                    0 => ethernet(&v6(6, &[], &segment), 0),
                    _ => ethernet(&v6(0, &jumbo(8 + segment.len() as u32), &segment), 0),
                }
            })
            .collect();
        let (_, result) = read(&pcap(ETHERNET, &frames), 5000, Settings::default());
        let arrivals = result.unwrap();
        assert_eq!((arrivals.seq, arrivals.len_bytes), (vec![0, 1, 2, 3], vec![80_000; 4]));
    }
    // Only the first 128 bytes were captured.
    let mut file = pcap(ETHERNET, &[ethernet(&v6(6, &[], &segment(1000)), 0)[..128].to_vec()]);
    file[36..40].copy_from_slice(&80_086u32.to_le_bytes());
    let (_, result) = read(&file, 5000, Settings::default());
    assert_eq!(result.unwrap().len_bytes, [80_000]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// If a tunnel's frame is truncated or damaged anywhere, it is either read, or skipped with a reason. The undamaged
    /// frames before and after the damaged frame are read.
    #[test]
    fn a_damaged_tunnel_hides_no_other_packet(
        kind in any::<prop::sample::Index>(), length in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let all = encapsulated(&ipv4(1, &echo(8, 77, 2)));
        let mut frame = all[kind.index(all.len())].1.clone();
        for (at, byte) in damage {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        frame.truncate(length.index(frame.len() + 1));
        let frames = [echoes(&[1]), vec![frame], echoes(&[3])].concat();
        let (capture, result) = read(&pcap(ETHERNET, &frames), 1000, Settings { protocol: None, flow: Some(0) });
        let counts = capture.counts();
        let other = counts.answer_pkts + counts.udp_pkts + counts.foreign_pkts + capture.skips().packets();
        prop_assert_eq!((counts.packets, counts.numbered_pkts + other), (3, 3));
        prop_assert!(result.unwrap().seq.len() >= 2);
    }
}
