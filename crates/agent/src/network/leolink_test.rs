// SPDX-License-Identifier: Apache-2.0

use super::*;
use crate::network::netlink::attributes;
use crate::network::tc::tests::{direction, messages};
use leowarp_timeline::setup::{Hold, Resequence};

#[test]
fn leolink_is_named_whole_once_and_then_by_its_changes() {
    let mut batch = Batch::default();
    leolink(&mut batch, 3, &direction(), Say::Flush);
    #[rustfmt::skip]
    let expected = [
        96, 0, 0, 0,  36, 0,  1, 0,  1, 0, 0, 0,  0, 0, 0, 0,
        0, 0, 0, 0,  3, 0, 0, 0,  0, 0, 1, 0,  255, 255, 255, 255,  0, 0, 0, 0,
        12, 0, 1, 0, b'l', b'e', b'o', b'l', b'i', b'n', b'k', 0,
        48, 0, 2, 128,
        12, 0, 2, 0,  0, 225, 245, 5, 0, 0, 0, 0,
        12, 0, 3, 0,  129, 150, 152, 0, 0, 0, 0, 0,
        8, 0, 7, 0,  0, 0, 0, 128,
        8, 0, 9, 0,  0, 0, 0, 0,
        4, 0, 10, 0,
    ];
    assert_eq!(batch.bytes().len(), 96);
    assert_eq!(batch.bytes(), &expected[..]);
    let mut whole = Batch::default();
    leolink(&mut whole, 3, &direction(), Say::All);
    assert_eq!(whole.bytes().len(), 96 - 4 + 4 * 8 + 12);
}

/// Returns the kind and length of each option in a batch's only message.
fn options(batch: &Batch) -> Vec<(u16, usize)> {
    let [(kind, _, handle, parent, attrs)] = &messages(batch)[..] else { panic!("one message") };
    assert_eq!((*kind, *handle, *parent), (RTM_NEWQDISC, 0x1_0000, u32::MAX));
    let nested = attributes(attrs).find(|a| a.0 == TCA_OPTIONS).unwrap().1;
    attributes(nested).map(|(kind, value)| (kind, value.len())).collect()
}

#[test]
fn a_station_s_link_numbers_one_way_and_restores_the_other() {
    let resequence = Resequence { by: Numbering::Flow, kind: Ordering::Basic, delay_ns: 0x0102_0304 };
    let bytes = |numbers, by| {
        let resequence = Some(Resequence { by, ..resequence });
        order_bytes(Order { resequence, eliminates: false, numbers, restores: !numbers })
    };
    let eliminates = Order { resequence: None, eliminates: true, numbers: false, restores: true };
    assert_eq!(order_bytes(eliminates)[..4], [20, 0, 0, 0]);
    let advanced = Some(Resequence { kind: Ordering::Advanced, ..resequence });
    assert_eq!(order_bytes(Order { resequence: advanced, ..eliminates })[..4], [30, 0, 0, 0]);
    assert_eq!(bytes(true, Numbering::Flow), [5, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0]);
    assert_eq!(bytes(false, Numbering::Aggregate)[..4], [2, 0, 0, 0]);
    let ordered = Direction {
        order: Some(Order { resequence: Some(resequence), eliminates: false, numbers: true, restores: false }),
        ..direction()
    };
    let mut batch = Batch::default();
    leolink(&mut batch, 3, &ordered, Say::All);
    assert!(options(&batch).contains(&(17, 16)));
}

