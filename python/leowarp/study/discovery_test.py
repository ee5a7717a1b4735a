# SPDX-License-Identifier: Apache-2.0
"""Tests of the discovery of other packages' studies through package metadata."""

import sys

import pandas as pd
import pytest

from leowarp.base.errors import HostError, ScenarioError
from leowarp.study import parts, reproduce, studies
from leowarp.study.discovery import room_of
from support.pages import ROOT, blocks

GUIDE = ROOT / "docs" / "guides" / "your-own-study.md"
OURS = {"frederiksen2024", "torres2020", "huston2024", "tauran2018", "cures", "programs", "gaps"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Create a distribution that looks as if pip had installed it. It has one module per study key."""
    monkeypatch.syspath_prepend(tmp_path)
    loaded = set(sys.modules)

    def laid_out(name, entries, text=""):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "material.py").write_text(text)
        facts = tmp_path / f"{name}-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "".join(f"{key} = {value}\n" for key, value in entries.items())
        (facts / "entry_points.txt").write_text(f"[leowarp.studies]\n{lines}")

    yield laid_out
    for module in set(sys.modules) - loaded:
        if module.partition(".")[0] not in ("leowarp", "leowarp_studies"):
            del sys.modules[module]


def test_those_that_come_with_leowarp_are_found():
    assert studies().keys() >= OURS
    assert set(list(studies())[: len(OURS)]) == OURS


def test_one_of_another_package_stands_after_ours_and_is_not_imported(package):
    package("aardvark", {"aardvark2026": "aardvark.material"}, "raise RuntimeError")
    assert list(studies())[-1] == "aardvark2026"
    assert "aardvark.material" not in sys.modules


def rows(*rtts_ns):
    queues = [25, 400]
    return pd.DataFrame({"chain_queue_pkts": queues, "flow0_rtt_p50_ns": rtts_ns, "status": "ok"})


@pytest.mark.parametrize(("rtts_ns", "verdict"), [((10e6, 21e6), "holds"), ((10e6, 19e6), "does not hold")])
def test_the_study_of_the_guide_is_reproduced(package, monkeypatch, tmp_path, rtts_ns, verdict):
    (metadata,) = [text for _, text in blocks(GUIDE, "toml")]
    assert 'queues2026 = "queues2026.material"' in metadata
    (module,) = [text for _, text in blocks(GUIDE, "python")]
    package("queues2026", {"queues2026": "queues2026.material"}, module)
    asked = []

    def made(groups, making, *, quick, scheduler):
        asked.extend(groups)
        assert quick
        return {"queues": rows(*rtts_ns)}, {}

    monkeypatch.setattr(parts, "made", made)
    again = reproduce("queues2026", tmp_path / "out", quick=True)
    assert [(claim["number"], claim["verdict"]) for claim in again.claims] == [("1.1", verdict)]
    assert "Longer queues" in again.page.read_text(encoding="utf-8")
    (part,) = asked
    assert len(part.content["parameters"]["chain.queue"]["values"]) == part.runs
    with pytest.raises(ScenarioError, match="no option --samples"):
        reproduce("queues2026", tmp_path / "out", samples=1)


def test_runs_of_the_guide_have_the_columns_that_its_claim_reads():
    from leowarp import scalars
    from leowarp.study.sweep import StudyFile
    from leowarp.study.sweep.parameters.expand import expand

    (module,) = [text for _, text in blocks(GUIDE, "python")]
    names: dict = {}
    exec(compile(module, str(GUIDE), "exec"), names)
    runs = expand(StudyFile.of(names["RUNS"].content))
    assert len(runs) == names["RUNS"].runs
    assert "rtt_p50_ns" in scalars.FLOW_SCALARS


def test_one_that_cannot_be_imported_names_its_package(package):
    package("broken", {"broken2026": "broken.material"}, "import no_such_module_anywhere")
    with pytest.raises(HostError, match=r"broken2026 of the package broken cannot be imported: .*no_such_module"):
        room_of("broken2026")


def test_a_module_that_is_no_study_says_what_it_lacks(package):
    package("thin", {"thin2026": "thin.material"}, "TITLE = LEAD = ''\nCLAIMS = OPTIONS = ()\n")
    with pytest.raises(HostError, match="it lacks make"):
        room_of("thin2026")


def test_two_packages_with_one_key_are_refused_by_name(package):
    package("other", {"cures": "other.material"})
    with pytest.raises(HostError, match=r"two packages have a study 'cures': .*other") as caught:
        studies()
    assert "pip uninstall" in caught.value.hint


def test_an_unknown_key_is_refused_with_those_that_are_near():
    with pytest.raises(ScenarioError, match="no study 'torres'") as caught:
        room_of("torres")
    assert "torres2020" in caught.value.hint
