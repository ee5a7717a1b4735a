# SPDX-License-Identifier: Apache-2.0
"""Tests that a plan contains every value. A plan that is loaded as a scenario must give the same plan again. In a run
directory, leowarp must find the plan's files."""

import hashlib
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base import layout
from leowarp.base.errors import ScenarioError
from leowarp.base.units import BYTES, PACKETS
from leowarp.scenario import load, resolve, schema
from leowarp.scenario.loading import TABLES
from leowarp.scenario.loading_test import GOOD, write
from leowarp.scenario.schema import Plan
from leowarp.scenario.text.key import Key, keys

MEASURED = """\
name = "measured"
[measured]
file = "tables/path.csv"
[[flows]]
source = "A"
destination = "B"
"""
SHELLS = """\
name = "shells"
[constellation]
[[constellation.shells]]
planes = 5
satellites_per_plane = 4
altitude = "550 km"
inclination = "53 deg"
phasing = 2
[[constellation.shells]]
planes = 3
satellites_per_plane = 7
altitude = "1200 km"
inclination = "87.9 deg"
pattern = "star"
[[stations]]
name = "Madrid"
[[stations]]
name = "Tokyo"
[[flows]]
source = "Madrid"
destination = "Tokyo"
"""
ELEMENTS = """\
name = "elements"
[constellation]
tle = "some.tle"
epoch = 2022-09-14T02:00:00+02:00
[[stations]]
name = "Madrid"
[[stations]]
name = "Somewhere else"
latitude = "-10.5 deg"
longitude = "20 deg"
height = "1200 m"
[[flows]]
kind = "ping"
source = "Madrid"
destination = "Somewhere else"
[[flows]]
kind = "udp"
source = "Madrid"
destination = "Somewhere else"
rate = "1.5 Mbit/s"
start = "10 s"
stop = "20.5 s"
["hosts"."Somewhere else".tcp]
profile = "newreno"
sysctl = { "net.ipv4.tcp_ecn" = "1" }
"""
CHAIN = """\
name = "chain"
[chain]
hops = 4
queue = "unlimited"
rate = "unshaped"
[[flows]]
source = "A"
destination = "B"
size = "10 MB"
[[flows]]
kind = "program"
source = "A"
destination = "B"
client = "iperf3 -c {server}"
"""
JITTERED = """\
name = "jittered"
[run]
ends = "flows"
[jittered]
jitter = "1.2475 ms"
distribution = "table"
table = "delays.txt"
[[flows]]
source = "A"
destination = "B"
size = "120 MB"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
packet_rate = "8235 pkts/s"
packets = 65535
payload = "1472 B"
replies = false
[[flows]]
kind = "udp"
source = "B"
destination = "A"
packet_rate = "0.5 pkt/s"
[observe]
sockets = "none"
counters = "none"
queues = "none"
truth = false
reordering_threshold = "50 pkts"
reordering_window = "none"
"""
MOBILE = """\
name = "mobile"
[mobile]
snr = "7 dB"
speed = "3 km/h"
resequencing = false
[[flows]]
source = "server"
destination = "mobile"
"""

ACCESS = """\
name = "access"
[access]
preset = "off-peak"
queue_discipline = "fq_codel"
ecn = true
queue_parameters = { target = "5 ms", interval = "100 ms", quantum = "1514 B", flows = 512 }
[[flows]]
source = "server"
destination = "dish"
"""
DRIVEN = """\
name = "driven"
[access]
geometry = "constellation"
[constellation]
preset = "starlink-shell1"
[[flows]]
source = "server"
destination = "dish"
"""
ROUTED = """\
name = "routed"
[mobile]
delays = "constellation"
last_satellite = "highest"
terminal_latitude = "-33.45 deg"
[constellation]
preset = "tauran-study"
[isl]
seam = true
[[flows]]
source = "server"
destination = "mobile"
"""
INPUTS = {
    "tables/path.csv": "t_s,delay_ms,rate_mbps,loss_ratio\n0,10,100,0\n",
    "some.tle": "1 25544U\n",
    "delays.txt": "1\n2\n4\n",
}


