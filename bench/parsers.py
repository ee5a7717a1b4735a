# SPDX-License-Identifier: Apache-2.0
"""Read captures with leowarp, dpkt or scapy, and print: packets, TCP segments with data, echo requests, processor time.

python bench/parsers.py leowarp FILE...      (or dpkt, scapy: pip install dpkt scapy)
cargo run --release --manifest-path bench/parsers/Cargo.toml -- FILE...      (pcap-parser and etherparse)
"""

import sys
import time
from collections import Counter


def by_leowarp(path: str) -> Counter[str]:
    from leowarp import reordering

    survey = reordering.survey(path)
    found = Counter(packets=survey.counts["packets_pkts"], skipped=survey.counts["skipped_pkts"])
    for flow in survey.flows:
        found[flow.protocol] += flow.packets_pkts
    return found


def by_dpkt(path: str) -> Counter[str]:
    import dpkt

    found: Counter[str] = Counter()
    with open(path, "rb") as file:
        reader = dpkt.pcapng.Reader(file) if path.endswith("ng") else dpkt.pcap.Reader(file)
        for _, content in reader:
            found["packets"] += 1
            try:
                inner = dpkt.ethernet.Ethernet(content).data.data
            except Exception:
                found["skipped"] += 1
                continue
            found["tcp"] += isinstance(inner, dpkt.tcp.TCP) and len(inner.data) > 0
            found["icmp"] += isinstance(inner, dpkt.icmp.ICMP) and inner.type == 8
    return found


def by_scapy(path: str) -> Counter[str]:
    from scapy.all import ICMP, TCP, PcapReader

    found: Counter[str] = Counter()
    for packet in PcapReader(path):
        found["packets"] += 1
        found["tcp"] += TCP in packet and len(packet[TCP].payload) > 0
        found["icmp"] += ICMP in packet and packet[ICMP].type == 8
    return found


def main() -> None:
    read = {"leowarp": by_leowarp, "dpkt": by_dpkt, "scapy": by_scapy}[sys.argv[1]]
    total, failed, begin_s = Counter[str](), 0, time.process_time()
    for path in sys.argv[2:]:
        try:
            total += read(path)
        except Exception as error:
            failed += 1
            print(f"{path}: {error}", file=sys.stderr)
    print(sys.argv[1], dict(total), f"files not read {failed}, {time.process_time() - begin_s:.3f} s of processor time")


if __name__ == "__main__":
    main()
