# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the documentation site: `make site` (tools/site.py lays out what it reads)."""

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

from leowarp.version import VERSION

# Pygments has no lexer for it.
lexers["csv"] = TextLexer()

project = "leowarp"
author = "The leowarp developers"
version = release = VERSION
language = "en"

extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}

# `:::{toctree}`, so that a fence is always code
myst_enable_extensions = ["colon_fence"]
# Anchors as a Git host makes them from headings, down to the deepest that a page links to.
myst_heading_anchors = 4
# tools/site.py writes links to files that are no pages as `site:PATH`, relative to the page.
myst_url_schemes = {"http": None, "https": None, "mailto": None, "site": "{{path}}"}
# A page's fenced blocks say their language where they have one.
highlight_language = "none"

html_theme = "furo"
html_title = "leowarp"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_extra_path = ["_extra"]
html_copy_source = False
# They are fetched, which a browser does not do for a file: search must work from a directory, too.
html_show_search_summary = False
html_show_sphinx = False
html_show_copyright = False