def write_inputs(folder: Path) -> None:
    """Write the input files that this module's scenarios name."""
    for name, content in INPUTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def again(folder: Path, plan: Plan, overrides=()) -> Plan:
    """Write `plan` into a run directory as text, and return the plan that is loaded from there."""
    run = folder / "run"
    (run / layout.INPUTS).mkdir(parents=True, exist_ok=True)
    for path in plan.inputs():
        shutil.copy(path, run / layout.INPUTS)
    (run / "00-plan.toml").write_text(plan.to_toml(), encoding="utf-8")
    return resolve(load(run, overrides))


@pytest.mark.parametrize(
    "text",
    [GOOD, MEASURED, ELEMENTS, CHAIN, JITTERED, ACCESS, DRIVEN, MOBILE, ROUTED],
    ids=["walker", "measured", "elements", "chain", "jittered", "access", "driven", "mobile", "routed"],
)
# Tests RFC 4737, 1.3 (context).
# Tests RFC 4737, 6 (packet generation).
def test_a_plan_gives_itself(tmp_path, text):
    write_inputs(tmp_path)
    plan = resolve(load(write(tmp_path, text)))
    second = again(tmp_path, plan)
    assert second == plan
    assert second.to_toml() == plan.to_toml()


def values_of(declared: Key) -> st.SearchStrategy:
    """Return valid texts that a user could write for a key."""
    words = [st.just(f'"{declared.none}"')] if declared.none is not None else []
    if declared.kind == "word":
        return st.sampled_from([f'"{word}"' for word in declared.words])
    if declared.kind == "flag":
        return st.one_of(st.sampled_from(["true", "false"]), *words)
    if declared.kind == "count":
        return st.one_of(st.integers(declared.low, declared.high).map(str), *words)
    if declared.kind == "queue":
        limits = st.integers(1, 10**9)
        texts = [limits.map(lambda n: f'"{PACKETS.format(n)}"'), limits.map(lambda n: f'"{BYTES.format(n)}"')]
        return st.one_of(*texts, *words)
    quantity = declared.quantity
    assert quantity is not None
    low, high = quantity.parse(declared.low), quantity.parse(declared.high)
    numbers = st.integers(int(low), int(high)) if quantity.whole else st.floats(low, high)
    return st.one_of(numbers.map(lambda x: f'"{quantity.format(x)}"'), *words)


def free(sections: dict[str, type]) -> dict[str, Key]:
    """Return a dict from dotted name to key. It has the keys whose values are valid whatever the other keys are."""
    # The keys in this list are valid only in combination with others; they have separate tests.
    bound = (
        "run.duration", "run.ends", "observe.truth", "jittered.distribution", "jittered.queue",
        "isl.ecn", "isl.queue_discipline", "ground.ecn", "ground.queue_discipline", "tcp.delayed_ack_timer",
        "tcp.recovery", "tcp.reordering", "tcp.max_reordering", "tcp.loss_detection",
        "isl.across_shells", "isl.background", "ground.background",
        "routing.update", "routing.update_order", "routing.update_delay", "routing.update_spread",
        "isl.acquisition", "isl.acquisition_between_planes", "isl.acquiring",
        "ground.handover_gap", "ground.handover_gap_spread", "ground.in_gap",
    )  # fmt: skip
    return {
        f"{name}.{key}": declared
        for name, section in sections.items()
        for key, (_, declared) in keys(section).items()
        if declared.kind not in ("text", "sysctl", "table", "tables", "file", "files") and f"{name}.{key}" not in bound
    }


FREE = free({name: TABLES[name] for name in ("run", "isl", "ground", "routing", "observe", "tcp", "guest")})
FREE_OF_JITTERED = free({name: TABLES[name] for name in ("run", "jittered", "observe")}) | {
    f"flows.1.{key}": keys(schema.Flow)[key][1] for key in ("packet_rate", "packets", "replies", "payload")
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "keys_of"), [(GOOD, FREE), (JITTERED, FREE_OF_JITTERED)], ids=["walker", "jittered"])
@settings(max_examples=60)
@given(data=st.data())
def test_any_valid_values_give_a_plan_that_gives_itself(tmp_path_factory, text, keys_of, data):
    chosen = data.draw(st.lists(st.sampled_from(sorted(keys_of)), unique=True, max_size=12))
    overrides = [f"{key}={data.draw(values_of(keys_of[key]))}" for key in chosen]
    if "observe.pcap" in chosen:
        overrides.append("observe.truth=true")
    folder = tmp_path_factory.getbasetemp()
    write_inputs(folder)
    plan = resolve(load(write(folder, text, "free.toml"), overrides))
    path = write(folder, plan.to_toml(), "plan.toml")
    assert resolve(load(path)) == plan
    assert resolve(load(path)).to_toml() == plan.to_toml()


