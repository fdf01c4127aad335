"""Every data set on the Hub is loaded by the code of a run, from a hub on this machine with the cards' columns."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import pytest
from lm_eval.tasks import TaskManager
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError
from speechiq.metrics.distance.readers import DEFAULT_EMBEDDER
from speechiq.siq_tasks.catalog.sources import check_sources
from speechiq.siq_tasks.index import TaskInfo, list_tasks, read_tasks
from speechiq.siq_tasks.loaders.rows import read_source
from tests.loopback_hub import reach, serve
from tests.siq_tasks.hub_cards import make_files, read_cards

COMMIT, BRANCH = "5d1f0c7be2a94c638e01d7f2b96a3c58e4d07b21", "d" * 40
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "datasets.md"
#: Task that is also loaded at another revision.
PINNED = "audiobench_gigaspeech"
CARDS = read_cards()
#: Text of a segment that is not scored.
IGNORED = "ignore_time_segment_in_scoring"
#: Settings of tasks whose defaults need a model or more rows than the tables have.
SETTINGS = {"subset": "all", "reply_asr": "pocketsphinx:en-us", "speech_quality": "off"}
ABOUT = {name: task["metadata"] for name, task in read_tasks().items()}


def find_part(task: TaskInfo) -> dict | None:
    """Return the part of the tables that a task reads; None if another configuration stands for its own."""
    source = read_source(ABOUT[task.name])
    parts = CARDS.get(source.dataset_path, [])
    splits = {
        part["split"]: part for part in parts if part.get("config", "default") == (source.dataset_name or "default")
    }
    chosen = [splits.get(name) for name in source.split.split("+")]
    if None not in chosen:
        columns = chosen[0]["rows"]
        return chosen[0] | {"rows": {name: [v for part in chosen for v in part["rows"][name]] for name in columns}}
    assert any(part.get("stands_for_all") for part in parts), f"{source} has no table in tests/siq_tasks/cards"
    return None


ON_HUB = [task for task in list_tasks(check_files=False) if task.revision]
PARTS = {task.name: find_part(task) for task in ON_HUB}
LOADED = [name for name, part in PARTS.items() if part is not None]
#: The largest group of each task, or the smallest if the others in it are not in the tables.
GROUPS = dict.fromkeys(
    task.groups[0 if PARTS[task.name].get("stands_for_all") else -1] for task in ON_HUB if task.name in LOADED
)


@pytest.fixture(scope="module")
def hub():
    with serve() as hub:
        for name, parts in CARDS.items():
            hub.add(name, make_files(parts), revisions={"main": COMMIT, "v1": BRANCH})
        hub.add(DEFAULT_EMBEDDER, {"config.json": b'{"model_type": "llama"}'})
        yield hub


@pytest.fixture(scope="module")
def manager(hub, tmp_path_factory):
    """lm-eval's tasks, with the hub of this file, caches of its own, and three questions about each clip."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIQ_CACHE", str(folder / "cache"))
        patch.setenv("SIQ_QUESTIONS", str(folder / "questions"))
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder / "hub"))
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", str(folder / "datasets"))
        reach(hub.address, patch)
        (folder / "questions").mkdir()
        for name in (name for name in LOADED if name.endswith("_apply") and "questions" not in PARTS[name]):
            about, rows = ABOUT[name], PARTS[name]["rows"]
            texts = dict(enumerate(rows[about["text_column"]]))
            places = [i for i, text in texts.items() if text != IGNORED]
            ids = [rows[about["id_column"]][i] if "id_column" in about else f"{i:05}" for i in places]
            lines = [json.dumps(ask(f"{about['dataset']}/{key}", number)) for key in ids for number in range(3)]
            folder.joinpath("questions", f"{about['dataset']}.jsonl").write_text("\n".join(lines))
        yield TaskManager(include_defaults=False, metadata=SETTINGS)


def ask(clip: str, number: int) -> dict:
    question = {"id": clip, "question_id": f"{clip}-{number}", "question": f"What is said at {number}?"}
    options = {"options": ["revenue", "costs", "time", "people"], "answer": "ABC"[number]}
    return question | options | {"writer": "hand", "checkers": [], "prompt_version": 0}


def size(part: dict) -> int:
    return len(next(iter(part["rows"].values())))


@pytest.mark.parametrize("name", LOADED)
def test_a_task_loads_its_rows_at_the_commit_of_the_hub(manager, hub, name):
    hub.requests.clear()
    try:
        task = manager.load(name)["tasks"][name]
    except SpeechIQError as error:
        if "is not installed" not in error.fault:
            raise
        pytest.skip(error.fault)
    docs, about = list(task.eval_docs), task.config.metadata
    assert docs and about["dataset_commit"] == COMMIT
    part = PARTS[name]
    scored = part.get("clips", about["rows"] - sum(about["left_out"].values()))
    assert about["rows"] == size(part) or "where" in about
    assert len(docs) == (part.get("questions", 3 * scored) if name.endswith("_apply") else scored)
    values = {str(value) for column in part["rows"].values() for value in column}
    assert {doc["text"] for doc in docs} <= values | {None}
    assert not any("datasets/" in request and "main" in request for request in hub.requests)
    prompts = [task.doc_to_text(doc) for doc in docs]
    assert all(prompt.count("<audio>") == 1 for prompt in prompts)
    if about["suite"] in ("voicebench", "bigbenchaudio"):
        shown = prompts + [item.get("question", "") for doc in docs for item in task.doc_to_audio(doc)]
        spoken = part["rows"].get("prompt", [])
        assert not any(text in each for text in spoken for each in shown), "the query is to be heard"


@pytest.mark.parametrize("group", GROUPS)
def test_the_check_finds_in_every_set_what_its_tasks_read(manager, hub, group):
    hub.requests.clear()
    for _, outcome in check_sources(group, {}):
        assert isinstance(outcome, str) and f"at {COMMIT[:12]}" in outcome, outcome
        assert "when it is loaded" not in outcome
    repositories = {name for name in CARDS if f"GET /api/datasets/{name}" in hub.requests}
    asked = [request for request in hub.requests if request.removeprefix("GET /api/datasets/") in repositories]
    assert len(asked) == len(repositories)


def test_a_revision_is_pinned_to_its_commit(manager):
    pinned = TaskManager(include_defaults=False, metadata=SETTINGS | {"dataset_revision": "v1"})
    task = pinned.load(PINNED)["tasks"][PINNED]
    assert task.config.metadata["dataset_commit"] == BRANCH


def test_the_page_shows_what_the_check_prints(monkeypatch, tmp_path):
    esb, medasr = "hf-audio/esb-datasets-test-only-sorted", "jarvisx17/Medical-ASR-EN"
    earnings22, voxpopuli, _ = CARDS[esb]
    voxpopuli = voxpopuli | {"rows": {name.replace("text", "texts"): row for name, row in voxpopuli["rows"].items()}}
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with serve() as hub:
        hub.add(esb, {}, moved_to="hf-audio/esb")
        hub.add("hf-audio/esb", make_files([earnings22, voxpopuli]), revisions={"main": COMMIT})
        hub.add(medasr, make_files(CARDS[medasr]), gated="manual")
        reach(hub.address, monkeypatch)
        done = CliRunner().invoke(app, ["data", "check", "siq_all"], catch_exceptions=False)
    shown = done.output.replace(hub.address, "https://huggingface.co").splitlines()
    assert done.exit_code == 1 and len(shown) == 4
    assert {*shown} <= {*PAGE.read_text(encoding="utf-8").splitlines()}
