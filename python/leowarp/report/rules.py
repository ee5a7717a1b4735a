# SPDX-License-Identifier: Apache-2.0
"""The rules of a plan that shape a run's results, as the text below every figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leowarp.base.units import SPEED


def rules_of(document: dict[str, Any], manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rules of a plan that affect the run's results, as (name, text).

    A rule is left out if it has its default and the default does not affect results (no loss, no ECN, packets of
    1500 B).

    document: The plan as TOML, whose values are texts with units.
    manifest: The run's manifest, for the kernel's version, or an empty one.
    """
    # The rules are read from the plan's text, not from a `Plan`, so that each quantity is printed as written: 30 ms
    # instead of 30000000.
    rules: list[tuple[str, str]] = []
    if "constellation" in document:
        # An access link uses only the satellites of the constellation. A mobile channel uses the constellation's
        # satellites and routes. Neither an access link nor a mobile channel uses the constellation's links.
        shown = 1 if "access" in document else 5 if "mobile" in document else None
        rules += _constellation_rules(document)[:shown]
    if "chain" in document:
        chain = document["chain"]
        rules.append(("chain", f"{chain.get('hops')} links of {chain.get('delay')}"))
        rules.append(("links", _link_text(chain)))
    elif "measured" in document:
        rules.append(("measured path", str(document["measured"].get("file"))))
    elif "access" in document:
        rules += _access_rules(document["access"])
    elif "mobile" in document:
        rules += _mobile_rules(document["mobile"])
    elif "jittered" in document:
        path = document["jittered"]
        rules.append(("delay", f"{path.get('delay')}, {path.get('distribution')} of {path.get('jitter')} deviation"))
        rules.append(("delay back", str(path.get("delay_up"))))
        rules.append(("link", f"{_link_text(path)} (waiting and under way)"))
    network, tcp = document.get("network", {}), document.get("tcp", {})
    rules.append(("queue discipline", _queues(document)))
    # A plan contains every key, even those with default values. If a key is missing, an older version wrote the plan,
    # and that version behaved like the present default.
    profile = str(tcp.get("profile", "linux"))
    if tcp.get("pacing", "internal") != "internal":
        profile += f", paced by {tcp['pacing']}"
    if tcp.get("ecn", "passive") != "passive":
        profile += f", ECN {tcp['ecn']}"
    profile += {"on": f", ACKs delayed by up to {tcp.get('delayed_ack_timer')}", "off": ", ACKs not delayed"}.get(
        tcp.get("delayed_ack", "adaptive"), ""
    )
    if tcp.get("loss_detection", "kernel") != "kernel":
        profile += f", losses found by {tcp['loss_detection']}"
    if tcp.get("sysctl"):
        profile += " with " + ", ".join(f"{key}={value}" for key, value in tcp["sysctl"].items())
    rules.append(("TCP", profile))
    if network.get("mtu", "1500 B") != "1500 B":
        rules.append(("packets", f"of {network['mtu']} at most"))
    if network.get("family", "ipv4") != "ipv4":
        rules.append(("addresses", "IPv6"))
    rules.append(("kernel", kernel_name(manifest)))
    rules.append(("seed", str(document.get("run", {}).get("seed", "?"))))
    return rules


def _queues(document: dict[str, Any]) -> str:
    network = document.get("network", {})
    # An access link, a mobile channel and a measured path use no links of the sections `isl` and `ground`.
    own: list[str] = [name for name in ("chain", "measured", "access", "mobile", "jittered") if name in document]
    sections = own[:1] or [name for name in ("isl", "ground") if name in document]
    kinds = {
        name: str(document[name].get("queue_discipline", "fifo")) + (" with ECN" if document[name].get("ecn") else "")
        for name in sections
    }
    several = len(set(kinds.values())) > 1
    # Only these two sections occur together.
    words = {"isl": "ISL", "ground": "ground"}
    text = "; ".join(dict.fromkeys(f"{words[name]} {kind}" if several else kind for name, kind in kinds.items()))
    text = text or "fifo"
    if "jittered" in document:
        return f"{text} (netem under tbf)"
    if network.get("link_model", "leolink") != "leolink":
        text += f" ({network['link_model']})"
    if network.get("queue_counts", "waiting") != "waiting":
        text += ", limit counts packets in flight too"
    return text


