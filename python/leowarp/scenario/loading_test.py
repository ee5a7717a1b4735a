# SPDX-License-Identifier: Apache-2.0
"""Tests the message about each kind of mistake. The message names file, line, key, value and rule, and says what to
write instead."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.text.problems import ScenarioProblems

# A valid scenario of 20 lines; each case below changes one line.
GOOD = """\
name = "good"
schema = 1
[run]
duration = "100 s"
seed = 3
[constellation]
preset = "iridium"
[[stations]]
name = "Madrid"
[[stations]]
name = "Tokyo"
[isl]
rate = "100 Mbit/s"
queue = "500 pkts"
[network]
link_model = "leolink"
[[flows]]
source = "Madrid"
destination = "Tokyo"
congestion_control = "cubic"
"""


def write(folder: Path, text: str, name: str = "scenario.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def changed(line: int, text: str) -> str:
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def problems_of(path: Path, overrides=()) -> tuple:
    with pytest.raises(ScenarioProblems) as caught:
        resolve(load(path, overrides))
    return caught.value.problems


def test_without_a_medium_the_stations_and_flows_are_no_mistakes_as_well(tmp_path):
    text = GOOD.replace('[constellation]\npreset = "iridium"\n', "")
    (problem,) = problems_of(write(tmp_path, text))
    assert problem.rule.startswith("none of [constellation], ")


def test_without_a_medium_and_stations_the_medium_alone_is_asked_for(tmp_path):
    text = 'name = "bare"\n[[flows]]\nsource = "A"\ndestination = "B"\n'
    (problem,) = problems_of(write(tmp_path, text))
    assert problem.rule.startswith("none of [constellation], ")


def test_the_scenario_that_the_cases_spoil_is_good(tmp_path):
    plan = resolve(load(write(tmp_path, GOOD)))
    assert (plan.name, plan.run.duration_ns, plan.run.seed) == ("good", 100 * 10**9, 3)
    assert plan.constellation is not None
    assert (plan.constellation.planes, plan.constellation.altitude_m) == (6, 780_000.0)


@pytest.mark.parametrize(
    ("line", "text", "key", "said"),
    [
        (1, 'name = "a/b"', "name", "is not a name"),
        (1, "name = 5", "name", "is not a name"),
        (2, "schema = 2", "schema", "reads schema = 1"),
        (2, "schemma = 1", "schemma", 'did you mean "schema"'),
        (2, 'duration = "5 s"', "duration", 'did you mean "duration" in [run]?'),
        (2, "tcp = 3", "tcp", "write [tcp]"),
        (2, 'tcp.profle = "linux"', "tcp.profle", 'did you mean "profile"'),
        (2, "extends = 3", "extends", "is not a file name"),
        (2, 'extends = "gone.toml"', "extends", "there is no file"),
        (4, "duration = 100", "run.duration", "100 is a bare number"),
        (4, "duration = 1e3", "run.duration", "bare number"),
        (4, 'duration = "100"', "run.duration", "has no unit"),
        (4, 'duration = "100 m"', "run.duration", 'minutes are "min"'),
        (4, 'duration = "100 km"', "run.duration", "is not a unit of a time"),
        (4, 'duration = "0 s"', "run.duration", "allowed: 1 ms to 30 d"),
        (4, 'duration = "-5 s"', "run.duration", "out of range"),
        (4, 'duraton = "100 s"', "run.duraton", 'did you mean "duration"'),
        (4, 'interval = "1 s"', "run.interval", 'did you mean "interval" in ['),
        (4, 'zzz = "1 s"', "run.zzz", "known here: duration, ends, linger, start, seed"),
        (5, 'seed = "3"', "run.seed", "is not a bare integer"),
        (5, "seed = 3.0", "run.seed", "is not a bare integer"),
        (5, "seed = true", "run.seed", "true is not a bare integer"),
        (5, "seed = -1", "run.seed", "out of range"),
        (5, f"seed = 0x{'f' * 5000}", "run.seed", "out of range"),
        (7, 'preset = "irridium"', "constellation.preset", 'did you mean "iridium"'),
        (7, 'preset = "none"', "constellation.altitude", "is missing"),
        (7, 'planes = "6"', "constellation.planes", "is not a bare integer"),
        (7, 'preset = "iridium"\nphasing = 6', "constellation.phasing", "allowed: 0 to 5"),
        (7, 'preset = "iridium"\nepoch = "2020"', "constellation.epoch", "is not an instant"),
        (7, 'preset = "iridium"\nepoch = "2020-01-01T00:00:00"', "constellation.epoch", "no time zone"),
        (7, 'preset = "iridium"\ntle_sha256 = "00"', "constellation.tle_sha256", "64 hexadecimal digits"),
        (7, 'tle = "x.tle"', "constellation.epoch", "is missing"),
        (7, 'preset = "iridium"\nearth = "spere"', "constellation.earth", 'did you mean "sphere"'),
        (9, 'name = "Madird"', "stations.0", 'did you mean the place "Madrid"'),
        (9, 'name = "Madrid"\nlatitude = "40 deg"', "stations.0", "has no longitude"),
        (9, 'name = "Madrid"\nlatitude = 40.2\nlongitude = "3 deg"', "stations.0.latitude", "bare number"),
        (9, 'name = "Madrid"\nlatitude = "91 deg"\nlongitude = "3 deg"', "stations.0.latitude", "-90 deg to 90 deg"),
        (9, 'name = "Tokyo"', "stations.1.name", "two stations"),
        (9, 'name = "a>b"\nlatitude = "1 deg"\nlongitude = "1 deg"', "stations.0.name", "begins like a satellite"),
        (9, 'name = ""', "stations.0.name", "is empty"),
        (13, "rate = 100", "isl.rate", "bare number"),
        (13, 'rate = "100 Mbps"', "isl.rate", "spelt out"),
        (13, 'rate = "100 MB/s"', "isl.rate", "1 byte = 8 bits"),
        (13, 'rate = "unshapd"', "isl.rate", 'or the word "unshaped"'),
        (13, 'rule = "plusgrid"', "isl.rule", 'did you mean "plus-grid"'),
        (13, 'seam = "yes"', "isl.seam", "neither true nor false"),
        (13, 'loss = "0.1"', "isl.loss", "has no unit"),
        (13, 'loss = "101 %"', "isl.loss", "0 % to 100 %"),
        (13, "terminals = 0", "isl.terminals", "1 to 1000"),
        (14, "queue = 500", "isl.queue", "bare number"),
        (14, 'queue = "500"', "isl.queue", "has no unit"),
        (14, 'queue = "0 pkts"', "isl.queue", "out of range"),
        (14, 'queue = "500 packets"', "isl.queue", '"500 pkts", "64 kB" or "unlimited"'),
        (16, 'queue_counts = "waiting-and-flying"', "network.queue_counts", 'link_model = "netem"'),
        (17, "[flows]", "flows", "write [[flows]]"),
        (18, 'source = "Madrit"', "flows.0.source", 'did you mean "Madrid"'),
        (18, 'start = "0 s"', "flows.0.source", "is missing"),
        (19, 'destination = "Madrid"', "flows.0.destination", "is the source too"),
        (20, 'congestion_control = "cubik"', "flows.0.congestion_control", 'did you mean "cubic"'),
        (20, 'interval = "1 s"', "flows.0.interval", "is a key of ping"),
        (20, 'kind = "ping"\nsize = "1 MB"', "flows.0.size", "is a key of tcp"),
        (20, 'kind = "udp"', "flows.0.rate", "constant rate"),
        (20, 'kind = "upd"', "flows.0.kind", 'did you mean "udp"'),
        (20, 'start = "100 s"', "flows.0.start", "not before the end of the run"),
        (20, 'start = "9 s"\nstop = "8 s"', "flows.0.stop", "not after the start"),
        (20, 'stop = "101 s"', "flows.0.stop", "after the end of the run"),
        (20, '[hosts.Tokio.tcp]\nprofile = "classic"', "hosts.Tokio", 'did you mean "Tokyo"'),
        (20, '[hosts.Tokyo]\nprofile = "classic"', "hosts.Tokyo.profile", "known here: tcp, sysctl"),
        (20, '[hosts.Tokyo.tcp]\nprofile = "clasic"', "hosts.Tokyo.tcp.profile", 'did you mean "classic"'),
        (20, '[tcp.sysctl]\n"net.ipv4.tcp_ecn" = 1', "tcp.sysctl", "value in quotes"),
        (20, '[tcp.sysctl]\n"../../x" = "1"', "tcp.sysctl", "is not the name of a sysctl"),
        (20, '[tcp.sysctl]\nnet.core.rmem_max = "5"', "tcp.sysctl", "[guest.sysctl]"),
        (20, '[guest.sysctl]\nnet.ipv4.tcp_ecn = "1"', "guest.sysctl", "[tcp.sysctl]"),
        (20, "[chain]\nhops = 3", "chain", "exactly one of"),
        (20, '[observe]\nsockets = "1 us"', "observe.sockets", "1 ms to 1 h"),
        (20, '[guest]\nmemory = "1 MB"', "guest.memory", "128 MiB"),
    ],
)
def test_a_mistake_names_line_key_and_cure(tmp_path, line, text, key, said):
    path = write(tmp_path, changed(line, text))
    problems = problems_of(path)
    matching = [problem for problem in problems if problem.key == key and said in str(problem)]
    assert matching, [str(problem) for problem in problems]
    problem = matching[0]
    assert problem.origin.file == path
    assert str(problem).startswith(f"{path}:{problem.origin.line}: {key}: ")
    # The message names the line of the key, or of the key's table if the key is missing or conflicts.
    written = path.read_text(encoding="utf-8").splitlines()[problem.origin.line - 1]
    table = key.split(".")[0]
    assert key.split(".")[-1] in written or written.startswith(f"[{table}") or written.startswith(f"[[{table}]]") or (
        key in ("constellation.epoch", "stations.1.name")
    )  # fmt: skip


def test_all_mistakes_of_a_file_come_at_once_in_its_order(tmp_path):
    text = (
        GOOD.replace('"100 s"', "100").replace('"100 Mbit/s"', '"100 Mbps"').replace('"Tokyo"\ncong', '"Tokio"\ncong')
    )
    problems = problems_of(write(tmp_path, text))
    assert [problem.origin.line for problem in problems] == [4, 13, 19]
    with pytest.raises(ScenarioError, match=r"^3 errors:\n"):
        load(tmp_path / "scenario.toml")


def test_missing_things_are_named(tmp_path):
    keys = [problem.key for problem in problems_of(write(tmp_path, ""))]
    assert keys == ["name", "", "flows"]
    keys = [problem.key for problem in problems_of(write(tmp_path, "[constellation]"))]
    assert "constellation.planes" in keys
    assert "stations" in keys


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = \n", "x.toml:1: column"),
        (b"name = 'a'\n[run\n", "x.toml:2: column"),
        (b"name = 'a'\nname = 'b'\n", "x.toml:2: column"),
        (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"a = " + b"9" * 5000, "x.toml: "),
    ],
)
def test_what_is_no_toml_says_where(tmp_path, content, said):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert said in str(caught.value)


def test_files_that_cannot_be_read_say_so(tmp_path):
    with pytest.raises(ScenarioError, match="there is no scenario file"):
        load(tmp_path / "gone.toml")
    with pytest.raises(ScenarioError, match="there is no scenario file"):
        load(tmp_path)  # The folder contains no plan.


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("run.durration=60 s", "--set run.durration=60 s: run.durration: there is no such key"),
        ("run.duration=60", "--set run.duration=60: run.duration: 60 is a bare number"),
        ("run.duration", "has no ="),
        ("=5", "is not a dotted key"),
        ("a b=5", "is not a dotted key"),
        ("run.duration.x=5 s", "single value"),
        ("name.x=5", "single value"),
        ("flows.7.source=Madrid", "is not a place in the list flows, which has 1"),
        ("flows.7.source=Madrid", "write flows.0, or flows.1 to add one"),
        ("flows.x=1", "is not a place in the list flows"),
        ("stations.Madird.height=1 m", "did you mean stations.Madrid?"),
        ("flows.-1.source=Madrid", "is not a place in the list flows"),
        ("flows.0.congestion_control=cubik", 'did you mean "cubic"'),
        ("flows.0=none", '--set flows.0=none: flows.0: "none" is not a table'),
        ("flows=none", "--set flows=none: flows: is not a list of tables"),
        ("stations.0.name=Berlni", 'did you mean the place "Berlin"'),
        ("constellation.preset=none\nrun.seed = 9", "control characters"),
    ],
)
def test_a_wrong_override_is_named(tmp_path, override, said):
    path = write(tmp_path, GOOD)
    with pytest.raises(ScenarioError) as caught:
        resolve(load(path, [override]))
    assert said in str(caught.value)


def test_overrides_are_toml_or_plain_text(tmp_path):
    path = write(tmp_path, GOOD)
    plan = resolve(load(path, [
        "run.duration=60 s", 'flows.0.congestion_control="bbr"', "run.seed=9", "isl.seam=false",
        "flows.1.source=Tokyo", "flows.1.destination=Madrid", "hosts.Tokyo.tcp.profile=classic",
        "tcp.sysctl.net.ipv4.tcp_ecn=1", "constellation.epoch=2022-09-14T00:00:00Z",
    ]))  # fmt: skip
    assert plan.run.duration_ns == 60 * 10**9
    assert plan.run.seed == 9
    assert plan.isl.seam is False
    assert [(flow.source, flow.congestion_control, flow.stop_ns) for flow in plan.flows] == [
        ("Madrid", "bbr", 60 * 10**9),
        ("Tokyo", "cubic", 60 * 10**9),
    ]
    assert [host.tcp.profile for host in plan.hosts] == ["linux", "classic"]
    assert all(host.sysctl["net.ipv4.tcp_ecn"] == "1" for host in plan.hosts)
    assert plan.constellation is not None
    assert plan.constellation.epoch == "2022-09-14T00:00:00Z"


def test_overrides_from_python_are_values(tmp_path):
    path = write(tmp_path, GOOD)
    plan = resolve(load(path, {"run.duration": "60 s", "run.seed": 4, "flows.0.congestion_control": "reno"}))
    assert (plan.run.duration_ns, plan.run.seed, plan.flows[0].congestion_control) == (60 * 10**9, 4, "reno")


def test_a_kernel_of_ones_own_may_have_any_congestion_control(tmp_path):
    path = write(tmp_path, GOOD)
    plan = resolve(load(path, ["guest.kernel=/somewhere/linux", "flows.0.congestion_control=bbr3"]))
    assert plan.flows[0].congestion_control == "bbr3"


@pytest.mark.parametrize("name", ["reno_für_leo", "cubic²", "bbr_" + 12 * "x"])
def test_a_congestion_control_that_no_kernel_can_have_is_refused(tmp_path, name):
    path = write(tmp_path, GOOD)
    with pytest.raises(ScenarioError, match="not the name of a congestion control"):
        resolve(load(path, ["guest.kernel=/somewhere/linux", f"flows.0.congestion_control={name}"]))


def test_a_variant_lies_on_top_of_what_it_extends(tmp_path):
    write(tmp_path, GOOD, "base.toml")
    folder = tmp_path / "variants"
    folder.mkdir()
    text = 'extends = "../base.toml"\nname = "variant"\n[isl]\nqueue = "64 kB"\n[[flows]]\nsource = "Tokyo"\n'
    plan = resolve(load(write(folder, text + 'destination = "Madrid"\n')))
    assert plan.name == "variant"
    assert (plan.isl.queue_pkts, plan.isl.queue_bytes, plan.isl.rate_bps) == (None, 64_000, 10**8)
    assert [flow.source for flow in plan.flows] == ["Tokyo"]
    assert plan.run.seed == 3


def test_a_mistake_below_a_variant_names_the_lower_file(tmp_path):
    base = write(tmp_path, changed(13, "rate = 5"), "base.toml")
    problems = problems_of(write(tmp_path, 'extends = "base.toml"\nname = "variant"\n'))
    assert [(problem.origin.file, problem.origin.line) for problem in problems] == [(base, 13)]


def test_a_variant_needs_a_name_of_its_own(tmp_path):
    write(tmp_path, GOOD, "base.toml")
    problems = problems_of(write(tmp_path, 'extends = "base.toml"\n'))
    assert [problem.key for problem in problems] == ["name"]


def test_files_that_extend_each_other_are_refused(tmp_path):
    write(tmp_path, 'extends = "b.toml"\nname = "a"\n', "a.toml")
    write(tmp_path, 'extends = "a.toml"\nname = "b"\n', "b.toml")
    with pytest.raises(ScenarioError, match=r"a\.toml -> b\.toml -> a\.toml"):
        load(tmp_path / "a.toml")


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_spoilt_texts_end_in_a_plan_or_a_scenario_error(tmp_path_factory, seed):
    rng = random.Random(seed)
    path = tmp_path_factory.getbasetemp() / "spoilt.toml"
    path.write_bytes(spoilt(rng))
    try:
        plan = resolve(load(path))
    except ScenarioError:
        return
    path.write_text(plan.to_toml(), encoding="utf-8")
    assert resolve(load(path)) == plan


def spoilt(rng: random.Random) -> bytes:
    tokens = [b'"', b"'", b"[", b"]]", b"{", b"}", b"=", b".", b"\n", b",", b"#", b'"""', b"5", b"-1", b"nan", b"\xff",
              b'"5 s"', b"\x00", b"true", b"[isl]", b"hops = 2", b'"none"', b"[]", b"{}", b"1979-05-27"]  # fmt: skip
    text = bytearray(GOOD.encode())
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        match rng.randrange(4):
            case 0:
                del text[at : at + rng.randint(1, 12)]
            case 1:
                text[at:at] = rng.choice(tokens)
            case 2:
                end = text.find(b"\n", at)
                start = text.find(b"=", at, max(end, at))
                text[start + 1 if start > 0 else at : end if end > 0 else at] = b" " + rng.choice(tokens)
            case _:
                text[at] = rng.randrange(256)
    return bytes(text)


