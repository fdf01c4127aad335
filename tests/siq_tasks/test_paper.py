"""The paper's test on small files of its authors' schemas: from released questions to SIQ."""

import json
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.data_sets import list_clips
from speechiq.siq_tasks.index import list_tasks
from speechiq.siq_tasks.loaders import bundled
from tests.commands import siq
from tests.runs import evaluate
from tests.siq_tasks.conftest import read_lines, write_lines, write_parquet

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
def authors(tmp_path_factory):
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


def sources(folder):
    return {f"{dataset}.dataset_path": str(folder / dataset) for dataset in SETS}


def write_transcripts(folder, file):
    """Write the references without their first words, as a recognizer with errors."""
    listed = [clip for name in SETS for clip in list_clips(name, dataset_path=str(folder / name), subset="all")]
    write_lines(file, *({"id": clip["id"], "text": clip["text"].partition(" ")[2]} for clip in listed))


def test_the_tasks_name_the_sources_of_the_authors():
    found = {task.dataset: task for task in list_tasks() if "siq_paper" in task.group.split(", ")}
    assert {name: task.source for name, task in found.items()} == {
        "paper_earnings22": "anton-l/earnings22_robust (all, test)",
        "paper_voxpopuli": "facebook/voxpopuli (en, test)",
        "paper_medasr": "jarvisx17/Medical-ASR-EN (default, train)",
    }
    assert [found[name].clips for name in SETS] == [200, 200, 400]


@pytest.mark.slow
def test_from_released_questions_to_siq(authors, tiny_cascade, tmp_path, monkeypatch, capsys):
    for name in ("questions", "store", "cache"):
        monkeypatch.setenv(f"SIQ_{name.upper()}", str(tmp_path / name))
    metadata = {"subset": 2, "embedder": tiny_cascade.llm}
    sets = tmp_path / "sets.yaml"
    sets.write_text("".join(f"{dataset}: {{dataset_path: {authors / dataset}}}\n" for dataset in SETS))
    system, given = {"pretrained": "letter:A"}, metadata | {"sets": str(sets)}
    early = evaluate("hf-audio", ["siq_paper"], model_args=system, metadata=given)
    left_out = "Apply is left out of paper_earnings22, paper_medasr, paper_voxpopuli, which have no questions"
    assert left_out in capsys.readouterr().err
    assert len(early["samples"]) == 6 and not any(task.endswith("apply") for task in early["samples"])
    for dataset in SETS:
        given = ["--metadata", f"dataset_path={authors / dataset}", "--metadata", "subset=all"]
        printed = siq("paper", "questions", authors / f"{dataset}.json", "--dataset", dataset, *given)
        assert "4 entries: 4 joined" in printed
    write_transcripts(authors, tmp_path / "heard.jsonl")
    for asr in ("gold", "silence", f"transcripts:{tmp_path / 'heard.jsonl'}"):
        results = evaluate(
            "hf-audio", ["siq_paper"], metadata=metadata | sources(authors), output=tmp_path / "runs",
            model_args={"pretrained": f"{asr}+{tiny_cascade.llm}", "llm_answer": "likelihood"}, batch_size="auto",
        )  # fmt: skip
    assert "left out" not in capsys.readouterr().err
    speeds = siq("score", tmp_path / "runs", "--speed")
    assert "answering by likelihood" in speeds
    out, metrics = tmp_path / "siq.json", "remember=wer_basic,apply=acc_strict"
    siq("score", tmp_path / "runs", "--weights", "inverse-variance", "--metrics", metrics, "-o", out)
    content = json.loads(out.read_text())
    errors = {row["system"].partition("+")[0]: row["categories"]["remember"]["score"] for row in content["systems"]}
    (heard,) = (share for name, share in errors.items() if "heard.jsonl" in name)
    assert errors["gold"] == 0 < heard < errors["silence"] == 1
    assert all(row["siq"] is not None for row in content["systems"])
    about = results["configs"]["siq_paper_medasr_apply"]["metadata"]
    assert len(about["questions_sha256"]) == 1 and about["dataset_path"] == str(authors / "paper_medasr")
    assert not [key for key in about if "." in key]
    asked = results["configs"]["siq_paper_medasr_apply"]["generation_kwargs"]
    assert (asked["temperature"], asked["do_sample"]) == (0.4, True)


@pytest.mark.slow
def test_metadata_of_a_set_that_nothing_reads_is_one_line(authors, own_cache):
    metadata = sources(authors) | {"subset": 2, "paper_earnings2.subset": 2}
    with pytest.raises(SpeechIQError, match=r"paper_earnings2\.subset=2: no task of this run reads it; did you mean"):
        evaluate("hf-audio", [f"siq_{name}" for name in SETS], model_args="pretrained=letter:A", metadata=metadata)
