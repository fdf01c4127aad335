"""What studies of answers and judges say of clips in clusters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speechiq.reducer.studies.references import compare_references
from tests.cli.test_clusters import as_line
from tests.commands import siq
from tests.reducer.judged_runs import JUDGE, graded, write_judged
from tests.reducer.studies.test_hallucination import frozen_set, letters, write_answers
from tests.reducer.studies.test_judge_check import strict, write_scores
from tests.reducer.studies.test_references import system

OTHER = JUDGE | {"judge": "hf:org/judge", "judge_identity": "c" * 64}
GRADES = [[2 + i // 8 % 3, 3, 3 + i // 16 % 2] for i in range(48)]


def name_calls(folder: Path, size: int) -> Path:
    """Put the clips of all rows below a folder into calls of some clips each."""
    for path in folder.rglob("samples_*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        clips = sorted({row["doc"]["id"] for row in rows})
        for row in rows:
            row["doc"]["cluster"] = f"call {clips.index(row['doc']['id']) // size}"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def judged(tmp_path: Path) -> list[Path]:
    """Write the answers of one system to 48 questions about 24 clips of six calls, scored by two judges."""
    runs = [tmp_path / "one", tmp_path / "two"]
    for folder, judge in zip(runs, (JUDGE, OTHER), strict=True):
        grades = [[*map(float, scores)] for scores in (GRADES if judge is JUDGE else GRADES[::-1])]
        write_judged(folder, graded(grades), judge=judge)
        name_calls(folder, 4)
    return runs


FEW = "Few clusters (24 clips in 6 clusters): the intervals are unreliable"


def test_agreement_and_reliability_of_judges(judged, tmp_path):
    assert FEW in as_line(siq("judge", "agree", *judged, "--bootstrap", 100))
    page = tmp_path / "out.md"
    siq("score", judged[0], "--bootstrap", 100, "-o", page)
    assert as_line(page.read_text()).count(FEW) >= 2, "below the scores, and below the reliability of the judge"


def test_a_judge_against_a_person(judged, tmp_path):
    scores = write_scores(tmp_path / "scores.jsonl", judged[0], strict)
    assert FEW in as_line(siq("judge", "check", judged[0], "--scores", scores, "--bootstrap", 100))


def test_invented_answers(tmp_path):
    write_answers(tmp_path / "runs", "qwen", letters(6), clips=17)
    name_calls(tmp_path / "runs", 3)
    chosen = frozen_set(tmp_path / "runs", tmp_path / "set.json")
    shown = as_line(siq("study", "unanswerable", tmp_path / "runs", "--set", chosen))
    assert "Wilson over clusters" in shown and "17 clips in 6 clusters" in shown


def test_errors_of_references():
    rates = [{str(i): rate + i / 100 for i in range(12)} for rate in (0.4, 0.2)]
    rates[1] |= {str(i): 0.5 for i in range(3)}
    clusters = {f"vox/{i}": f"debate {i // 3}" for i in range(12)}
    grids = [compare_references([system("a", *rates).cluster_by(of)], "WER %").grids[0] for of in ({}, clusters)]
    alone, clustered = (grid.rows[0] for grid in grids)
    assert (alone["difference"].clusters, clustered["difference"].clusters) == (12, 4)
    assert clustered["difference"].low < alone["difference"].low
    assert any("12 clips in 4 clusters" in note for note in grids[1].notes)
