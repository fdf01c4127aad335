"""Show notebooks as pages: each one is run on the runs of the demo, and its figures are drawn without other servers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
import plotly.io
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient
from plotly.offline import get_plotlyjs

PLOTLY = "assets/plotly.js"
FIGURE = "application/vnd.plotly.v1+json"
TIMEOUT_S = 300


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page next to each notebook, which stays as a file to download."""
    root = Path(config.config_file_path).resolve().parent
    notebooks = [file for file in files if file.src_uri.endswith(".ipynb")]
    for file in notebooks:
        page = str(PurePosixPath(file.src_uri).with_suffix(".md"))
        notebook = run(Path(str(file.abs_src_path)), root)
        files.append(File.generated(config, page, content=convert(notebook, file.src_uri)))
    if notebooks:
        files.append(File.generated(config, PLOTLY, content=get_plotlyjs()))
    return files


def run(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Return the notebook with the outputs of a run in a folder."""
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def convert(notebook: nbformat.NotebookNode, place: str) -> str:
    """Return a notebook as Markdown.

    Args:
        notebook: With its outputs.
        place: Its path below `docs/`.
    """
    plotly = os.path.relpath(PLOTLY, PurePosixPath(place).parent)
    head, *cells = notebook.cells
    parts = [
        "---\nhide: [toc]\n---",  # figures need the width
        head.source,
        f'[Download this notebook]({PurePosixPath(place).name}).\n\n<script src="{plotly}"></script>',
    ]
    for cell in cells:
        if cell.cell_type == "code":
            parts += [f"```python\n{cell.source}\n```", *filter(None, map(_show, cell.outputs))]
        else:
            parts.append(cell.source)
    return "\n\n".join(parts) + "\n"


def _show(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        if output["name"] == "stderr":  # warnings that contain paths of this machine
            return ""
        return f"```text\n{output['text'].rstrip()}\n```"
    data = output["data"]
    if FIGURE in data:
        figure = plotly.io.from_json(json.dumps(data[FIGURE]), skip_invalid=True)
        return plotly.io.to_html(figure, full_html=False, include_plotlyjs=False)
    if "text/html" in data:
        return f'<div class="output">{"".join(_drop_empty_lines(data["text/html"]))}</div>'
    return f"```text\n{data['text/plain'].rstrip()}\n```"


def _drop_empty_lines(html: str) -> Iterator[str]:
    """Yield the lines of HTML that Markdown is to pass on as one block, which an empty line would end."""
    yield from (line + "\n" for line in html.splitlines() if line.strip())
