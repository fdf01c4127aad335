"""An audio model and controls on tasks of AudioBench: runs, the family's table, a comparison and the report."""

import json

import pytest

from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.siq_tasks.loaders import bundled
from tests.commands import siq
from tests.runs import evaluate

pytestmark = pytest.mark.slow

SYSTEMS = {"a": "letter:A", "b": "letter:B"}
CLIPS = ("kennedy", "medical-3", "earnings-4")
#: Task -> the columns of its rows, next to the audio.
ROWS = {
    "dream": {
        "instruction": ["Who?"] * 3,
        "choices": ["(A) a man (B) a woman (C) a child"] * 3,
        "answer": ["A", "A", "B"],
    },
    "slue_sqa5": {"instruction": ["Who?", "What?", "Where?"], "answer": ["B", "work", "there"]},
    "iemocap_gender": {"answer": ["The speaker is a male.", "a female speaker", "a male"]},
    "audiocaps_caption": {"answer": ["A man speaks."] * 3},
    "covost2_en_id": {"answer": ["Seorang pria.", "A", "Terima kasih."]},
    "librispeech_clean": {"answer": ["and so my fellow americans", "the patient", "thank you"]},
}
TASKS = [f"audiobench_{name}" for name in ROWS]


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """A file of metadata that puts a small table of the demo's clips in the place of each set."""
    folder = tmp_path_factory.mktemp("sets")
    lines = []
    for dataset, columns in ROWS.items():
        audio = [str(bundled.DEMO / "clips" / f"{name}.ogg") for name in CLIPS]
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        table = [json.dumps({"context": file} | row) for file, row in zip(audio, rows, strict=True)]
        folder.joinpath(f"{dataset}.jsonl").write_text("\n".join(table))
        lines.append(f"{dataset}: {{dataset_path: {folder / dataset}.jsonl}}")
    file = folder / "sets.yaml"
    file.write_text("\n".join(lines))
    return file


@pytest.fixture(scope="module")
def runs(sets, tiny_ear, tmp_path_factory):
    """The runs of two controls and of a tiny audio model."""
    folder = tmp_path_factory.mktemp("runs")
    for name, system in (SYSTEMS | {"tiny": tiny_ear}).items():
        model = HFAudio(pretrained=system, device="cpu", store="off")
        about = {"sets": str(sets)}
        evaluate(model, TASKS, output=folder / name, metadata=about, gen_kwargs={"max_gen_toks": 8})
    return folder


def test_the_family_has_a_table_with_floors_and_judges(runs, tmp_path):
    file = tmp_path / "scores.json"
    printed = siq("score", runs, "--bootstrap", 0, "--group-by", "dataset", "-o", file)
    assert "the most frequent answer of each data set alone scores 66.67 %" in " ".join(printed.split())
    board = json.loads(file.read_text())["suites"]["audiobench"]
    scores = {row["control"]: row["categories"] for row in board["systems"]}
    assert board["measures"]["sqa_choice"]["floor"] == board["measures"]["gr"]["floor"] == pytest.approx(2 / 3)
    assert scores["letter:A"]["sqa_choice"]["score"] == pytest.approx(2 / 3)
    assert scores["letter:B"]["sqa"]["score"] == pytest.approx(1 / 3)
    assert scores["letter:A"]["gr"]["score"] == 0.0 and 0 < scores["letter:A"]["ac"]["score"] < 1
    assert scores["letter:A"]["asr"]["score"] == 1.0
    assert set(board["by_dataset"]) == set(ROWS)
    bleu = {row["system"]: row["bleu"] for row in json.loads(file.read_text())["translations"]}
    assert len(bleu) == 3 and all(0 <= value < 0.1 for value in bleu.values())
    assert "Translation: BLEU" in printed


def test_the_report_and_a_comparison_need_no_code_of_the_family(runs, tmp_path):
    printed = siq("compare", runs / "a", runs / "b", "--bootstrap", 0)
    assert "sqa_choice" in printed.lower().replace(" ", "_")
    siq("score", runs, "-o", tmp_path / "report.html", "--bootstrap", 0)
    page = (tmp_path / "report.html").read_text()
    assert "Suite audiobench" in page and "the most frequent answer of each data set alone scores 66.67 %" in page
