# SPDX-License-Identifier: Apache-2.0
"""Recognises the lines that ping prints, for all variants of ping and all languages (docs/reference/formats.md).

The translations of iputils (`po/*.po`) translate the unit and the words around it. All translations except the Czech
one keep `icmp_seq=`. Each line may begin with text of another program: of `ts`, of `--apple-time`, or of a shell's
loop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_UNIT_NS = {
    **dict.fromkeys(("ms", "msec", "мс", "毫秒", "ミリ秒", "მწმ", "mts"), 1_000_000), "us": 1_000, "µs": 1_000,
    "s": 1_000_000_000,
}  # fmt: skip
_UNIT = "|".join(sorted(_UNIT_NS, key=len, reverse=True))
_LAST_NS = 2**62
"""The largest accepted time, in the year 2116. The difference of two accepted times fits into 64 bits."""
_NUMBER = r"\d{1,9}(?:[.,]\d{1,9})?"
_SEQUENCE = re.compile(r"(?:\b(?:icmp_)?[sr]eq|\bpořadí)\s?=\s?(?P<seq>\d{1,10})\b")
"""`icmp_req=` is from iputils before 2012. The Georgian translation has a blank before the equals sign."""
_TIME = re.compile(rf"(?<!ttl)(?<!TTL)(?<!hlim)(?P<sign>[=<])\s?(?P<time>{_NUMBER})\s*(?P<unit>{_UNIT})(?![^\W\d_])")
_BYTES = re.compile(r"(?<![\d.:])(?P<bytes>\d{1,6}) bytes from (?P<from>.*?)[:,]?\s*$")
_ANY_BYTES = re.compile(r"^(?P<bytes>\d{1,6}) ")
_ADDRESS = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7})(?![\w.])")
_HOPS = re.compile(r"\b(?:ttl|hlim)\s?=\s?\d+", re.IGNORECASE)
_STAMP = re.compile(r"\[(?P<stamp>\d{1,12}\.\d{1,9})\]\s*")
_BARE_STAMP = re.compile(r"^(?P<stamp>\d{9,10}\.\d{1,9})(?:[:;,]?\s+)")
"""The time stamp that `ts %.s` prints. It has the form of `ping -D`, but without brackets."""
HEADER = re.compile(r"(?<!AR)(?:P(?:ING|ing)6?|ПІНГ)(?: (?P<target>\S+?) ?)?\((?P<address>[^\s()]*)")
_LENGTHS = re.compile(r"\b(?P<payload>\d{1,6}) ?\((?P<ip>\d{1,6})\) ")
_TALLY = re.compile(r"(?P<sent>\d{1,10}) packets transmitted, (?P<received>\d{1,10})(?: packets)? received\b")
_ANY_TALLY = re.compile(r"^\D*(?P<sent>\d{1,10})\D+(?P<received>\d{1,10})\D.*\d\s?%")
_TIMEOUT = re.compile(r"Request timeout for icmp_seq (?P<seq>\d{1,10})\b")
_ICMP_ERROR = re.compile(
    r"\b(?:Unreachable|unreachable|Unknown|Isolated|Prohibited|exceeded|Redirect|Quench|problem|Violation|Cutoff|filtered"
    r"|Frag|Failed|Source Route|Timestamp|Information|Address Mask|Echo|Bad|Type)\b"
)
"""The lines in which the BSDs report an ICMP error, such as `36 bytes from ROUTER: Destination Host Unreachable`."""
_SPREAD = re.compile(
    rf"=\s*(?P<least>{_NUMBER})/(?P<mean>{_NUMBER})/(?P<most>{_NUMBER})(?:/{_NUMBER})?\s*(?P<unit>{_UNIT})"
)
_COPY = re.compile(r"\((?:DUPL?!|DUPLIQUÉ\s?!|Kaksoiskappale!|重複!|重复!|중복!|YİNELENEN!|ДУБЛЮВАННЯ!)\)")
_PART = re.compile(r"^\[\d|\d bytes f|^\d{1,6} bytes\b")
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
"""Matches the colours that `grc ping` prints, and the control sequences in a recording of a terminal (script)."""
_MARK = re.compile(r"\([^()]*!\)")
"""A remark such as `(BAD CHECKSUM!)` or `(DIFFERENT ADDRESS!)`, in any language."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A line that reports a reply.

    seq: The sequence number as printed (modulo 65536).
    rtt_ns: The round trip. None means that the time in the line is not readable.
    resolution_ns: The value of one unit in the last digit of the printed round trip.
    printed_ns: The time at which the line was printed, in ns since 1970, if `-D` was used.
    source: The address that replied. None means that the language is not English.
    length_bytes: The length of the ICMP message.
    mark: The remarks that ping printed about the reply, such as a bad checksum or another address.
    prefix: The text before the reply on its line. ping's own time stamp is left out.
    at_most: Whether the printed round trip is an upper bound, as in `time<1 ms`.
    """

    line: int
    text: str
    seq: int
    rtt_ns: int | None
    resolution_ns: int
    printed_ns: int | None
    source: str | None
    length_bytes: int | None
    copy: bool
    mark: str | None
    prefix: str
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class Header:
    """The header line, with which an output of ping begins.

    target: The host that was pinged.
    ip_bytes: The IP length of a probe.
    """

    line: int
    target: str | None
    ip_bytes: int | None


@dataclass(frozen=True, slots=True)
class Tally:
    """The numbers of packets sent and received, from the summary line that ping prints."""

    line: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class Spread:
    """The minimum, mean and maximum round trip, as printed by ping."""

    line: int
    least_ns: int
    mean_ns: int
    most_ns: int
    resolution_ns: int


@dataclass(frozen=True, slots=True)
class Silence:
    """A line of ping about a missing reply, or about an error."""

    seq: int | None


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged line, which was a reply or looks like part of a reply."""

    line: int
    text: str
    replies: int = 1
    """The line may contain several replies. This is their smallest possible number."""


