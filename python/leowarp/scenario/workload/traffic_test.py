# SPDX-License-Identifier: Apache-2.0
import statistics
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from leowarp.base.errors import ScenarioError
from leowarp.scenario import load, resolve
from leowarp.scenario.names.cities import CITIES, COORDINATES
from leowarp.scenario.schema import Plan

TRAFFIC = """\
name = "traffic"
[run]
duration = "100 s"
[constellation]
preset = "starlink-shell1"
[traffic]
cities = ["Tokyo", "Delhi", "Madrid"]
arrival_rate = "50 flows/s"
congestion_controls = { cubic = 3, bbr = 1 }
"""


def made(folder: Path, text: str = TRAFFIC, *overrides: str) -> Plan:
    path = folder / "traffic.toml"
    path.write_text(text)
    return resolve(load(path, overrides))


def refusal(folder: Path, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as refused:
        made(folder, TRAFFIC, *overrides)
    return str(refused.value)


def test_a_plan_spells_out_the_flows_and_gives_itself(tmp_path: Path) -> None:
    plan = made(tmp_path, TRAFFIC, "run.duration=10 s")
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    again = resolve(load(tmp_path / "plan.toml"))
    assert again == plan
    assert again.to_toml() == plan.to_toml()
    assert "[traffic]" not in plan.to_toml()
    assert [station.name for station in plan.stations] == ["Tokyo", "Delhi", "Madrid"]
    assert [host.name for host in plan.hosts] == ["Tokyo", "Delhi", "Madrid"]


def test_arrivals_are_poisson_pairs_by_gravity_sizes_and_controls_by_their_shares(tmp_path: Path) -> None:
    flows = made(tmp_path).flows
    starts = [flow.start_ns for flow in flows]
    assert starts == sorted(starts)
    # 5000 flows are expected, with a standard deviation of 71; the limit is five standard deviations, 354
    assert abs(len(flows) - 5000) < 354
    gaps_s = [(b - a) / 1e9 for a, b in pairwise(starts)]
    # the standard deviation of an exponential distribution equals its mean; with 5000 samples its error is 2 %
    assert statistics.stdev(gaps_s) == pytest.approx(statistics.mean(gaps_s), rel=0.1)
    people = {name: CITIES[name] for name in ("Tokyo", "Delhi", "Madrid")}
    weights = {(a, b): people[a] * people[b] for a in people for b in people if a != b}
    pairs = Counter((flow.source, flow.destination) for flow in flows)
    for pair, weight in weights.items():
        expected = len(flows) * weight / sum(weights.values())
        assert abs(pairs[pair] - expected) < 5 * expected**0.5
    assert Counter(flow.congestion_control for flow in flows)["bbr"] == pytest.approx(len(flows) / 4, rel=0.15)
    assert statistics.median(flow.size_bytes or 0 for flow in flows) == pytest.approx(20e3, rel=0.15)


def test_distance_takes_flows_from_far_pairs(tmp_path: Path) -> None:
    near, far = ("Tokyo", "Delhi"), ("Tokyo", "Madrid")
    shares = []
    for exponent in (0, 2):
        flows = made(tmp_path, TRAFFIC, f"traffic.distance_exponent={exponent}").flows
        pairs = Counter((flow.source, flow.destination) for flow in flows)
        shares.append(pairs[far] / pairs[near])
    # Tokyo is 10,770 km from Madrid and 5,840 km from Delhi. With exponent 2, the ratio of the numbers of flows is 0.29
    # times the ratio with exponent 0.
    assert shares[1] / shares[0] == pytest.approx((5840 / 10770) ** 2, rel=0.25)


def test_each_draw_has_a_stream_of_its_own(tmp_path: Path) -> None:
    one = made(tmp_path).flows
    other = made(tmp_path, TRAFFIC, "traffic.sizes=fixed").flows
    assert [(f.start_ns, f.source, f.congestion_control) for f in one] == [
        (f.start_ns, f.source, f.congestion_control) for f in other
    ]
    assert {f.size_bytes for f in other} == {100_000}
    assert made(tmp_path).flows == one
    assert made(tmp_path, TRAFFIC, "run.seed=2").flows[0].start_ns != one[0].start_ns


def test_pareto_has_its_smallest_size_and_its_exponent(tmp_path: Path) -> None:
    plan = made(tmp_path, TRAFFIC, "traffic.sizes=pareto", "traffic.smallest_size=50 kB")
    sizes = [flow.size_bytes or 0 for flow in plan.flows]
    assert min(sizes) >= 50_000
    # a = 100 / (100 - 50) = 2, so the median is 50 kB x 2^(1/2)
    assert statistics.median(sizes) == pytest.approx(50e3 * 2**0.5, rel=0.05)


def test_sizes_from_a_file_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "sizes.txt").write_text("1000\n\n20000\n")
    keys = ("traffic.sizes=file",)
    plan = made(tmp_path, TRAFFIC.replace("arrival", 'size_file = "sizes.txt"\narrival'), *keys)
    assert {flow.size_bytes for flow in plan.flows} == {1000, 20000}
    (tmp_path / "sizes.txt").write_text("1000\n20 kB\n")
    with pytest.raises(ScenarioError, match=r"sizes.txt:2: '20 kB' is not a size"):
        made(tmp_path, TRAFFIC.replace("arrival", 'size_file = "sizes.txt"\narrival'), *keys)


