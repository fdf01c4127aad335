"""What commands say of clips in clusters, from the rows of a run to every output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_compare import write_system
from tests.commands import refusal, siq

FEW = "Few clusters (12 clips in 4 clusters): the intervals are unreliable"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Write three systems on 12 clips of 4 calls."""
    for name, skill in (("good", 0.9), ("middle", 0.5), ("bad", 0.1)):
        name_calls(write_system(tmp_path / name, f"org/{name}", skill), 4)
    return tmp_path


def name_calls(folder: Path, calls: int) -> Path:
    """Give the doc of each row of a run the call of its clip."""
    for path in folder.glob("samples_*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row["doc"]["options"] = ["at nine", "at ten", "at noon", "never"]
            row["doc"]["cluster"] = f"demo/call {int(row['doc']['id'].rpartition('/')[2]) % calls}"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def as_line(text: str) -> str:
    """Return a text without the line breaks and escapes of its format."""
    return " ".join(text.replace("\\", "").split())


def test_every_output_of_score_states_clusters_and_warns(runs, tmp_path):
    files = [tmp_path / f"out.{ending}" for ending in ("json", "csv", "md", "tex", "html")]
    shown = siq("score", runs, "--bootstrap", 100, *(part for file in files for part in ("-o", file)))
    for text in (shown, *(file.read_text() for file in files)):
        assert FEW in as_line(text)
    content = json.loads(files[0].read_text())
    assert content["clusters"] == {"remember": 4, "understand": 4, "apply": 4}
    assert any("12 clips in 4 clusters" in line for line in content["remarks"])


def test_intervals_are_those_of_clusters(runs, tmp_path):
    ends = {}
    for calls in (4, 12):
        for folder in ("good", "middle", "bad"):
            name_calls(runs / folder, calls)
        siq("score", runs, "--bootstrap", 100, "--force", "-o", tmp_path / "out.json")
        content = json.loads((tmp_path / "out.json").read_text())
        ends[calls] = [row["categories"]["remember"]["interval"] for row in content["systems"]]
        assert (
            FEW in content["bootstrap"]["caution"] if calls == 4 else "cluster" not in content["bootstrap"]["caution"]
        )
    assert ends[4] != ends[12]


@pytest.mark.parametrize("options", [(), ("--metrics", "wer"), ("--levels", "remember")])
def test_a_comparison_permutes_clusters(runs, tmp_path, options):
    out = tmp_path / "out.json"
    shown = siq("compare", "good", "bad", runs, "--bootstrap", 100, "-o", out, *options)
    assert FEW in as_line(shown)
    content = json.loads(out.read_text())
    content = content.get("suites", {}).get("metrics", content)
    assert content["clusters"] == 4 and FEW in content["caution"]
    assert all(score["p"] * 8 == round(score["p"] * 8) for score in content["scores"].values()), "16 patterns of signs"


def test_a_prediction_draws_clusters(runs):
    out = runs / "out.json"
    assert FEW in as_line(siq("study", "predict", runs, "--bootstrap", 100, "-o", out))
    content = json.loads(out.read_text())
    assert (content["clips"], content["clusters"]) == (12, 4)


def test_one_cluster_has_no_intervals(runs, tmp_path):
    for folder in ("good", "middle", "bad"):
        name_calls(runs / folder, 1)
    text = as_line(siq("score", runs, "-o", tmp_path / "out.json"))
    assert "a single cluster of 12 clips has no error bar" in text and "so there are none here" in text
    assert json.loads((tmp_path / "out.json").read_text())["clusters"]["apply"] == 1
    assert "10 draws are too few" in refusal("score", runs, "--bootstrap", 10)