#[test]
fn a_switch_names_the_direction_before_the_host_and_what_is_to_be_done() {
    let mut batch = Batch::default();
    let moves = Switch {
        from: 6,
        destination: Ipv4Addr::new(10, 1, 0, 2),
        rest_from_ns: 0x0102_0304_0506,
        rest_to_ns: 7,
        moves: true,
        hold: None,
        marker: None,
        copies_ns: None,
        new_way_ns: None,
    };
    switch(&mut batch, 3, &moves);
    assert_eq!(options(&batch), [(16, 56)]);
    let end = |batch: &Batch| batch.bytes()[batch.bytes().len() - 56..].to_vec();
    #[rustfmt::skip]
    let expected = [
        6, 0, 0, 0,  10, 1, 0, 2,  6, 5, 4, 3, 2, 1, 0, 0,  7, 0, 0, 0, 0, 0, 0, 0,  1, 0, 0, 0,  0, 0, 0, 0,
        0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(end(&batch), expected);
    for (full, flags) in [(HoldFull::Drop, 3), (HoldFull::Send, 7)] {
        let mut batch = Batch::default();
        switch(&mut batch, 3, &Switch { hold: Some((513, full)), ..moves });
        assert_eq!(end(&batch)[24..32], [flags, 0, 0, 0, 1, 2, 0, 0]);
    }
    let buffer = Hold { buffer_bytes: 513, full: HoldFull::Send };
    let merge = Merge { marker: 9, from: 4, to: 8, end_marker: EndMarker { wait_ns: 258, buffer } };
    for (marker, said) in [(Ok(merge), [9, 0, 0, 0, 0, 0, 0, 0]), (Err(Refused::SameWay), [0, 0, 0, 0, 2, 0, 0, 0])] {
        let mut batch = Batch::default();
        switch(&mut batch, 3, &Switch { marker: Some(marker), ..moves });
        assert_eq!(end(&batch)[32..40], said);
    }
    let mut batch = Batch::default();
    switch(&mut batch, 3, &Switch { copies_ns: Some(Ok(258)), new_way_ns: Some(3), ..moves });
    assert_eq!(end(&batch)[40..], [2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    let mut batch = Batch::default();
    super::merge(&mut batch, 3, moves.destination, &merge);
    assert_eq!(options(&batch), [(18, 32)]);
    #[rustfmt::skip]
    let expected = [
        9, 0, 0, 0,  10, 1, 0, 2,  2, 1, 0, 0, 0, 0, 0, 0,  4, 0, 0, 0,  1, 2, 0, 0,  4, 0, 0, 0,  0, 0, 0, 0,
    ];
    assert_eq!(batch.bytes()[batch.bytes().len() - 32..], expected);
    let mut batch = Batch::default();
    expect_markers(&mut batch, 3);
    assert_eq!(options(&batch), [(19, 0)]);
}

#[test]
fn a_notice_names_who_is_told_what_and_why() {
    let change = Notice {
        number: 7,
        told: Ipv4Addr::new(10, 1, 0, 1),
        destination: Ipv4Addr::new(10, 1, 0, 2),
        old_delay_ns: 5,
        new_delay_ns: 4,
        cause: NoticeCause::Change { from: 6, rests_ns: Some((3, 2)), answer_ns: -1 },
        delay_ns: 9,
        is_lost: true,
    };
    let said = |n: &Notice| {
        let mut batch = Batch::default();
        notice(&mut batch, 3, n);
        assert_eq!(options(&batch), [(20, 72)]);
        batch.bytes()[batch.bytes().len() - 72..].to_vec()
    };
    #[rustfmt::skip]
    let expected = [
        7, 0, 0, 0,  1, 0, 0, 0,  10, 1, 0, 1,  10, 1, 0, 2,  5, 0, 0, 0, 0, 0, 0, 0,  4, 0, 0, 0, 0, 0, 0, 0,
        3, 0, 0, 0, 0, 0, 0, 0,  2, 0, 0, 0, 0, 0, 0, 0,  255, 255, 255, 255, 255, 255, 255, 255,
        9, 0, 0, 0, 0, 0, 0, 0,  6, 0, 0, 0,  0, 0, 0, 0,
    ];
    assert_eq!(said(&change), expected);
    let gone = NoticeCause::Change { from: 6, rests_ns: None, answer_ns: -1 };
    assert_eq!(said(&Notice { cause: gone, is_lost: false, ..change })[4..8], [4, 0, 0, 0]);
    let bytes = said(&Notice { cause: NoticeCause::False { wait_ns: 8 }, is_lost: false, ..change });
    assert_eq!((bytes[4], bytes[32], bytes[64]), (2, 8, 0));
}

#[test]
fn what_a_table_holds_is_never_said_as_a_value() {
    let said = |d: Direction, say: Say| {
        let mut batch = Batch::default();
        leolink(&mut batch, 3, &d, say);
        options(&batch).into_iter().map(|o| o.0).collect::<Vec<_>>()
    };
    let capacity = Direction { has_capacity: true, ..direction() };
    assert_eq!(said(capacity, Say::Changes), [3, 7, 9]);
    let channel = Direction { has_channel: true, ..direction() };
    assert_eq!(said(channel, Say::Flush), [2, 9, 10]);
    let overtaking =
        Direction { has_capacity: true, has_channel: true, in_order: false, probe_bytes: 98, ..direction() };
    assert_eq!(said(overtaking, Say::All), [1, 4, 5, 6, 8, 14, 15, 9]);
    assert_eq!(said(overtaking, Say::Changes), [9]);
}

#[test]
fn tables_are_said_in_pieces_after_their_origin() {
    let capacity = vec![7; 3 * tables::RECORD_BYTES];
    let channel: Vec<u8> = (0..4097 * tables::RECORD_BYTES).map(|i| (i / tables::RECORD_BYTES) as u8).collect();
    let batches: Vec<Batch> = super::tables(9, -2, &capacity, &channel).collect();
    let said: Vec<_> = batches.iter().flat_map(options).collect();
    assert_eq!(said, [(13, 8), (11, 72), (12, 49_152), (12, 49_152), (12, 24)]);
    let bytes = batches[0].bytes();
    assert_eq!(bytes[bytes.len() - 8..], (-2i64).to_ne_bytes());
    let rest: Vec<u8> = batches[2..].iter().flat_map(|b| b.bytes()[16 + 20 + 12 + 8..].to_vec()).collect();
    assert_eq!(rest, channel);
}
