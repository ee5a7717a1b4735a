// SPDX-License-Identifier: Apache-2.0
//! Counts echo requests, and TCP segments with data, in captures, for `design/parsers.md`. The program uses pcap-parser
//! and etherparse.

use etherparse::{LaxSlicedPacket, TransportSlice};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::*;
use std::fs::File;
fn main() {
    let mut packets = 0u64;
    let mut tcp = 0u64;
    let mut echo = 0u64;
    let mut bytes = 0u64;
    let mut bad = 0u64;
    let mut other = 0u64;
    let begin = std::time::Instant::now();
    for name in std::env::args().skip(1) {
        let file = File::open(&name).unwrap();
        let mut reader = match create_reader(1 << 20, file) {
            Ok(r) => r,
            Err(e) => {
                println!("{name}: {e:?}");
                bad += 1;
                continue;
            }
        };
        let mut links: Vec<Linktype> = vec![];
        loop {
            match reader.next() {
                Ok((offset, block)) => {
                    let data: Option<(Linktype, &[u8])> = match &block {
                        PcapBlockOwned::LegacyHeader(h) => {
                            links = vec![h.network];
                            None
                        }
                        PcapBlockOwned::Legacy(b) => Some((links[0], b.data)),
                        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                            links.clear();
                            None
                        }
                        PcapBlockOwned::NG(Block::InterfaceDescription(i)) => {
                            links.push(i.linktype);
                            None
                        }
                        PcapBlockOwned::NG(Block::EnhancedPacket(b)) => {
                            Some((links.get(b.if_id as usize).copied().unwrap_or(Linktype(-1)), b.packet_data()))
                        }
                        PcapBlockOwned::NG(Block::SimplePacket(b)) => {
                            Some((links.first().copied().unwrap_or(Linktype(-1)), &b.data))
                        }
                        _ => None,
                    };
                    if let Some((link, data)) = data {
                        packets += 1;
                        let sliced = match link.0 {
                            1 => LaxSlicedPacket::from_ethernet(data).ok(),
                            12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(data).ok(),
                            _ => None,
                        };
                        match sliced.as_ref().and_then(|s| s.transport.as_ref()) {
                            Some(TransportSlice::Tcp(t)) => {
                                if !t.payload().is_empty() {
                                    tcp += 1;
                                    bytes += t.payload().len() as u64;
                                }
                            }
                            Some(TransportSlice::Icmpv4(i)) => {
                                if i.type_u8() == 8 {
                                    echo += 1
                                }
                            }
                            Some(TransportSlice::Icmpv6(i)) => {
                                if i.type_u8() == 128 {
                                    echo += 1
                                }
                            }
                            _ => other += 1,
                        }
                    }
                    reader.consume(offset);
                }
                Err(PcapError::Eof) => break,
                Err(PcapError::Incomplete(_)) => {
                    if reader.refill().is_err() {
                        bad += 1;
                        break;
                    }
                }
                Err(_) => {
                    bad += 1;
                    break;
                }
            }
        }
    }
    println!("packets {packets} tcp data {tcp} ({bytes} bytes) echo requests {echo} other {other} files ended early {bad}; {:.3} s", begin.elapsed().as_secs_f64());
}
