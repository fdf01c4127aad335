"""Runs that speak: a tiny voice end to end; several processes and a killed run give what one process gives, once."""

import json
import math
import shutil

import pytest

from tests.harness_patch.test_ranks import evaluate, read
from tests.harness_patch.test_resume import count, run_killed

pytestmark = pytest.mark.slow
needs_flite = pytest.mark.skipif(not shutil.which("flite"), reason="flite is not installed")

TASKS = "siq_demo_reply_ii", "siq_demo_reply_sr"
DOCS = 3
#: One token per reply: replies to several queries are the same word, and sound the same.
TOKENS = 1


def ask_with(cascade, voice, *tasks):
    about = f"speech_quality=off,reply_asr={cascade.asr}"
    return ("--model", "hf-audio", "--model_args", f"pretrained=gold+{cascade.llm},speaks={voice}", "--tasks",
            ",".join(tasks), "--batch_size", "1", "--gen_kwargs", f"max_gen_toks={TOKENS}",
            "--metadata", about, "--log_samples")  # fmt: skip


def replies_of(rows):
    return [json.loads(row["filtered_resps"][0]) for row in rows.values()]


def rows_of(store):
    """Return the lines of all rows of a store, without the time and the process in which they were computed."""
    return sorted(line for file in store.rglob("*.jsonl") for line in file.read_bytes().splitlines())


def test_a_tiny_voice_of_transformers_speaks_from_the_command_line(tiny_cascade, tiny_voice, tmp_path):
    evaluate(tmp_path / "runs", ask=ask_with(tiny_cascade, f"hf:{tiny_voice}", TASKS[0]), limit=2)
    rows, _, usage = read(tmp_path / "runs")
    assert len(rows) == usage["spoken_texts"] == 2
    for row in rows.values():
        assert row["spoken"] == 1 and row["response_seconds"] > 0 and math.isfinite(row["judge_points"])


@pytest.fixture(scope="module")
def ask(tiny_cascade):
    return ask_with(tiny_cascade, "flite:slt", *TASKS)


@pytest.fixture(scope="module")
def one(ask, tmp_path_factory):
    """Return a run of one process: its store, and what it gave."""
    folder = tmp_path_factory.mktemp("one")
    evaluate(folder / "runs", ask=ask, limit=DOCS, store=folder / "store")
    return folder / "store", read(folder / "runs")


@needs_flite
def test_two_processes_speak_and_transcribe_as_much_as_one(ask, one, tmp_path):
    evaluate(tmp_path / "runs", ask=ask, limit=DOCS, nodes=(2,), store=tmp_path / "store")
    rows, results, usage = read(tmp_path / "runs")
    assert (rows, results, usage) == one[1]
    replies = replies_of(rows)
    assert usage["spoken_texts"] == len(replies) == DOCS * len(TASKS)
    assert 1 < usage["asr_clips"] == len({reply["audio"]["sha256"] for reply in replies}) < len(replies)
    assert rows_of(tmp_path / "store") == rows_of(one[0])


@needs_flite
def test_a_killed_run_speaks_and_transcribes_only_what_is_missing(ask, one, tmp_path):
    whole, store = count(one[0]), tmp_path / "store"
    arguments = [*ask, "--limit", str(DOCS), "--output_path", str(tmp_path / "killed")]
    while_speaking, while_transcribing = whole["text"] + 1, whole["speech"]
    for rows in (while_speaking, while_transcribing):
        run_killed(rows, arguments, store)
    kept = count(store)
    assert sum(kept.values()) == while_speaking + while_transcribing
    evaluate(tmp_path / "runs", ask=ask, limit=DOCS, store=store)
    rows, results, usage = read(tmp_path / "runs")
    assert (rows, results) == one[1][:2]
    done = {"text": "prefills", "speech": "spoken_texts", "reply transcript": "asr_clips"}
    assert {stage: kept[stage] + usage.get(name, 0) for stage, name in done.items()} == whole
    assert set(rows_of(store)) >= set(rows_of(one[0]))
