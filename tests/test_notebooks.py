"""The notebooks of the docs run from the first cell to the last, on runs as lm-eval writes them."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.reducer.conftest import levels, write_run

NOTEBOOKS = sorted(Path(__file__).parent.parent.glob("docs/**/*.ipynb"))
SKILLS = {"demo:whisper-base": 0.8, "demo:whisper-tiny.en": 0.6, "pocketsphinx:en-us": 0.2}
LARGEST = 64 * 2**10


@pytest.mark.checks
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    for name, skill in SKILLS.items():
        write_run(tmp_path / "runs" / "demo" / name, levels(skill, clips=6), f"{name}+demo:SmolLM2-135M-Instruct")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = "".join(
        output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert all(f"{name}+demo:SmolLM2-135M-Instruct" in shown for name in SKILLS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_small(path):
    nbformat.validate(nbformat.read(path, as_version=4))
    assert path.stat().st_size < LARGEST
