"""Test presets: tasks with the prompts and settings of others, and the differences that stay."""

from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.conditions.preset import describe_preset, find_settings, list_presets, read_preset
from speechiq.siq_tasks.index import list_tasks
from speechiq.siq_tasks.settings import user_metadata
from tests.cards.tables import read_card, write_card
from tests.commands import refusal
from tests.runs import load_task
from tests.siq_tasks.conftest import encode

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "numbers_of_others.md"
TASKS = {task.name: task for task in list_tasks(check_files=False)}


@pytest.fixture
def voicebench(own_cache, tmp_path):
    return write_card(tmp_path / "hub", read_card("voicebench"), [encode(1 + i / 10) for i in range(8)])


def load(name, **given):
    """A task with the user's metadata, as a run loads it."""
    token = user_metadata.set(given)
    try:
        return load_task(name, **given)
    finally:
        user_metadata.reset(token)


@pytest.mark.parametrize("name", list_presets())
def test_every_task_and_metric_of_a_preset_exists(name):
    preset = read_preset(name)
    known = [task for task in TASKS.values() if not _refused(name, task.name)]
    assert {task.suite for task in known} <= {"mmsu", "mmau", "mmar", "voicebench"}
    assert preset.metrics.keys() <= {task.category for task in known}
    assert all(line in PAGE.read_text(encoding="utf-8") for line in preset.differences)
    assert preset.source.partition(", ")[0] in PAGE.read_text(encoding="utf-8")


def _refused(preset, task):
    try:
        find_settings(preset, task)
    except SpeechIQError:
        return True
    return False


def test_a_preset_changes_prompt_length_and_rows_but_not_what_the_user_gave(voicebench):
    ours = load("voicebench_openbookqa", dataset_path=voicebench)
    theirs = load("voicebench_openbookqa", dataset_path=voicebench, preset="lmms-eval")
    doc = theirs.eval_docs[0]
    assert theirs.doc_to_text(doc) == "<audio>\nPlease listen to the audio and provide your response."
    assert "Reply with the letter" in ours.doc_to_text(ours.eval_docs[0])
    assert theirs.config.generation_kwargs == ours.config.generation_kwargs | {"max_gen_toks": 256}
    assert theirs.config.metadata["dataset_path"] == voicebench and theirs.config.metadata["preset"] == "lmms-eval"
    assert "preset" in theirs.config.metadata["settings"], "runs with and without it are not compared"
    full = load("voicebench_alpacaeval", dataset_path=voicebench, preset="voicebench", judge="exact_match")
    assert full.config.metadata["dataset_name"] == "alpacaeval_full"
    assert {doc["question"] for doc in full.eval_docs} != {
        doc["question"] for doc in load("voicebench_alpacaeval", dataset_path=voicebench).eval_docs
    }


def test_options_have_the_letters_of_the_preset(own_cache, tmp_path):
    folder = write_card(tmp_path / "hub", read_card("mmau"), [encode(1.1), encode(1.2), encode(1.3)])
    task = load("mmau_mini", dataset_path=folder, preset="lmms-eval")
    doc = next(doc for doc in task.eval_docs if doc["gold"] == ["B"])
    assert task.doc_to_text(doc).splitlines()[1:] == [
        "Which instrument plays the melody?",
        "A. piano",
        "B. violin",
        "Answer with the option's letter from the given choices directly.",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--preset", "voicebench", "--tasks", "siq_demo"],
            "no settings for task siq_demo_remember; leave out",
        ),
        (["--preset", "voicebench", "--tasks", "voicebench,mmau"], "has no settings for task mmau_mini"),
        (["--preset", "voicebenhc", "--tasks", "voicebench"], "preset=voicebenhc: unknown; did you mean voicebench?"),
        (["--preset", "voicebench", "--metadata", "preset=lmms-eval"], "preset=lmms-eval is given too"),
        (["--metadata", "preset=lmms-eval", "--tasks", "bigbenchaudio"], "no settings for task bigbenchaudio_"),
    ],
)
def test_a_preset_with_other_tasks_is_refused_in_one_line(tmp_path, arguments, message):
    assert message in refusal("eval", "demo", *arguments, "-o", tmp_path / "out", "--dry-run")


def test_the_description_names_the_metrics_of_the_tasks():
    *lines, last = describe_preset("voicebench", ["mmsu", "wildvoice", "ifeval"])
    assert last == "printed numbers are those of --metrics mmsu=acc_guess,ifeval=ifeval"
    assert lines[0].startswith("preset voicebench (https://github.com/MatthewCYM/VoiceBench, commit ")
