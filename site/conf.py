# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the documentation site: `make site` (tools/site.py prepares Sphinx's input)."""

from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

from leowarp.version import VERSION

# Pygments has no lexer for CSV.
lexers["csv"] = TextLexer()

project = "leowarp"
author = "The leowarp developers"
version = release = VERSION
language = "en"

extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}

# Directives are written as `:::{toctree}`. A fence of backticks then always contains code.
myst_enable_extensions = ["colon_fence"]
# Headings get the same anchors as on a Git host. Links of the pages need anchors of headings down to level 4.
myst_heading_anchors = 4
# For a link to a file that is not a page, tools/site.py writes `site:PATH`. PATH is relative to the page.
myst_url_schemes = {"http": None, "https": None, "mailto": None, "site": "{{path}}"}
# Fenced blocks without a language are not highlighted; the other blocks name their language.
highlight_language = "none"

html_theme = "furo"
html_title = "leowarp"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_extra_path = ["_extra"]
html_copy_source = False
# Search must also work if the site is opened from a directory. A browser cannot fetch the summaries from a local file.
html_show_search_summary = False
html_show_sphinx = False
html_show_copyright = False
