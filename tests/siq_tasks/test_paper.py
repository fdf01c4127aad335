"""The paper's test on small files of its authors' schemas: from released questions to SIQ."""

import json
import os
from pathlib import Path

import pytest

from speechiq.siq_tasks.index import list_tasks
from speechiq.siq_tasks.loaders import bundled
from tests.commands import siq
from tests.siq_tasks.conftest import read_lines, write_parquet
from tests.warm import lm_eval as run_lm_eval
from tests.warm import run_warm

README = """---
configs:
- config_name: {name}
  data_files: [{{split: {split}, path: data/*.parquet}}]
---
"""
#: Set -> configuration, split, column of the text and the domain of the demo's clips that stand for it.
SETS = {
    "paper_earnings22": ("all", "test", "sentence", "earnings"),
    "paper_voxpopuli": ("en", "test", "raw_text", "parliament"),
    "paper_medasr": ("default", "train", "transcription", "medical"),
}


@pytest.fixture(scope="module")
def authors(tmp_path_factory, demo_models):
    """Folders with the authors' columns, and their questions without clip ids."""
    folder = tmp_path_factory.mktemp("authors")
    asked = read_lines(bundled.DEMO / "questions.jsonl")
    for dataset, (name, split, column, domain) in SETS.items():
        clips = [clip for clip in bundled.list_clips() if clip["domain"] == domain]
        rows = [{"audio": bundled.DEMO.joinpath(clip["file"]).read_bytes(), column: clip["text"]} for clip in clips]
        if dataset == "paper_voxpopuli":
            more = [
                {"audio_id": Path(c["id"]).name, "normalized_text": c["text"].lower(), "speaker_id": f"{i % 2}"}
                for i, c in enumerate(clips)
            ]
            rows = [row | extra for row, extra in zip(rows, more, strict=True)]
        write_parquet(folder / dataset / "data" / "part.parquet", rows)
        folder.joinpath(dataset, "README.md").write_text(README.format(name=name, split=split))
        entries = [
            {
                "gold": clip["text"],
                "qa": [
                    {
                        "question": row["question"],
                        "options": "\n".join(f"({k}) {v} " for k, v in zip("ABCD", row["options"], strict=True)),
                        "correct answer": row["answer"],
                    }
                    for row in asked
                    if row["id"] == clip["id"]
                ],
            }
            for clip in clips
        ]
        folder.joinpath(f"{dataset}.json").write_text(json.dumps(entries))
    return folder


def sources(folder, *sets):
    return [f"{dataset}.dataset_path={folder / dataset}" for dataset in sets or SETS]


def lm_eval(system, output, metadata, tasks="siq_paper", **env):
    return run_warm(
        run_lm_eval, "--model", "hf-audio", "--model_args", f"pretrained={system}", "--tasks", tasks,
        "--metadata", ",".join(metadata), "--batch_size", "auto", "--log_samples", "--output_path", str(output),
        env=os.environ | env,
    )  # fmt: skip


def test_the_tasks_name_the_sources_of_the_authors():
    found = {task.dataset: task for task in list_tasks() if "siq_paper" in task.group.split(", ")}
    assert {name: task.source for name, task in found.items()} == {
        "paper_earnings22": "anton-l/earnings22_robust (all, test)",
        "paper_voxpopuli": "facebook/voxpopuli (en, test)",
        "paper_medasr": "jarvisx17/Medical-ASR-EN (default, train)",
    }
    assert [found[name].clips for name in SETS] == [200, 200, 400]


@pytest.mark.slow
def test_from_released_questions_to_siq(authors, tiny_cascade, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_QUESTIONS", str(tmp_path / "questions"))
    monkeypatch.setenv("SIQ_CACHE", os.environ.get("SIQ_CACHE", ""))
    store = {"SIQ_STORE": str(tmp_path / "store")}
    metadata = [*sources(authors), "subset=2", f"embedder={tiny_cascade.llm}"]
    sets = tmp_path / "sets.yaml"
    sets.write_text("".join(f"{dataset}: {{dataset_path: {authors / dataset}}}\n" for dataset in SETS))
    early = lm_eval("letter:A", tmp_path / "early", [f"sets={sets}", *metadata[len(SETS) :]], **store)
    assert early.returncode == 0, early.stderr[-2000:]
    left_out = "Apply is left out of paper_earnings22, paper_medasr, paper_voxpopuli, which have no questions"
    assert left_out in early.stderr
    assert not list((tmp_path / "early").rglob("samples_*_apply_*"))
    for dataset in SETS:
        given = ["--metadata", f"dataset_path={authors / dataset}", "--metadata", "subset=all"]
        printed = siq("paper", "questions", authors / f"{dataset}.json", "--dataset", dataset, *given)
        assert "4 entries: 4 joined" in printed
    for asr in ("gold", "silence", "demo:whisper-tiny.en"):
        done = lm_eval(f"{asr}+{tiny_cascade.llm},llm_answer=likelihood", tmp_path / "runs", metadata, **store)
        assert done.returncode == 0, done.stderr[-2000:]
        assert "left out" not in done.stderr
    speeds = siq("score", tmp_path / "runs", "--speed")
    assert "transcribing" in speeds and "answering by likelihood" in speeds
    out, metrics = tmp_path / "siq.json", "remember=wer_basic,apply=acc_strict"
    siq("score", tmp_path / "runs", "--weights", "inverse-variance", "--metrics", metrics, "-o", out)
    content = json.loads(out.read_text())
    errors = {row["system"].partition("+")[0]: row["categories"]["remember"]["score"] for row in content["systems"]}
    assert errors["gold"] == 0 < errors["demo:whisper-tiny.en"] < errors["silence"] == 1
    assert all(row["siq"] is not None for row in content["systems"])
    results = json.loads(next((tmp_path / "runs").rglob("results_*.json")).read_text())
    about = results["configs"]["siq_paper_medasr_apply"]["metadata"]
    assert len(about["questions_sha256"]) == 1 and about["dataset_path"] == str(authors / "paper_medasr")
    assert not [key for key in about if "." in key]
    asked = results["configs"]["siq_paper_medasr_apply"]["generation_kwargs"]
    assert (asked["temperature"], asked["do_sample"]) == (0.4, True)


@pytest.mark.slow
@pytest.mark.parametrize("unread", ["paper_earnings2.subset=2", "paper_medasr.subst=2"])
def test_metadata_of_a_set_that_nothing_reads_is_one_line(authors, tiny_cascade, tmp_path, unread):
    given = [*sources(authors), "subset=2", f"embedder={tiny_cascade.llm}", unread]
    done = lm_eval("letter:A", tmp_path, given, "siq_paper_earnings22,siq_paper_medasr,siq_paper_voxpopuli")
    assert done.returncode == 1 and f"{unread}: no task of this run reads it; did you mean" in done.stderr