def test_own_stations_and_flows_stay_beside_it(tmp_path: Path) -> None:
    text = TRAFFIC + (
        '[[stations]]\nname = "Oslo"\n[[stations]]\nname = "Delhi"\nlatitude = "28 deg"\nlongitude = "77 deg"\n'
        '[[flows]]\nsource = "Oslo"\ndestination = "Delhi"\nkind = "ping"\n'
    )
    plan = made(tmp_path, text)
    assert [station.name for station in plan.stations] == ["Oslo", "Delhi", "Tokyo", "Madrid"]
    assert plan.stations[1].latitude_deg == 28
    assert plan.flows[0].kind == "ping"
    assert "Oslo" not in {end for flow in plan.flows[1:] for end in (flow.source, flow.destination)}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (['traffic.cities=["Tokyo", "Madird"]'], 'traffic.cities: "Madird" is not in the list of cities'),
        (['traffic.cities=["Tokyo"]'], "flows need two cities at least"),
        (["traffic.cities=[]"], "flows need two cities at least"),
        (['traffic.cities=["Atlantis"]'], 'traffic.cities: "Atlantis" is not in the list of cities'),
        (["traffic.largest=5"], "traffic.cities: are given, and largest too"),
        (["traffic.arrival_rate=10000 flows/s"], "1000000 flows are expected, and at most 20000 are possible"),
        (
            ["traffic.arrival_rate=150 flows/s", "traffic.mean_size=1 MB"],
            "access link (ground.rate) has 100 Mbit/s for them",
        ),
        (["traffic.arrival_rate=0.001 flows/s", "run.duration=1 s"], "0 flows arrive with seed 1"),
        (["traffic.median_size=100 kB"], "is not below mean_size"),
        (["traffic.smallest_size=10 kB"], "is a key of sizes = pareto, and sizes is lognormal"),
        (["traffic.sizes=file"], "traffic.size_file: is missing"),
        (["traffic.congestion_controls={cubik = 1}"], 'no congestion control "cubik"'),
        (["traffic.congestion_controls={cubic = 0}"], "0 is not a weight"),
        (["traffic.stop=101 s"], "flows cannot arrive"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_built(tmp_path: Path, overrides: list[str], message: str) -> None:
    said = refusal(tmp_path, *overrides)
    assert message in said
    # The cities of [traffic] are the stations, so a message about [traffic] must not ask the user to write stations.
    assert "stations" not in said


def test_a_medium_with_two_stations_has_no_cities(tmp_path: Path) -> None:
    text = TRAFFIC.replace('[constellation]\npreset = "starlink-shell1"', "[chain]\nhops = 1")
    with pytest.raises(ScenarioError, match="traffic: goes between cities"):
        made(tmp_path, text)


def test_cities_are_sorted_by_people_and_have_places() -> None:
    assert list(CITIES.values()) == sorted(CITIES.values(), reverse=True)
    assert set(CITIES) == set(COORDINATES)
    assert CITIES["Tokyo"] == 37_500_000
