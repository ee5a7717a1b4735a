// SPDX-License-Identifier: Apache-2.0
//! Packets of IPv6 in forty bytes, as links report those that they drop (guest/links/leolink_drops.c): the fields by which
//! they are followed. Pure.

/// Its length.
pub const SHORT_BYTES: usize = 40;
/// Bytes of a packet that it is made of, from the IP header on.
pub const NEEDED_BYTES: usize = 68;
/// Where in it the header behind that of IP begins.
pub const HEAD_BYTES: usize = 16;

/// Pieces: from, length, to. The header's first eight bytes, the last four of either address, the first sixteen behind
/// the header, the eight from twenty on.
const PIECES: [(usize, usize, usize); 5] = [(0, 8, 0), (20, 4, 8), (36, 4, 12), (40, 16, 16), (60, 8, 32)];

/// Whether a packet, from its IP header on, is one of IPv6.
pub fn is_ipv6(ip: &[u8]) -> bool {
    ip.first().is_some_and(|first| first >> 4 == 6)
}

/// The short form of a packet; what a packet is too short for is 0.
pub fn short(ip: &[u8]) -> [u8; SHORT_BYTES] {
    let mut out = [0; SHORT_BYTES];
    for (from, length, to) in PIECES {
        let piece = ip.get(from..).unwrap_or_default();
        let has = piece.len().min(length);
        out[to..to + has].copy_from_slice(&piece[..has]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_has_the_ends_of_the_addresses_and_what_tells_packets_apart() {
        let packet: Vec<u8> = (0..100).collect();
        let expected = [(0..8), (20..24), (36..40), (40..56), (60..68)].into_iter().flatten().collect::<Vec<u8>>();
        assert_eq!(short(&packet).to_vec(), expected);
        assert_eq!(short(&packet[..NEEDED_BYTES]), short(&packet));
        assert_eq!(short(&packet[..48])[24..], [0; 16]);
        assert!(is_ipv6(&[0x60]) && !is_ipv6(&[0x45]) && !is_ipv6(&[]));
    }
}
