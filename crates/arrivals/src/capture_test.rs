// SPDX-License-Identifier: Apache-2.0
//! Complete, truncated and damaged captures, constructed byte by byte.

use crate::{Arrivals, Capture, Error, Field, Order, Protocol, Result, Settings};
use proptest::prelude::*;

pub const ETHERNET: u16 = 1;
pub const RAW: u16 = 101;

pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 7, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(payload);
    packet
}

pub fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([protocol, 64]);
    packet.extend([1; 32]);
    packet.extend(payload);
    packet
}

pub fn ethernet(ip: &[u8], tags: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for _ in 0..tags {
        frame.extend([0x81, 0, 0, 5]);
    }
    frame.extend(if ip[0] >> 4 == 4 { [8, 0] } else { [0x86, 0xdd] });
    frame.extend(ip);
    // The frame is padded to Ethernet's minimum size, and the padding does not belong to the packet.
    frame.resize(frame.len().max(60), 0xee);
    frame
}

pub fn echo(kind: u8, id: u16, seq: u16) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0];
    message.extend(id.to_be_bytes());
    message.extend(seq.to_be_bytes());
    message.extend([9; 24]);
    message
}

pub fn udp(ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut datagram = ports.0.to_be_bytes().to_vec();
    datagram.extend(ports.1.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}

pub fn rtp(seq: u16, source: u32, kind: u8) -> Vec<u8> {
    let mut packet = vec![0x80, kind];
    packet.extend(seq.to_be_bytes());
    packet.extend([0; 4]);
    packet.extend(source.to_be_bytes());
    packet.extend([5; 20]);
    packet
}

pub fn tcp(seq: u32, flags: u8, stamp: Option<u32>, data: usize) -> Vec<u8> {
    let header = if stamp.is_some() { 32 } else { 20 };
    let mut segment = vec![0x30, 0x39, 0, 80];
    segment.extend(seq.to_be_bytes());
    segment.extend([0, 0, 0, 0, (header / 4) << 4, flags, 1, 1, 0, 0, 0, 0]);
    if let Some(stamp) = stamp {
        segment.extend([1, 1, 8, 10]);
        segment.extend(stamp.to_be_bytes());
        segment.extend([0; 4]);
    }
    segment.resize(segment.len() + data, 3);
    segment
}

/// Returns a pcap file in which frame k arrives at 1000 s + k ms.
pub fn pcap(link: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [0xa1b2_3c4du32, 0x0002_0004, 0, 0, 65535, link.into()].map(u32::to_le_bytes).concat();
    file[4..8].copy_from_slice(&[2, 0, 4, 0]);
    for (k, frame) in frames.iter().enumerate() {
        let length = frame.len() as u32;
        file.extend([1000, k as u32 * 1_000_000, length, length].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

pub fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = (12 + body.len() as u32).to_be_bytes();
    [kind.to_be_bytes().to_vec(), length.to_vec(), body, length.to_vec()].concat()
}

/// Returns the same capture as a big-endian pcapng file, with times in microseconds and with a block of unknown type.
pub fn pcapng(link: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut section = 0x1a2b_3c4d_u32.to_be_bytes().to_vec();
    section.extend([0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    let mut file = block(0x0a0d_0d0a, &section);
    let mut interface = link.to_be_bytes().to_vec();
    // if_tsresol = 10^-6; if_tsoffset = 400 s
    interface.extend([0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 6, 0, 0, 0, 0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 1, 144, 0, 0, 0, 0]);
    file.extend(block(1, &interface));
    file.extend(block(0x0bad, &[7; 50]));
    for (k, frame) in frames.iter().enumerate() {
        let ticks = 600_000_000 + 1000 * k as u32;
        let length = frame.len() as u32;
        let mut body = [0, 0, ticks, length, length].map(u32::to_be_bytes).concat();
        body.extend(frame);
        file.extend(block(6, &body));
    }
    file
}

pub fn read(file: &[u8], cut: usize, settings: Settings) -> (Capture, Result<Arrivals>) {
    let (mut capture, mut into) = (Capture::new(settings), Arrivals::default());
    let result = file.chunks(cut.max(1)).try_for_each(|chunk| capture.feed(chunk, &mut into));
    let result = result.and_then(|()| capture.finish(&mut into)).map(|()| into.take());
    (capture, result)
}

pub fn whole(file: &[u8], settings: Settings) -> Arrivals {
    read(file, file.len(), settings).1.unwrap()
}

pub fn of(protocol: Protocol) -> Settings {
    Settings { protocol: Some(protocol), flow: None }
}

pub fn echoes(numbers: &[u16]) -> Vec<Vec<u8>> {
    numbers.iter().map(|&seq| ethernet(&ipv4(1, &echo(8, 77, seq)), 0)).collect()
}

/// Sequence numbers of 16 bits that wrap around. Some packets are reordered where the numbers wrap around.
const AROUND: [u16; 6] = [65533, 65534, 1, 65535, 0, 2];

pub fn steps(arrivals: &Arrivals) -> Vec<i64> {
    arrivals.seq.iter().map(|&seq| seq as i64 - arrivals.seq[0] as i64).collect()
}

#[test]
fn echo_requests_have_number_time_and_payload_whatever_the_container() {
    let frames = echoes(&AROUND);
    for file in [pcap(ETHERNET, &frames), pcapng(ETHERNET, &frames)] {
        for cut in [1, 7, 64, 10_000] {
            let (capture, result) = read(&file, cut, Settings::default());
            let arrivals = result.unwrap();
            assert_eq!(steps(&arrivals), [0, 1, 4, 2, 3, 5]);
            assert_eq!(arrivals.t_ns, [0, 1, 2, 3, 4, 5].map(|ms| 1_000_000_000_000 + ms * 1_000_000));
            assert_eq!(arrivals.len_bytes, [24; 6]);
            assert_eq!(capture.flows().len(), 1);
            assert_eq!((capture.flows()[0].packets, capture.flows()[0].payload_bytes), (6, 144));
            assert_eq!(capture.flows()[0].last_ns, Some(1_000_005_000_000));
        }
    }
}

#[test]
fn tags_ip_versions_and_link_layers_are_seen_through() {
    let v4 = ipv4(1, &echo(8, 1, 5));
    let v6 = ipv6(58, &echo(128, 1, 5));
    // `extended` has hop-by-hop options and then the header of a first fragment.
    let extended = ipv6(0, &[&[44u8, 0, 1, 4, 0, 0, 0, 0, 58, 0, 0, 1, 0, 0, 0, 1][..], &echo(128, 1, 5)].concat());
    for (link, frame) in [
        (ETHERNET, ethernet(&v4, 0)),
        (ETHERNET, ethernet(&v4, 1)),
        (ETHERNET, ethernet(&v6, 2)),
        (ETHERNET, [&[2; 12][..], &[0, 92, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &v4].concat()),
        (9, [&[0xff, 3, 0, 0x21][..], &v4].concat()),
        (51, [&[0x11, 0, 0, 9, 0, 54, 0x21][..], &v4].concat()),
        (104, [&[0x0f, 0, 8, 0][..], &v4].concat()),
        (RAW, v4.clone()),
        (RAW, extended),
        (113, [&[0; 14][..], &[8, 0], &v4].concat()),
        (276, [&[8, 0], &[0; 18][..], &v4].concat()),
        (0, [&[2, 0, 0, 0][..], &v4].concat()),
    ] {
        let arrivals = whole(&pcap(link, &[frame]), Settings::default());
        assert_eq!((arrivals.seq[0] & 0xffff, arrivals.len_bytes[0]), (5, 24), "link type {link}");
    }
    let (capture, result) = read(&pcap(105, &[v4]), 100, Settings::default());
    assert_eq!(result.unwrap().seq.len(), 0);
    assert_eq!(capture.skips().listed(), [(1, "of IEEE 802.11 (link type 105)".to_string())]);
}

#[test]
fn replies_later_fragments_and_other_protocols_are_no_part_of_a_sequence() {
    let mut fragment = ipv4(1, &echo(8, 1, 6));
    fragment[7] = 100;
    let arp = [&[2; 12][..], &[8, 6], &[0; 46]].concat();
    let frames = [
        ethernet(&ipv4(1, &echo(0, 1, 5)), 0),
        ethernet(&fragment, 0),
        arp,
        ethernet(&ipv4(1, &echo(8, 1, 7)), 0),
        ethernet(&ipv4(17, &udp((53, 53), b"question")), 0),
    ];
    let (capture, result) = read(&pcap(ETHERNET, &frames), 1000, Settings::default());
    assert_eq!(result.unwrap().seq.len(), 1);
    assert_eq!((capture.counts().packets, capture.counts().udp_pkts), (5, 1));
}

#[test]
fn of_several_flows_none_is_taken_until_one_is_chosen() {
    let frames: Vec<_> =
        [(1, 0), (2, 0), (1, 1), (2, 5), (2, 4)].map(|(id, seq)| ethernet(&ipv4(1, &echo(8, id, seq)), 0)).into();
    let file = pcap(ETHERNET, &frames);
    let (capture, _) = read(&file, 1000, Settings::default());
    assert_eq!(capture.flows().iter().map(|flow| (flow.id, flow.packets)).collect::<Vec<_>>(), [(1, 2), (2, 3)]);
    let second = whole(&file, Settings { protocol: None, flow: Some(1) });
    assert_eq!(steps(&second), [0, 5, 4]);
}

// Tests RFC 4737, 6.1 (passive measurement).
#[test]
fn rtp_is_told_from_rtcp_and_its_sources_from_each_other() {
    let mut frames: Vec<_> = AROUND.map(|seq| ipv4(17, &udp((5004, 5004), &rtp(seq, 99, 96)))).into();
    frames.insert(1, ipv4(17, &udp((5004, 5004), &rtp(0, 99, 200))));
    frames.insert(1, ipv4(17, &udp((53, 53), &[0; 20])));
    let (capture, result) = read(&pcap(RAW, &frames), 1000, of(Protocol::Rtp));
    assert_eq!(steps(&result.unwrap()), [0, 1, 4, 2, 3, 5]);
    assert_eq!(capture.counts().without_field_pkts, 2);
    frames.push(ipv4(17, &udp((5004, 5004), &rtp(7, 100, 96))));
    assert_eq!(read(&pcap(RAW, &frames), 1000, of(Protocol::Rtp)).0.flows().len(), 2);
}

#[test]
fn a_udp_field_has_offset_size_and_order() {
    let payload =
        |number: u32| [&[1, 2, 3][..], &number.to_be_bytes(), &u64::from(number).to_le_bytes(), &[9; 5]].concat();
    let numbers = [0xffff_fffe_u32, 0, 0xffff_ffff, 1];
    let frames: Vec<_> = numbers.map(|number| ipv4(17, &udp((9, 9), &payload(number)))).into();
    let file = pcap(RAW, &frames);
    let big = whole(&file, of(Protocol::Udp(Field { offset: 3, size: 4, order: Order::Big })));
    assert_eq!((steps(&big), big.len_bytes), (vec![0, 2, 1, 3], vec![20; 4]));
    let little = whole(&file, of(Protocol::Udp(Field { offset: 7, size: 8, order: Order::Little })));
    assert_eq!(little.seq, numbers.map(u64::from));
    let half = whole(&file, of(Protocol::Udp(Field { offset: 5, size: 2, order: Order::Big })));
    assert_eq!(steps(&half), [0, 2, 1, 3]);
    let (capture, result) = read(&file, 1000, of(Protocol::Udp(Field { offset: 17, size: 4, order: Order::Big })));
    assert_eq!((result.unwrap().seq.len(), capture.counts().without_field_pkts), (0, 4));
    let (_, result) = read(&file, 1000, of(Protocol::Udp(Field { offset: 3, size: 8, order: Order::Big })));
    assert!(result.unwrap_err().to_string().starts_with("packet 1 at byte 24: its sequence number is larger"));
}

#[test]
fn tcp_is_numbered_by_byte_and_a_second_connection_on_the_same_ports_is_another_flow() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let segments = [
        tcp(999, SYN, Some(0), 0),
        tcp(1000, ACK, Some(1), 100),
        tcp(1200, ACK, Some(3), 100),
        tcp(1100, ACK, Some(2), 100),
        tcp(1000, ACK, Some(9), 100),
        tcp(1300, ACK, Some(10), 0),
        tcp(1300, ACK, None, 50),
    ];
    let mut frames: Vec<_> = segments.iter().map(|segment| ipv4(6, segment)).collect();
    let (capture, result) = read(&pcap(RAW, &frames), 1000, Settings::default());
    let arrivals = result.unwrap();
    assert_eq!((arrivals.seq, arrivals.len_bytes), (vec![0, 2, 1, 3], vec![100, 100, 100, 50]));
    assert_eq!(arrivals.t_ns.iter().map(|t_ns| t_ns / 1_000_000 % 1000).collect::<Vec<_>>(), [1, 2, 3, 6]);
    assert_eq!(capture.counts().repeated_pkts, 1);
    assert_eq!(capture.flows()[0].packets, 5);
    frames.push(ipv4(6, &tcp(5_000_000, SYN, Some(20), 0)));
    frames.push(ipv4(6, &tcp(5_000_001, ACK, Some(21), 100)));
    assert_eq!(read(&pcap(RAW, &frames), 1000, Settings::default()).0.flows().len(), 2);
}

#[test]
fn a_file_that_ends_inside_a_packet_is_read_up_to_it() {
    let file = pcap(ETHERNET, &echoes(&[1, 2, 3]));
    let frame = 16 + 66;
    // The file ends inside the third record, or inside the third record's header.
    for rest in [30, 3] {
        let (capture, result) = read(&file[..24 + 2 * frame + rest], 50, Settings::default());
        assert_eq!(result.unwrap().seq.len(), 2);
        assert_eq!((capture.counts().packets, capture.skips().packets()), (3, 1));
        assert!(capture.skips().listed()[0].1.starts_with("cut off by the end of the file"));
    }
    let (_, result) = read(&file[..24 + 30], 50, Settings::default());
    let cut = Error::CutShort { what: "packet 1".into(), from: 24, to: 106, end: 54 };
    assert_eq!(
        cut.to_string(),
        "it is cut short: packet 1 begins at byte 24 and reaches to byte 106, but the file ends at byte 54"
    );
    assert_eq!(result.unwrap_err(), cut);
    assert_eq!(read(&file[..24 + 2 * frame], 50, Settings::default()).1.unwrap().seq.len(), 2);
    for length in [0, 3, 10] {
        let (_, result) = read(&file[..length], 50, Settings::default());
        let end = length as u64;
        assert_eq!(result.unwrap_err(), Error::CutShort { what: "the header".into(), from: 0, to: 24, end });
    }
    let ng = pcapng(ETHERNET, &echoes(&[1, 2, 3]));
    let (capture, result) = read(&ng[..ng.len() - 1], 50, Settings::default());
    assert_eq!((result.unwrap().seq.len(), capture.counts().packets, capture.skips().packets()), (2, 3, 1));
    let inside_the_unknown = 28 + 20 + 30 + 60;
    let (_, result) = read(&ng[..inside_the_unknown], 50, Settings::default());
    assert!(matches!(result.unwrap_err(), Error::CutShort { .. }));
}

#[test]
fn what_is_no_capture_or_damaged_is_told() {
    let (_, result) = read(b"1\n2\n3\n4\n", 50, Settings::default());
    assert_eq!(result.unwrap_err(), Error::NoCapture(*b"1\n2\n"));
    let mut file = pcap(ETHERNET, &echoes(&[1, 2, 3]));
    file[24 + 82 + 11] = 0x7f;
    let (_, result) = read(&file, 50, Settings::default());
    let message = result.unwrap_err().to_string();
    assert!(message.starts_with("packet 2 at byte 106: it says it holds 213"), "{message}");
}

fn any_capture() -> impl Strategy<Value = Vec<u8>> {
    let frame = prop_oneof![
        (0u16..4, any::<u16>()).prop_map(|(id, seq)| ethernet(&ipv4(1, &echo(8, id, seq)), id.into())),
        any::<u16>().prop_map(|seq| ethernet(&ipv6(17, &udp((1, 2), &rtp(seq, 1, 96))), 0)),
        (0u32..2000, 0u8..20, prop::option::of(any::<u32>()), 0usize..200)
            .prop_map(|(seq, flags, stamp, data)| ethernet(&ipv4(6, &tcp(seq, flags, stamp, data)), 0)),
        prop::collection::vec(any::<u8>(), 0..80),
    ];
    (prop::collection::vec(frame, 0..12), any::<bool>()).prop_map(|(frames, ng)| {
        if ng {
            pcapng(ETHERNET, &frames)
        } else {
            pcap(ETHERNET, &frames)
        }
    })
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let field = (0usize..40, prop::sample::select(vec![2, 4, 8]), any::<bool>()).prop_map(|(offset, size, big)| {
        Protocol::Udp(Field { offset, size, order: if big { Order::Big } else { Order::Little } })
    });
    let protocol = prop_oneof![
        Just(None),
        prop::sample::select(vec![Protocol::Icmp, Protocol::Rtp, Protocol::Tcp]).prop_map(Some),
        field.prop_map(Some),
    ];
    (protocol, prop::option::of(0usize..3)).prop_map(|(protocol, flow)| Settings { protocol, flow })
}

/// Asserts that each packet is in exactly one count.
fn accounts(capture: &Capture) -> std::result::Result<(), TestCaseError> {
    let (counts, skips) = (capture.counts(), capture.skips());
    let read = counts.numbered_pkts + counts.answer_pkts;
    let passed_over = counts.udp_pkts + counts.without_field_pkts + counts.foreign_pkts + skips.packets();
    // A packet that causes an error is the last packet, and no count includes it.
    prop_assert!(counts.packets - read - passed_over <= 1, "{counts:?} {skips:?}");
    prop_assert_eq!(capture.flows().iter().map(|flow| flow.packets).sum::<u64>(), counts.numbered_pkts);
    Ok(())
}

/// Asserts that the result does not depend on how the file is split into chunks. The result is the arrivals or the
/// error, the flows, and the counts.
fn agrees(file: &[u8], cut: usize, settings: Settings) -> std::result::Result<(), TestCaseError> {
    let (one, one_result) = read(file, file.len(), settings);
    let (other, other_result) = read(file, cut, settings);
    prop_assert_eq!(&one_result, &other_result);
    prop_assert_eq!(one.flows(), other.flows());
    prop_assert_eq!(one.counts(), other.counts());
    prop_assert_eq!(one.skips(), other.skips());
    prop_assert_eq!(one.place(), other.place());
    accounts(&one)?;
    if let Ok(arrivals) = one_result {
        prop_assert_eq!(arrivals.seq.len(), arrivals.len_bytes.len());
        prop_assert!(arrivals.t_ns.is_empty() || arrivals.t_ns.len() == arrivals.seq.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn captures_are_read_alike_however_they_are_cut(file in any_capture(), cut in 1usize..300, settings in any_settings()) {
        let is_whole = !matches!(read(&file, cut, settings).1, Err(Error::CutShort { .. } | Error::NoCapture(_)));
        prop_assert!(is_whole);
        agrees(&file, cut, settings)?;
    }

    #[test]
    fn damaged_captures_end_with_arrivals_or_one_error(
        mut file in any_capture(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        length in any::<prop::sample::Index>(),
        cut in 1usize..300,
        settings in any_settings(),
    ) {
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        agrees(&file, cut, settings)?;
        agrees(&file[..length.index(file.len() + 1)], cut, settings)?;
    }

    #[test]
    fn any_bytes_end_with_one_error(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 1usize..100, settings in any_settings()) {
        agrees(&bytes, cut, settings)?;
        // Each file below has a correct beginning, followed by `bytes`.
        agrees(&[&pcap(ETHERNET, &[])[..], &bytes].concat(), cut, settings)?;
        agrees(&[&pcapng(ETHERNET, &[])[..], &bytes].concat(), cut, settings)?;
    }
}