Line = Reply | Header | Tally | Spread | Silence | Damaged | None


def lines_of(text: str) -> list[tuple[str, Line]]:
    """Return all lines except blank ones, each with its meaning. The meaning is None if the line says nothing about a
    reply.

    If ping is killed while writing and started again, a new line begins in the middle of an unfinished line. Both lines
    are in the result, with the same text.
    """
    found: list[tuple[str, Line]] = []
    in_statistics = False
    # `splitlines` is not used, because it also splits at a form feed, while other tools do not count this as a line
    # end.
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        line = (_COLOUR.sub("", raw) if "\x1b" in raw else raw).strip()
        if not line:
            continue
        for what in _parts(number, line, in_statistics=in_statistics):
            if isinstance(what, Header | Reply):
                in_statistics = False
            found.append((line, what))
        in_statistics = in_statistics or "--- " in line
    return found


def _parts(number: int, line: str, *, in_statistics: bool) -> tuple[Line, ...]:
    # A plain search for text comes before any regular expression, because a file may have millions of lines.
    header = HEADER.search(line) if "PING" in line or "Ping" in line or "ПІНГ" in line else None
    numbers = list(_SEQUENCE.finditer(line))
    if header is not None:
        lengths = _LENGTHS.search(line, header.end())
        begins = Header(number, header["address"] or header["target"], int(lengths["ip"]) if lengths else None)
        return (Damaged(number, line), begins) if numbers or "bytes " in line[: header.start()] else (begins,)
    if len(numbers) == 1:
        return (_reply(number, line, numbers[0]),)
    # A line with two sequence numbers is a truncated line, followed by the next line without a line end in between.
    if numbers:
        return (Damaged(number, line, len(numbers)),)
    if in_statistics and (spread := _SPREAD.search(line)) is not None:
        return (_spread(number, spread),)
    if in_statistics and (tally := _TALLY.search(line) or _ANY_TALLY.search(line)) is not None:
        return (Tally(number, int(tally["sent"]), int(tally["received"])),)
    if (timeout := _TIMEOUT.match(line)) is not None or _ICMP_ERROR.search(line):
        return (Silence(None if timeout is None else int(timeout["seq"])),)
    return (Damaged(number, line) if _PART.search(line) or _HOPS.search(line) else None,)


def _reply(number: int, line: str, sequence: re.Match[str]) -> Line:
    head, rest = line[: sequence.start()].rstrip(), line[sequence.end() :]
    times = list(_TIME.finditer(rest))
    stamp = _STAMP.search(head) or _BARE_STAMP.search(head)
    after_stamp = head if stamp is None else head[stamp.end() :]
    said = _BYTES.search(after_stamp)
    length = said or _ANY_BYTES.search(after_stamp)
    # Lines that are no reply are, for instance, "no answer yet for icmp_seq=3" and "From 192.0.2.9 icmp_seq=4
    # Destination Host Unreachable", in any language.
    if not times and length is None and not _HOPS.search(rest):
        return Silence(int(sequence["seq"]))
    printed_ns = None if stamp is None else int(Decimal(stamp["stamp"]) * 1_000_000_000)
    if len(times) > 1 or int(sequence["seq"]) > 65_535 or (printed_ns or 0) > _LAST_NS:
        return Damaged(number, line)
    mark = _MARK.search(rest)
    copied = _COPY.search(rest) is not None
    rtt_ns, resolution_ns = _ns(times[0]["time"], times[0]["unit"]) if times else (None, 0)
    prefix = ("" if stamp is None else head[: stamp.start()]) + (after_stamp[: said.start()] if said else "")
    return Reply(
        line=number,
        text=line,
        seq=int(sequence["seq"]),
        rtt_ns=rtt_ns,
        resolution_ns=resolution_ns,
        printed_ns=printed_ns,
        source=None if said is None else _source(said["from"]),
        length_bytes=None if length is None else int(length["bytes"]),
        copy=copied,
        mark=None if mark is None or copied else mark[0],
        prefix=prefix.strip(),
        at_most=bool(times) and times[0]["sign"] == "<",
    )


def _ns(number: str, unit: str) -> tuple[int, int]:
    """Return a printed time in ns. Also return the value of one unit of the last printed digit."""
    # Decimal is used, because a time in ms with three digits is a whole number of us, while a product of floats seldom
    # is. No variant of ping prints a thousands separator, so a comma is the decimal sign of the locale.
    value = Decimal(number.replace(",", "."))
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "digits alone"
    return int(value * _UNIT_NS[unit]), max(int(Decimal(1).scaleb(exponent) * _UNIT_NS[unit]), 1)


def _source(text: str) -> str:
    """Return the address that replied, without the host name that some pings print before it."""
    addresses = _ADDRESS.findall(text)
    return addresses[-1].lower() if addresses else text.strip()


def _spread(number: int, spread: re.Match[str]) -> Spread:
    (least, step), (mean, _), (most, _) = (_ns(spread[name], spread["unit"]) for name in ("least", "mean", "most"))
    return Spread(number, least, mean, most, step)