@pytest.mark.slow
@settings(max_examples=100)
@given(name=st.text(min_size=1, max_size=12))
def test_any_station_name_that_is_allowed_survives(tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp()
    place = {"stations.0.name": name, "stations.0.latitude": "1 deg", "stations.0.longitude": "2 deg"}
    try:
        plan = resolve(load(write(folder, GOOD, "named.toml"), place | {"flows.0.source": name}))
    except ScenarioError as error:
        assert "stations.0.name" in str(error)  # noqa: PT017
        return
    assert resolve(load(write(folder, plan.to_toml(), "plan.toml"))) == plan


@pytest.mark.parametrize("name", ["Århus", "St. John's", 'the "dish"', "東京", "A.B", "x=y", "#1"])
def test_names_that_toml_must_quote_are_allowed(tmp_path, name):
    place = {"stations.0.name": name, "stations.0.latitude": "1 deg", "stations.0.longitude": "2 deg"}
    plan = resolve(
        load(write(tmp_path, GOOD), place | {"flows.0.source": name, f"hosts.{name!r}.tcp.profile": "classic"})
    )
    assert plan.hosts[0].tcp.profile == "classic"
    assert again(tmp_path, plan) == plan


# Tests RFC 4737, 1.3 (context).
# Tests RFC 4737, 6 (packet generation).
def test_every_key_of_the_schema_stands_in_some_plan(tmp_path):
    write_inputs(tmp_path)
    written = ""
    cured = GOOD + '[cures]\nhold = true\nresequence = "flow"\n'
    told = GOOD + "[cures]\nend_marker = true\nnotify = true\n"
    staggered = GOOD + '[routing]\nupdate = "staggered"\n'
    times = {"isl.acquisition": "5 s", "isl.acquisition_between_planes": "9 s", "ground.handover_gap": "30 ms"}
    late = resolve(load(write(tmp_path, GOOD), times))
    written += late.to_toml()
    (tmp_path / "map.csv").write_text("azimuth_deg,elevation_deg\n0,30\n")
    sky = {"stations.0.geostationary_separation": "22 deg", "stations.0.obstructions": str(tmp_path / "map.csv")}
    written += resolve(load(write(tmp_path, GOOD), sky)).to_toml()
    written += resolve(load(Path(__file__).parents[3] / "examples" / "two-dishes.toml")).to_toml()
    for text in (GOOD, cured, told, staggered, MEASURED, ELEMENTS, CHAIN, JITTERED, ACCESS, MOBILE, SHELLS):
        written += resolve(load(write(tmp_path, text))).to_toml()
    # A plan contains the flows of [traffic] as [[flows]].
    tables = [section for name, section in TABLES.items() if name != "traffic"]
    sections = [*tables, schema.Shell, schema.Station, schema.Flow]
    missing = [
        key
        for section in sections
        for key in keys(section)
        if f"\n{key} = " not in written and f".{key}]]\n" not in written
    ]
    assert missing == []


def test_a_plan_names_files_by_name_and_hash_only(tmp_path):
    (tmp_path / "tables").mkdir()
    content = "t_s,delay_ms,rate_mbps,loss_ratio\n0,10,100,0\n"
    write(tmp_path / "tables", content, "path.csv")
    plan = resolve(load(write(tmp_path, MEASURED)))
    assert plan.inputs() == [tmp_path / "tables" / "path.csv"]
    text = plan.to_toml()
    assert 'file = "path.csv"' in text
    assert f'file_sha256 = "{hashlib.sha256(content.encode()).hexdigest()}"' in text
    assert str(tmp_path) not in text


def test_a_file_that_has_changed_since_the_plan_is_refused(tmp_path):
    (tmp_path / "tables").mkdir()
    write(tmp_path / "tables", "t_s\n", "path.csv")
    plan = resolve(load(write(tmp_path, MEASURED)))
    again(tmp_path, plan)
    write(tmp_path / "run" / layout.INPUTS, "t_s,changed\n", "path.csv")
    with pytest.raises(ScenarioError, match="the plan was made with"):
        resolve(load(tmp_path / "run"))


def test_a_file_that_is_not_there_is_named_with_where_it_was_looked_for(tmp_path):
    with pytest.raises(ScenarioError) as caught:
        resolve(load(write(tmp_path, MEASURED)))
    assert 'measured.file: there is no file "tables/path.csv"' in str(caught.value)
    assert str(tmp_path / "tables" / "path.csv") in str(caught.value)


def test_a_preset_set_on_a_plan_replaces_what_the_plan_spells_out(tmp_path):
    plan = resolve(load(write(tmp_path, GOOD)))
    assert plan.constellation is not None
    assert plan.constellation.planes == 6
    other = again(tmp_path, plan, ["constellation.preset=oneweb-study"]).constellation
    assert other is not None
    assert (other.planes, other.altitude_m, other.phasing) == (18, 1_200_000.0, 0)
    kept = again(tmp_path, plan, ["constellation.planes=9", "constellation.preset=oneweb-study"]).constellation
    assert kept is not None
    assert kept.planes == 9


def test_a_profile_set_on_a_plan_replaces_the_sysctls_that_the_plan_spells_out(tmp_path):
    plan = resolve(load(write(tmp_path, GOOD)))
    assert again(tmp_path, plan).hosts[0].sysctl["net.ipv4.tcp_recovery"] == "1"
    assert again(tmp_path, plan, ["tcp.profile=classic"]).hosts[0].sysctl["net.ipv4.tcp_recovery"] == "0"
    hosts = again(tmp_path, plan, ["hosts.Tokyo.tcp.profile=classic"]).hosts
    assert [host.sysctl["net.ipv4.tcp_recovery"] for host in hosts] == ["1", "0"]
    larger = again(tmp_path, plan, ["tcp.buffer_max=64 MiB"])
    assert larger.sysctl["net.core.rmem_max"] == str(64 * 2**20)
    assert larger.hosts[0].sysctl["net.ipv4.tcp_rmem"] == f"4096 131072 {64 * 2**20}"


def test_a_place_set_on_a_plan_brings_its_own_coordinates(tmp_path):
    plan = resolve(load(write(tmp_path, GOOD)))
    moved = again(tmp_path, plan, ["stations.0.name=Paris", "flows.0.source=Paris"])
    assert (moved.stations[0].name, moved.stations[0].latitude_deg) == ("Paris", 48.86)


def test_a_shorter_run_of_a_plan_ends_its_flows_earlier(tmp_path):
    plan = resolve(load(write(tmp_path, GOOD)))
    assert again(tmp_path, plan, ["run.duration=10 s"]).flows[0].stop_ns == 10 * 10**9


def test_a_plan_from_before_these_keys_means_what_it_meant(tmp_path):
    plan = resolve(load(write(tmp_path, CHAIN)))
    since = (
        "ends = ", "linger = ", "truth = ", "reordering_threshold = ", "reordering_window = ", "queue_discipline = ",
        "queue_parameters = ", "pacing = ", "sack = ", "dsack = ", "rack = ", "timestamps = ", "cc_modules = ",
    )  # fmt: skip
    lines = plan.to_toml().splitlines()
    old = [line for line in lines if not line.startswith((*since, "ecn = "))]
    assert len(lines) - len(old) == len(since) + 2, "ecn is a key of the chain and of TCP"
    loaded = resolve(load(write(tmp_path, "\n".join(old) + "\n")))
    assert loaded == plan
    assert (loaded.run.ends, loaded.observe.truth, loaded.observe.sockets_ns) == ("duration", True, 50_000_000)


def test_orbital_elements_bring_sidereal_time_and_the_ellipsoid(tmp_path):
    write(tmp_path, "1 25544U\n", "some.tle")
    constellation = resolve(load(write(tmp_path, ELEMENTS))).constellation
    assert constellation is not None
    assert (constellation.greenwich_deg, constellation.earth, constellation.planes) == (None, "wgs84", None)
    assert constellation.epoch == "2022-09-14T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (CHAIN + "[isl]\nseam = true\n", "isl.seam"),
        (CHAIN + '[network]\ninstantiate = "all"\n', "network.instantiate"),
        (CHAIN + '[[stations]]\nname = "Madrid"\n', "stations.0.name"),
        (ELEMENTS.replace("[constellation]", "[constellation]\nplanes = 4"), "constellation.planes"),
        (ELEMENTS.replace("[constellation]", '[constellation]\ngreenwich = "0 deg"'), "constellation.greenwich"),
        (CHAIN.replace('"unlimited"', '"64 kB"') + '[network]\nlink_model = "netem"\n', "chain.queue"),
        (JITTERED + '[network]\nneighbours = "arp"\n', "network.neighbours"),
        (ACCESS + "[isl]\nseam = true\n", "isl.seam"),
        (ACCESS + '[[stations]]\nname = "Madrid"\n', "stations.0.name"),
        (ACCESS + "[chain]\n", "chain"),
        (ACCESS + '[constellation]\npreset = "starlink-shell1"\n', "constellation"),
        (ACCESS.replace("[access]", '[access]\ngeometry = "constellation"'), "access.geometry"),
        (ACCESS.replace('source = "server"', 'source = "A"'), "flows.0.source"),
        (MOBILE + '[constellation]\npreset = "tauran-study"\n', "constellation"),
        (MOBILE.replace("[mobile]", '[mobile]\ndelays = "constellation"'), "mobile.delays"),
        (MOBILE.replace("[mobile]", '[mobile]\nterminal_latitude = "0 deg"'), "mobile.terminal_latitude"),
        (MOBILE + "[isl]\nseam = true\n", "isl.seam"),
        (ROUTED.replace("[mobile]", '[mobile]\nforward_delay = "70 ms"'), "mobile.forward_delay"),
        (ROUTED.replace("[isl]", '[isl]\nrate = "1 Gbit/s"'), "isl.rate"),
        (ROUTED + '[routing]\nreverse = "own"\n', "routing.reverse"),
        (ROUTED + '[[stations]]\nname = "Madrid"\n', "stations.0.name"),
        (DRIVEN + '[[stations]]\nname = "Madrid"\n', "stations.0.name"),
        (JITTERED + "[isl]\nseam = true\n", "isl.seam"),
        (JITTERED + "[chain]\n", "jittered"),
        (JITTERED.replace('"table"', '"normal"'), "jittered.table"),
        (JITTERED.replace('table = "delays.txt"\n', f'table_sha256 = "{"0" * 64}"\n'), "jittered.table"),
        (JITTERED.replace("[jittered]", '[jittered]\nqueue = "64 kB"'), "jittered.queue"),
        (JITTERED + 'pcap = "both"\n', "observe.pcap"),
        (JITTERED.replace("packets = 65535", 'interval = "1 s"'), "flows.1.packet_rate"),
        (JITTERED.replace("packets = 65535", "packets = 0"), "flows.1.packets"),
        (JITTERED.replace("packets = 65535", 'size = "1 MB"'), "flows.1.size"),
        (JITTERED.replace('"0.5 pkt/s"', '"0.5 pkt/s"\nrate = "1 Mbit/s"'), "flows.2.packet_rate"),
        (JITTERED.replace('"0.5 pkt/s"', '"0.5 pkts"'), "flows.2.packet_rate"),
        (JITTERED.replace('"0.5 pkt/s"', '"none"'), "flows.2.rate"),
        (JITTERED.replace('"0.5 pkt/s"', '"0.5 pkt/s"\nreplies = true'), "flows.2.replies"),
        (JITTERED.replace('size = "120 MB"', 'kind = "ping"'), "flows.1.replies"),
        (JITTERED.replace('size = "120 MB"', "").replace("packets = 65535", ""), "run.ends"),
    ],
)
def test_keys_without_effect_are_errors(tmp_path, text, key):
    write_inputs(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        resolve(load(write(tmp_path, text)))
    assert f": {key}: " in str(caught.value)
