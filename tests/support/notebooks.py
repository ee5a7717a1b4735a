# SPDX-License-Identifier: Apache-2.0
"""Execute notebooks without a browser, and show their outputs as a page."""

import base64
import html

import pytest

PAGE = (
    "<!DOCTYPE html><meta charset='utf-8'><meta name='color-scheme' content='light dark'>"
    "<style>body {{ font: 13px system-ui, sans-serif; margin: 1em }}"
    "img {{ max-width: 100% }} pre {{ background: #8882; padding: .5em }}</style>"
    "<body>{cells}</body>"
)


def executed(cells, where):
    """Run cells in a directory, with a Jupyter kernel of this Python. Return the notebook with the outputs.

    If Jupyter's kernel is not installed, the test is skipped. Only `make site` installs this kernel.
    """
    reason = "no Jupyter kernel here: `make site` installs one, which nothing else needs"
    nbclient = pytest.importorskip("nbclient", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    from nbformat import v4

    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(where)}})
    return client.execute().cells


def shown(cell):
    """Return the representations of a cell's value: a mapping from MIME type to content."""
    return [output["data"] for output in cell["outputs"] if output["output_type"] == "execute_result"][-1]


def as_page(cells, file):
    """Write the cells and their outputs below each other. An output is written as HTML if possible, otherwise as PNG,
    otherwise as text."""
    parts = []
    for cell in cells:
        parts.append(f"<pre>{html.escape(cell['source'])}</pre>")
        data = shown(cell)
        if "text/html" in data:
            parts.append(f"<div class='output'>{data['text/html']}</div>")
        elif "image/png" in data:
            parts.append(f"<div class='output'><img src='data:image/png;base64,{data['image/png']}'></div>")
        else:
            parts.append(f"<pre class='output'>{html.escape(data['text/plain'])}</pre>")
    file.write_text(PAGE.format(cells="".join(parts)), encoding="utf-8")
    return file.as_uri()


def is_png(text):
    """Return whether a base64 text contains a PNG."""
    return base64.b64decode(text).startswith(b"\x89PNG\r\n")
