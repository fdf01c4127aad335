"""What `siq demo run` may replace; the run itself is in `tests/test_demo.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from speechiq.cli import demo
from speechiq.cli.demo import SYSTEMS
from speechiq.core.errors import SpeechIQError
from tests.commands import call
from tests.reducer.conftest import levels, write_run

pytestmark = pytest.mark.slow


@pytest.fixture
def instant(monkeypatch) -> None:
    """The five systems' runs, written and not computed."""

    def write_all(output: Path) -> None:
        for number, system in enumerate(SYSTEMS):
            write_run(output / str(number), levels(0.9 - number / 5), system=system)

    monkeypatch.setattr(demo, "run_systems", write_all)


def demo_run(output: Path, *options: str):
    return call("demo", "run", "--output", output, *options)


@pytest.mark.parametrize("name", ["siq.json", "siq.csv", "report.html"])
def test_a_strangers_file_is_refused_before_anything_runs(tmp_path, instant, name):
    (tmp_path / name).write_text("mine")
    write_run(tmp_path / "my run", levels(0.5), system="mine")
    before = sorted(tmp_path.iterdir())
    refused = demo_run(tmp_path).exception
    assert isinstance(refused, SpeechIQError) and f"{name}' exists; name another file" in str(refused)
    assert (tmp_path / name).read_text() == "mine" and sorted(tmp_path.iterdir()) == before
    for _ in range(2):
        assert demo_run(tmp_path, "--force").exit_code == 0 and (tmp_path / name).read_text() != "mine"
    assert "exists" in str(demo_run(tmp_path).exception), "also what the demo wrote itself"


def test_a_model_from_its_second_source_runs_under_its_own_name(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    for name in ("whisper-base", "whisper-tiny.en-hub", "SmolLM2-135M-Instruct-hub"):
        folder = tmp_path / "cache" / "models" / name
        folder.mkdir(parents=True)
        folder.joinpath("config.json").write_text("{}")
    ran = []
    monkeypatch.setattr(demo, "run_in_view", lambda system, settings: ran.append((system, settings.metadata)) or 0)
    demo.run_systems(tmp_path / "runs")
    llm = "demo:SmolLM2-135M-Instruct-hub"
    recognizers = ("demo:whisper-base", "demo:whisper-tiny.en-hub", "pocketsphinx:en-us", "gold", "silence")
    assert [system for system, _ in ran] == [f"{recognizer}+{llm},llm_answer=likelihood" for recognizer in recognizers]
    assert {metadata for _, metadata in ran} == {(f"embedder={llm}",)}
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "empty"))
    ran.clear()
    demo.run_systems(tmp_path / "runs")
    assert [system for system, _ in ran] == [f"{system},llm_answer=likelihood" for system in SYSTEMS]
    assert {metadata for _, metadata in ran} == {()}
