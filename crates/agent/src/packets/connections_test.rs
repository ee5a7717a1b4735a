// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::packets::truth::Seen;

const CLIENT: (u32, u16) = (0x0a01_0001, 40_000);
const SERVER: (u32, u16) = (0x0a01_0002, 5201);
const SYN_ACK: u8 = FLAG_SYN | FLAG_ACK;

fn connections(ports: &[u16]) -> Connections {
    let program = |(flow, &port): (usize, &u16)| Program { flow, source: CLIENT.0, destination: SERVER.0, port };
    Connections {
        programs: ports.iter().enumerate().map(program).collect(),
        first_flow: ports.len(),
        all: Vec::new(),
        latest: BTreeMap::new(),
        opened: BTreeMap::new(),
    }
}

fn packet(from: (u32, u16), to: (u32, u16), flags: u8, seq: u32) -> Foreign {
    let seen = Seen { t_ns: 0, ip_id: 0, seq, ack: 0, flags, len_bytes: 0 };
    Foreign { tuple: Tuple { is_tcp: flags != 0, from, to }, seen, window: 0 }
}

fn place(flow: usize, direction: usize, is_new: bool) -> Option<Place> {
    Some(Place { flow, direction, is_new })
}

#[test]
fn a_connection_is_a_flow_from_its_first_packet_on_at_whichever_host_that_is_read_first() {
    let mut connections = connections(&[5201]);
    assert_eq!(connections.pass(1, &packet(CLIENT, SERVER, FLAG_SYN, 7)), place(1, 0, true));
    assert_eq!(connections.pass(1, &packet(SERVER, CLIENT, SYN_ACK, 9)), place(1, 1, false));
    assert_eq!(connections.pass(0, &packet(CLIENT, SERVER, FLAG_SYN, 7)), place(1, 0, false));
    assert_eq!(connections.pass(0, &packet(SERVER, CLIENT, SYN_ACK, 9)), place(1, 1, false));
    assert_eq!(connections.all()[0].opened_by, 0);
    assert_eq!((connections.all()[0].source_port, connections.all()[0].destination_port), (40_000, 5201));
}

#[test]
fn a_port_that_is_used_again_is_another_connection_and_each_host_knows_when() {
    let mut connections = connections(&[5201]);
    for (host, seq, expected) in [(0, 7, place(1, 0, true)), (1, 7, place(1, 0, false)), (0, 8, place(2, 0, true))] {
        assert_eq!(connections.pass(host, &packet(CLIENT, SERVER, FLAG_SYN, seq)), expected);
    }
    // Host 1 has not yet seen the second SYN, so packets that arrive at host 1 belong to the first connection.
    assert_eq!(connections.pass(1, &packet(CLIENT, SERVER, FLAG_ACK, 9)), place(1, 0, false));
    assert_eq!(connections.pass(0, &packet(CLIENT, SERVER, FLAG_ACK, 9)), place(2, 0, false));
    assert_eq!(connections.pass(1, &packet(CLIENT, SERVER, FLAG_SYN, 8)), place(2, 0, false));
    assert_eq!(connections.find(1, &packet(SERVER, CLIENT, FLAG_ACK, 9)), place(2, 1, false));
}

#[test]
fn a_connection_belongs_to_the_flow_whose_port_it_uses_else_to_the_first() {
    let mut connections = connections(&[80, 5201]);
    assert_eq!(connections.pass(0, &packet(CLIENT, SERVER, 0, 1)), place(2, 0, true));
    assert_eq!(connections.pass(0, &packet((SERVER.0, 9), (CLIENT.0, 9), 0, 1)), place(3, 1, true));
    assert_eq!(connections.all().iter().map(|c| c.program).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(connections.all()[1].opened_by, 1);
    assert_eq!(connections.pass(0, &packet((5, 5), SERVER, 0, 1)), None);
}
