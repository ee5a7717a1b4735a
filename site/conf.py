# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings for the documentation site: `make site` (tools/site.py lays out what it reads)."""

from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.highlighting import lexers

from leowarp.cli.api_reference import signature_of
from leowarp.version import VERSION

# Pygments has no lexer for it.
lexers["csv"] = TextLexer()

project = "leowarp"
author = "The leowarp developers"
version = release = VERSION
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
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

# Docstrings are in numpy's form with names in single backticks: a link where there is such a name, else code.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
# As plain fields: as cross-references, words such as `path` are also names of attributes, of several classes.
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

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


def signature(_app: Any, kind: str, _name: str, thing: Any, *_: Any) -> tuple[str, str] | None:
    """The signature as docs/reference/api.md has it: as in the source, with `...` for what is made anew each time."""
    if kind == "class" and "__init__" not in vars(thing):
        return "", ""
    if kind not in ("class", "function", "method"):
        return None
    parameters, _, returned = signature_of(thing).rpartition(" -> ")
    return (parameters, "") if kind == "class" else (parameters or returned, returned if parameters else "")


def unlink_parameters(_app: Any, doctree: nodes.document) -> None:
    """Takes links out of parameters: annotations are short names, and several classes are called `Run` or `Flow`."""
    for parameter in doctree.findall(addnodes.desc_parameter):
        for link in list(parameter.findall(addnodes.pending_xref)):
            link.replace_self(link.children)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", signature)
    app.connect("doctree-read", unlink_parameters)
