"""`siq_all` end to end: the real loaders over local copies of the Hub's parquet, run by lm-eval."""

import json
import os

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.index import IN_PACKAGE, data_sets, list_clips, list_tasks
from tests.conftest import run
from tests.runs import load_task
from tests.siq_tasks.conftest import Hub
from tests.warm import lm_eval, run_warm

pytestmark = pytest.mark.slow

LLM = "demo:SmolLM2-135M-Instruct"
LEVELS = ("remember", "understand", "apply")
REAL = ("earnings22", "medasr", "voxpopuli")


@pytest.fixture(scope="module")
def suite_run(hub: Hub, demo_models, tmp_path_factory):
    """Whisper tiny.en on two clips a set, as a user runs it."""
    folder = tmp_path_factory.mktemp("suite")
    options = f"dataset_path={hub.path},subset=2,embedder={demo_models[-1]}"
    cache = folder / "cache"
    cache.mkdir()
    cache.joinpath("models").symlink_to(demo_models[0].parent)
    done = run_warm(
        lm_eval,
        *("--model", "hf-audio", "--tasks", "siq_all", "--batch_size", "auto", "--log_samples"),
        *("--model_args", f"pretrained=demo:whisper-tiny.en+{LLM},llm_answer=likelihood"),
        *("--metadata", options, "--output_path", str(folder / "out")),
        env={**os.environ, "SIQ_CACHE": str(cache), "SIQ_QUESTIONS": str(hub.questions)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (results,) = folder.glob("out/*/results_*.json")
    return json.loads(results.read_text()), results.parent


def test_every_set_and_level_is_scored(suite_run):
    results, _ = suite_run
    assert set(results["configs"]) == {f"siq_{dataset}_{level}" for dataset in REAL for level in LEVELS}
    for dataset in REAL:
        assert results["results"][f"siq_{dataset}_remember"]["wer,transcript"] < 0.5
        assert results["results"][f"siq_{dataset}_understand"]["similarity,embedding"] > 0.9
        assert results["n-samples"][f"siq_{dataset}_apply"]["effective"] == 6


def test_the_chosen_clips_are_recorded_so_that_two_people_can_compare(suite_run):
    results, folder = suite_run
    for dataset in REAL:
        about = [results["configs"][f"siq_{dataset}_{level}"]["metadata"] for level in LEVELS]
        assert len({record["subset_sha256"] for record in about}) == 1
        assert [record["left_out"] for record in about] == [{"marked as not to be scored": 1}] * len(about) and {
            record["rows"] for record in about
        } == {5}
        samples = next(folder.glob(f"samples_siq_{dataset}_remember_*.jsonl")).read_text().splitlines()
        docs = [json.loads(line)["doc"] for line in samples]
        assert [doc["id"] for doc in docs] == about[0]["subset_ids"]
        assert all(doc["audio"]["path"].startswith("clips/") for doc in docs)
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


def test_the_command_line_validates_the_suite():
    groups = "siq_all", "siq_remember", "siq_understand", "siq_apply", "siq_demo_languages", "siq_demo_languages_es"
    languages = "siq_belebele", "siq_belebele_deu_Latn", "siq_belebele_yor_Latn_apply"
    done = run("lm_eval", "validate", "--tasks", ",".join(groups + languages))
    assert done.returncode == 0 and "All tasks found and valid" in done.stdout


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