@pytest.mark.slow
@settings(max_examples=150)
@given(key=st.text(max_size=20), value=st.text(max_size=20))
def test_odd_overrides_end_in_a_plan_or_a_scenario_error(tmp_path_factory, key, value):
    path = write(tmp_path_factory.getbasetemp(), GOOD, "odd.toml")
    for text in (f"{key}={value}", f"run.{key}={value}", f"flows.0.{key}={value}", f"run.duration={value}"):
        try:
            plan = resolve(load(path, [text]))
        except ScenarioError:
            continue
        assert plan.stations[0].name == "Madrid"


def two_flows(first: str, second: str) -> str:
    flow = GOOD[GOOD.index("[[flows]]") :]
    return GOOD.replace(flow, f'{flow}name = "{first}"\n{flow}name = "{second}"\n')


@pytest.mark.parametrize("name", ["upload", "video 2.5 Mbit", "Übertragung", "a-b_c", "x" * 40])
def test_a_flow_may_be_called(tmp_path, name):
    assert resolve(load(write(tmp_path, two_flows(name, "other")))).flows[0].name == name


@pytest.mark.parametrize(
    ("name", "says", "hint"),
    [
        ("3", "is not the name of a flow", "a letter first"),
        ("3rd", "is not the name of a flow", "a letter first"),
        ("a, b", "is not the name of a flow", "blanks, dots"),
        ("a (b)", "is not the name of a flow", "blanks, dots"),
        ("x" * 41, "is not the name of a flow", "1 to 40"),
        ("Flow 3", "what a flow without a name is called", "upload"),
        ("flow7", "what a flow without a name is called", "upload"),
        ("other", 'flows.0 is called "other", too', 'write name = "other-2"'),
    ],
)
def test_a_flow_may_not_be_called(tmp_path, name, says, hint):
    (problem,) = problems_of(write(tmp_path, two_flows("other", name)))
    assert problem.key == "flows.1.name"
    assert says in problem.rule
    assert hint in problem.hint


def test_the_name_that_is_proposed_is_free(tmp_path):
    flow = GOOD[GOOD.index("[[flows]]") :]
    text = two_flows("a", "a-2") + f'{flow}name = "a"\n'
    (problem,) = problems_of(write(tmp_path, text))
    assert problem.hint == 'write name = "a-3"'


def test_an_override_reaches_flows_and_stations_by_name(tmp_path):
    path = write(tmp_path, two_flows("upload", "the other"))
    plan = resolve(load(path, [
        "flows.upload.size=1 MB", 'flows."the other".congestion_control=bbr', "stations.Tokyo.height=30 m",
        "flows.1.name=renamed", "flows.renamed.stop=50 s",
    ]))  # fmt: skip
    assert [(flow.name, flow.size_bytes, flow.congestion_control) for flow in plan.flows] == [
        ("upload", 1_000_000, "cubic"),
        ("renamed", None, "bbr"),
    ]
    assert plan.flows[1].stop_ns == 50 * 10**9
    assert plan.stations[1].height_m == 30.0