def _access_rules(access: dict[str, Any]) -> list[tuple[str, str]]:
    profile = f"{access.get('profile')}, {access.get('preset')}"
    if access.get("geometry", "profile") != "profile":
        profile += f", delays by {access['geometry']}"
    ways = [
        f"{name} about {access.get('capacity' + end)}, queue {access.get('queue' + end, access.get('queue'))}"
        for name, end in (("down", ""), ("up", "_up"))
    ]
    counted = f"counting IP + {access.get('overhead')}"
    return [
        ("access link", profile),
        ("reconfigured", f"every {access.get('period')}, first at second {access.get('phase')} of the minute"),
        ("links", f"{'; '.join(ways)}; {counted}{_discipline(access)}"),
    ]


def _mobile_rules(mobile: dict[str, Any]) -> list[tuple[str, str]]:
    speed_m_per_s = SPEED.parse(mobile.get("speed", "0 m/s"))
    fading = f"{mobile.get('environment')} at {mobile.get('elevation')}, speed {3.6 * speed_m_per_s:.6g} km/h"
    order = "in order" if mobile.get("resequencing") else "order not kept"
    harq = {"incremental": "hybrid ARQ II", "chase": "hybrid ARQ I"}.get(str(mobile.get("harq")), "hybrid ARQ")
    channel = f"{fading if mobile.get('fading', True) else 'no fading'}, SNR {mobile.get('snr')}, {harq}, {order}"
    if mobile.get("delays", "constant") == "constant":
        channel += f"; {mobile.get('forward_delay')} to the satellite"
    return [
        ("mobile channel", channel),
        ("link", f"{mobile.get('rate')}, queue {mobile.get('queue')}{_discipline(mobile)}"),
    ]


def _discipline(link: dict[str, Any]) -> str:
    kind = link.get("queue_discipline", "fifo")
    return "" if kind == "fifo" else f", {kind}{' with ECN' if link.get('ecn') else ''}"


def _switching(routing: dict[str, Any]) -> str:
    if routing.get("update", "atomic") == "atomic":
        return ""
    return (
        f"; nodes switch one by one, {routing.get('update_order')}, {routing.get('update_delay')} each "
        f"({routing.get('update_spread')})"
    )


def _constellation_rules(document: dict[str, Any]) -> list[tuple[str, str]]:
    shell, isl, ground = document["constellation"], document.get("isl", {}), document.get("ground", {})
    routing, network = document.get("routing", {}), document.get("network", {})
    if shell.get("tle", "none") not in ("none", None):
        place = f"elements of {Path(str(shell['tle'])).name}"
    elif shell.get("shells"):
        each = ", ".join(
            f"{one['planes']} x {one['satellites_per_plane']} at {one['altitude']}, {one['inclination']}"
            for one in shell["shells"]
        )
        place = f"{len(shell['shells'])} Walker shells: {each}"
    else:
        place = (
            f"Walker {shell.get('pattern')} {shell.get('planes')} x {shell.get('satellites_per_plane')}, "
            f"{shell.get('altitude')}, {shell.get('inclination')}, F={shell.get('phasing')}"
        )
    isl_rule = {
        "range": f"any pair within {isl.get('max_range')}",
        "plus-grid": "+Grid" + ("" if isl.get("seam", True) else " without seam"),
        "none": "none",
    }.get(str(isl.get("rule")), str(isl.get("rule")))
    if ground.get("rule") == "min-elevation":
        ground_rule = f"elevation over {ground.get('min_elevation')}"
    else:
        ground_rule = f"sub-satellite point within {ground.get('max_ground_range')}"
    links = _link_text(isl)
    # By default, the texts for ISLs and for ground links are equal. Equal texts are shown only once, because a figure
    # has space for only a line or two.
    if _link_text(ground) != links:
        links = f"ISL {links}; ground {_link_text(ground)}"
    if network.get("delay_rounding", "none") != "none":
        links += f", delays rounded {network['delay_rounding']}"
    if network.get("neighbours", "static") != "static":
        links += f", neighbours by {str(network['neighbours']).upper()}"
    if network.get("endpoints", "stations") != "stations":
        links += ", ground links ideal"
    elif ground.get("delay", "slant-range") != "slant-range":
        links += ", no ground delay"
    unshaped = [str(station.get("name")) for station in document.get("stations", []) if not station.get("shaped", True)]
    if unshaped and network.get("endpoints", "stations") == "stations":
        links += f", unshaped at {', '.join(unshaped)}"
    dishes = [
        (f"{name} of {station.get('name')}", text)
        for station in document.get("stations", []) if "access" in station
        for name, text in _access_rules(station["access"])
    ]  # fmt: skip
    return [
        ("constellation", place),
        ("ISL", isl_rule + _acquisition(isl)),
        ("ground", ground_rule + _gap(ground)),
        ("routes", f"by {routing.get('metric')}, every {routing.get('interval')}{_margin(routing)}"),
        ("delays", f"every {routing.get('link_interval')}"),
        ("in flight", f"{routing.get('in_flight')}, leaving links {routing.get('leaving_links')}{_switching(routing)}"),
        *_cures_rules(document.get("cures", {})),
        ("links", links),
        *dishes,
    ]


