// SPDX-License-Identifier: Apache-2.0
//! The short form of an IPv6 packet. It consists of forty bytes that identify the packet. A link reports the short form
//! of each dropped IPv6 packet (guest/links/leolink_drops.c). This module has no side effects.

/// The length of the short form.
pub const SHORT_BYTES: usize = 40;
/// The short form is made from this many bytes of the packet, beginning with the IP header.
pub const NEEDED_BYTES: usize = 68;
/// In the short form, the offset of the header that follows the IPv6 header.
pub const HEAD_BYTES: usize = 16;

/// The pieces of the short form: offset in the packet, length, offset in the short form. The short form keeps the first
/// eight bytes of the IPv6 header and the last four bytes of each address. It keeps the first sixteen bytes of the
/// header after the IPv6 header, and eight bytes at offset 20.
const PIECES: [(usize, usize, usize); 5] = [(0, 8, 0), (20, 4, 8), (36, 4, 12), (40, 16, 16), (60, 8, 32)];

/// Returns whether a packet is IPv6. `ip` begins at the IP header.
pub fn is_ipv6(ip: &[u8]) -> bool {
    ip.first().is_some_and(|first| first >> 4 == 6)
}

/// Returns the short form of a packet. Missing bytes of the packet are 0.
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
