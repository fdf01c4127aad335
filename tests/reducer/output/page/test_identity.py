"""Test the identity of a system, from what its run recorded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.reducer.output.page.identity import name_encoder, short_names, show_kind
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import LEVELS

DESCRIBED = {
    "cascade": ({"kind": "cascade", "asr": {"model": "w"}, "llm": {}}, ("Cascade", "w", "")),
    "with a corrector": (
        {"kind": "cascade", "asr": {"model": "w", "corrector": {"model": "g"}}},
        ("Cascade with correction", "w", ""),
    ),
    "transcripts": ({"kind": "cascade", "asr": {"transcripts": "g.jsonl"}}, ("Cascade", "transcripts of g.jsonl", "")),
    "end to end": ({"kind": "end to end", "model": "q", "audio_encoder": "e"}, ("End to end", "e", "")),
    "no encoder recorded": ({"kind": "end to end", "model": "q"}, ("End to end", "q", "")),
    "gold": ({"kind": "cascade", "asr": {"control": "gold"}}, ("Control", "none (reads the reference)", "gold")),
    "constant": ({"kind": "control", "control": "letter:B"}, ("Control", "none", "letter:B")),
    "foreign": ({}, ("", "", "")),
    "odd shapes": ({"kind": "cascade", "asr": ["w"], "model": {"a": 1}}, ("End to end", "", "")),
}


@pytest.mark.parametrize(("described", "known"), DESCRIBED.values(), ids=DESCRIBED)
def test_a_description_becomes_words_of_the_leaderboard(described, known):
    task = TaskRun(0.0, "r", "s", "t", LEVELS["apply"], {}, described)
    system = System("s", tasks=(task,))
    assert (show_kind(system), name_encoder(system), system.control) == known


def test_chart_names_are_short_and_stay_apart():
    specs = ["openai/whisper-large-v2+Qwen/Qwen2-7B", "openai/whisper-large-v2+openai:gpt-4o+Qwen/Qwen2-7B"]
    assert short_names(specs) == ["whisper-large-v2", "whisper-large-v2+openai:gpt-4o"]
    assert short_names(["a/x+l", "b/x+l", "letter:B"]) == ["a/x+l", "b/x+l", "letter:B"]
    long = [f"owner/{'long-' * 20}{end}" for end in "ab"]
    assert all(len(name) <= 34 for name in short_names(long)) and len(set(short_names(long))) == 2
    assert short_names(["", "trailing/", "+"]) == ["", "trailing/", "+"]


def test_long_names_show_where_they_differ():
    pair = [f"demo:{model}+demo:SmolLM2-135M-Instruct" for model in ("whisper-base", "whisper-tiny.en")]
    shown = short_names([*pair, "x/other+demo:Qwen2.5-0.5B-Instruct"])
    assert shown == [
        "whisper-base+SmolLM2-135M-Instruct",
        "whisper-tiny.en+SmolLM2-…-Instruct",
        "other+demo:Qwen2.5-0.5B-Instruct",
    ]
    middles = [f"{'long-' * 20}{middle}{'-end' * 20}" for middle in ("base", "tiny")]
    assert ["base" in name or "tiny" in name for name in short_names(middles)] == [True, True]


@given(st.lists(st.text("ab+/:…-", max_size=90), unique=True, max_size=9))
def test_different_names_stay_different(names):
    assert len(set(short_names(names))) == len(names)
