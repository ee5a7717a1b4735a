# SPDX-License-Identifier: Apache-2.0
"""Tests that the documentation site has every page, that its links have targets, and that it loads nothing from other
hosts."""

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.pages import ROOT

NEEDS_SPHINX = pytest.mark.skipif(
    importlib.util.find_spec("sphinx") is None,
    reason="no Sphinx here: `make site` installs it, which nothing else needs",
)
FETCHING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


def test_every_page_of_the_documentation_is_in_the_site():
    """Sphinx also checks the list of pages, but this test does not need Sphinx."""
    named = set(re.findall(r"^(?:.*<)?((?:docs|design)/[\w/.-]+)>?$", (ROOT / "site" / "index.md").read_text(), re.M))
    pages = {path.relative_to(ROOT).with_suffix("").as_posix() for folder in ("docs", "design")
             for path in (ROOT / folder).rglob("*.md")}  # fmt: skip
    assert pages == named


class Page(HTMLParser):
    """The links, anchors and fetched resources of an HTML file."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in FETCHING and found.get(FETCHING[tag]):
            self.fetched.append(found[FETCHING[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site without any run. Building it needs no guest."""
    out = tmp_path_factory.mktemp("site") / "site"
    subprocess.run([sys.executable, ROOT / "tools" / "site.py", "--out", out], check=True, cwd=ROOT)
    return out


@pytest.fixture(scope="module")
def built(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


@pytest.mark.slow
@NEEDS_SPHINX
def test_every_page_of_the_documentation_is_on_the_site(site, built):
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "design").glob("*.md")]
    assert {site / page.relative_to(ROOT).with_suffix(".html") for page in pages} <= set(built)


@pytest.mark.slow
@NEEDS_SPHINX
def test_every_link_on_the_site_leads_somewhere(built):
    wrong = []
    for path, page in built.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                wrong.append(f"{path.name}: {link}")
            elif parts.fragment and target in built and unquote(parts.fragment) not in built[target].anchors:
                wrong.append(f"{path.name}: {link}: no such place")
    assert not wrong


@pytest.mark.slow
@NEEDS_SPHINX
def test_the_site_asks_no_other_for_anything(built):
    assert not {(path.name, link) for path, page in built.items() for link in page.fetched if urlsplit(link).scheme}


@pytest.mark.slow
@NEEDS_SPHINX
def test_search_finds_pages_without_a_server(site, browser):
    is_over = "/Search finished/.test(document.querySelector('.search-summary')?.textContent)"
    found = browser.open(f"{site.as_uri()}/search.html?q=overtaken", ready=is_over)
    addresses = found.run("[...document.querySelectorAll('#search-results li a')].map((a) => a.getAttribute('href'))")
    assert any(address.startswith("docs/concepts/in-flight-rules.html") for address in addresses)
    assert not found.complaints


def test_the_gallery_has_a_picture_for_each_file_that_its_commands_make():
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    made = re.findall(r"^<!-- picture: (\S+(?: \d+x\d+)?) -->\n!\[[^\]]+\]\((\S+)\)$", text, re.M)
    assert len(made) == text.count("<!-- picture:") >= 8
    assert {kept for _, kept in made} == {
        f"images/gallery/{each.name}" for each in (ROOT / "docs/images/gallery").iterdir()
    }
    for file, _ in made:
        if file.endswith(tuple("0123456789")):
            # Gallery pictures from a browser show either the page of a run that a command makes, or cells of a
            # notebook.
            run = Path(file).parts[0]
            assert file.startswith("notebook ") or re.search(rf"^leowarp run .*--out {run}\b", text, re.M)
            continue
        # Some command makes RUN/50-report/figures/NAME.png, a figure of the run RUN. If the file has another name, a
        # command must contain this name.
        run, name = Path(file).parts[0], Path(file).stem
        asked = re.search(rf"^leowarp report {run} --figures (\S+) --formats png$", text, re.M | re.S)
        figures = {
            n for names in re.findall(rf"^leowarp report {run} --figures (\S+)", text, re.M) for n in names.split(",")
        }
        assert (asked and name in figures) if "/" in file else re.search(rf"(--out|--folded) {file}$", text, re.M)