def _acquisition(isl: dict[str, Any]) -> str:
    if "acquisition" not in isl:
        return ""
    between = isl.get("acquisition_between_planes")
    classes = "" if between is None else f" in a plane, {between} between planes"
    return f", new ones after {isl['acquisition']}{classes} ({isl.get('acquiring')})"


def _gap(ground: dict[str, Any]) -> str:
    if "handover_gap" not in ground:
        return ""
    spread = str(ground.get("handover_gap_spread", "0 s"))
    around = "" if spread.split()[0] == "0" else f" +- {spread}"
    return f", handover gap {ground['handover_gap']}{around} ({ground.get('in_gap')})"


def _margin(routing: dict[str, Any]) -> str:
    """Return the text of `routing.margin`: a route changes only to a path that is shorter by this margin."""
    margin = str(routing.get("margin", "0 %"))
    if margin == "unlimited":
        return ", kept until they break"
    return "" if margin.split()[0] in ("0", "0.0") else f", kept while no more than {margin} above the least"


def _cures_rules(cures: dict[str, Any]) -> list[tuple[str, str]]:
    said = []
    if cures.get("move_queue", "off") != "off":
        said.append(f"queue moved ({cures['move_queue']})")
    if cures.get("hold"):
        said.append(f"new packets held back, {cures.get('hold_buffer')}, full: {cures.get('hold_full')}")
    if cures.get("end_marker"):
        said.append(f"end marker, waited for {cures.get('end_marker_wait')} at most")
    if cures.get("duplicate", "off") != "off":
        said.append(f"both ways for {cures['duplicate']}")
    if cures.get("resequence", "off") != "off":
        kind = f" ({cures['resequence_kind']})" if cures.get("resequence_kind", "basic") != "basic" else ""
        said.append(f"resequenced by {cures['resequence']}{kind}, {cures.get('resequence_delay')} at most")
    if cures.get("notify"):
        delay = str(cures.get("notify_delay"))
        when = f"{delay.removeprefix('-')} before it" if delay.startswith("-") else f"{delay} after it"
        said.append(f"hosts are told, {when}, {cures.get('notify_loss')} of it lost")
    return [("cures", "; ".join(said))] if said else []


def _link_text(link: dict[str, Any]) -> str:
    loss = str(link.get("loss", "0 %"))
    text = f"{link.get('rate')} counting IP + {link.get('overhead')}, queue {link.get('queue')}{_discipline(link)}"
    return text if loss.split()[0] in ("0", "0.0") else f"{text}, loss {loss}"


def kernel_name(manifest: dict[str, Any]) -> str:
    """Return the version of the guest's kernel, from the run's manifest."""
    kernel = manifest.get("kernel")
    if not isinstance(kernel, dict) or not kernel.get("linux_version"):
        return "not recorded"
    own = "user's own" in str(kernel.get("source"))
    return f"Linux {kernel['linux_version']}" + (" (the user's own)" if own else "")
