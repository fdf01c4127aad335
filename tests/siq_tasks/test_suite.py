"""`siq_all` end to end: the real loaders over local copies of the Hub's parquet, run by lm-eval."""

import json

import numpy as np
import pytest

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.data_sets import list_clips
from speechiq.siq_tasks.index import IN_PACKAGE, data_sets, list_tasks
from speechiq.siq_tasks.loaders import bundled
from tests.runs import evaluate, load_task
from tests.siq_tasks.conftest import Hub
from tests.warm import lm_eval

pytestmark = pytest.mark.slow

LEVELS = ("remember", "understand", "apply")
REAL = ("earnings22", "medasr", "voxpopuli")


@pytest.fixture(scope="module")
def suite_run(hub: Hub, tiny_cascade, tmp_path_factory):
    """Run a tiny cascade on two clips a set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIQ_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("SIQ_QUESTIONS", str(hub.questions))
        yield evaluate(
            "hf-audio", ["siq_all"], batch_size="auto",
            model_args={"pretrained": tiny_cascade.spec, "llm_answer": "likelihood"},
            metadata={"dataset_path": str(hub.path), "subset": 2, "embedder": tiny_cascade.llm},
        )  # fmt: skip


def test_every_set_and_level_is_scored(suite_run):
    assert set(suite_run["configs"]) == {f"siq_{dataset}_{level}" for dataset in REAL for level in LEVELS}
    for dataset in REAL:
        assert suite_run["results"][f"siq_{dataset}_remember"]["wer,transcript"] > 0
        assert suite_run["results"][f"siq_{dataset}_understand"]["similarity,embedding"] < 1
        assert suite_run["n-samples"][f"siq_{dataset}_apply"]["effective"] == 6


def test_the_chosen_clips_are_recorded_so_that_two_people_can_compare(suite_run):
    source = {clip["text"]: clip for clip in bundled.list_clips()}
    for dataset in REAL:
        about = [suite_run["configs"][f"siq_{dataset}_{level}"]["metadata"] for level in LEVELS]
        assert len({record["subset_sha256"] for record in about}) == 1
        assert all(record["left_out"] == {"marked as not to be scored": 1} for record in about)
        assert {record["rows"] for record in about} == {5}
        docs = [row["doc"] for row in suite_run["samples"][f"siq_{dataset}_remember"]]
        assert [doc["id"] for doc in docs] == about[0]["subset_ids"]
        for doc in docs:
            assert doc["audio"]["path"].startswith("clips/")
            assert np.array_equal(file_clip(doc["audio"]).samples, file_clip(source[doc["text"]]).samples)
        assert len({doc["cluster"] for doc in docs}) == (1 if dataset == "voxpopuli" else 2)


def test_clips_are_listed_without_a_task(hub, own_cache):
    clips = list_clips("voxpopuli", dataset_path=str(hub.path), subset="all")
    assert {clip["id"].rpartition("_")[2] for clip in clips} == {f"parliament-{n}" for n in range(1, 5)}
    assert {clip["cluster"] for clip in clips} == {f"voxpopuli/2009020{n}-0900-PLENARY-3" for n in range(2)}
    cleaned = [f"{dataset}_cleaned" for dataset in ("earnings22", "voxpopuli")]
    assert data_sets() == sorted([*REAL, "demo", "tedlium", *cleaned, *(f"paper_{dataset}" for dataset in REAL)])


def test_the_clips_of_every_bundled_set_are_listed(own_cache):
    sets = {task.dataset for task in list_tasks(check_files=False) if task.source == IN_PACKAGE}
    assert len(sets) == 15 and all(list_clips(dataset) for dataset in sets)


def test_an_unknown_set_is_named_with_the_known_ones():
    with pytest.raises(SpeechIQError, match="switchboard: no such data set; known are demo, earnings22"):
        list_clips("switchboard")


def test_the_command_line_validates_the_suite(monkeypatch, capsys):
    groups = "siq_all", "siq_remember", "siq_understand", "siq_apply", "siq_demo_languages", "siq_demo_languages_es"
    languages = "siq_belebele", "siq_belebele_deu_Latn", "siq_belebele_yor_Latn_apply"
    monkeypatch.setattr("sys.argv", ["lm_eval", "validate", "--tasks", ",".join(groups + languages)])
    lm_eval()
    assert "All tasks found and valid" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: None, r"earnings22: no question file .*siq data questions --dataset earnings22"),
        (lambda lines: lines[:-1], "earnings22: 1 of 2 clips have too few questions, .*write them by hand, or with"),
    ],
)
def test_questions_that_do_not_fit_stop_the_task_from_loading(hub, own_cache, tmp_path, monkeypatch, spoil, message):
    monkeypatch.setenv("SIQ_QUESTIONS", str(tmp_path))
    chosen = {clip["id"] for clip in list_clips("earnings22", dataset_path=str(hub.path), subset=2)}
    lines = (hub.questions / "earnings22.jsonl").read_text().splitlines()
    if (kept := spoil([line for line in lines if json.loads(line)["id"] in chosen])) is not None:
        tmp_path.joinpath("earnings22.jsonl").write_text("\n".join(kept))
    with pytest.raises(SpeechIQError, match=message):
        load_task("siq_earnings22_apply", dataset_path=str(hub.path), subset=2)
