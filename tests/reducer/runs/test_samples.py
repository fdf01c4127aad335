"""Rows of sample files, the tables made of them, and the flags that are counted from them."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import may_be_extreme, refuse_extremes
from speechiq.reducer import Flags, as_grid, as_json, rank, read_systems
from speechiq.reducer.output.scoreboard_records import csv_rows
from speechiq.reducer.runs.samples import read_sample_table, read_text_rows
from speechiq.reducer.studies.unanswerable import leave_out, read_confirmed
from tests.commands import succeed
from tests.records import change_rows, write_samples
from tests.reducer.conftest import frozen_set, levels, on_screen, sample_row, write_run, write_skills

SYSTEMS = {"good": 0.9, "fair": 0.6, "bad": 0.3}
VOTES = {1.0: ["A", list("AAAAB")], 0.0: ["B", list("BBBBA")]}

_opened: list[str] = []
_counting = False
HEARD = {"audio_coverage": 1.0, "repetition": 0.0}


def _count(event: str, arguments: tuple[object, ...]) -> None:
    """Keep the names of sample files; an opener of `open` raises a second event, without a mode."""
    if _counting and event == "open" and arguments[1] is not None:
        name = Path(str(arguments[0])).name
        if name.startswith("samples_"):
            _opened.append(name)


sys.addaudithook(_count)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the sample files that this process opens."""
    _opened.clear()
    monkeypatch.setattr(sys.modules[__name__], "_counting", True)
    return _opened


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three systems with all three levels, answers as the suite's template has them."""
    for date, (name, skill) in enumerate(SYSTEMS.items(), 1):
        write_run(tmp_path / "runs" / name, levels(skill), system=name, date=float(date))
    for path in tmp_path.glob("runs/*/samples_demo_2_*"):
        change_rows(path, lambda row: row | {"filtered_resps": [VOTES[row["acc"]]]})
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("command", "files", "opens"),
    [
        (["score", "RUNS", "--bootstrap", "0"], 9, 1),
        (["score", "RUNS", "--bootstrap", "0", "--levels", "remember,apply"], 6, 1),
        (["score", "RUNS", "--bootstrap", "0", "-o", "OUT"], 9, 3),
        (["score", "RUNS", "--bootstrap", "0", "--levels", "apply", "-o", "OUT"], 6, 3),
        (["study", "unanswerable", "RUNS", "-o", "REVIEW"], 3, 1),
        (["compare", "good", "bad", "RUNS", "--bootstrap", "0"], 9, 1),
        (["compare", "good", "bad", "RUNS", "--bootstrap", "0", "--clips", "2"], 9, 2),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else None,
)
def test_sample_files_are_opened_once(runs, tmp_path, opened, command, files, opens):
    """The texts of a page and of `compare` need a second pass, and the answers on a page a third.

    Only the scores say which clips `compare` shows.
    """
    places = {"RUNS": str(runs), "OUT": str(tmp_path / "out.html"), "REVIEW": str(tmp_path / "review.jsonl")}
    succeed(*(places.get(word, word) for word in command))
    counts = Counter(opened)
    assert len(counts) == files and max(counts.values()) == opens


@pytest.mark.parametrize(
    ("given", "response"),
    [(["said"], "said"), ([["said"]], "said"), ("said", "said"), ([], ""), ([[]], ""), (None, None), (3, 3)],
)
def test_the_response_is_the_first_text_inside_lists(tmp_path, given, response):
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"doc": {"id": "a"}, "filtered_resps": given}))
    (row,) = read_text_rows(path)
    assert row.response == response


def test_what_no_reader_asks_for_is_not_decoded(tmp_path):
    """An unused field with a number that nothing can use is no reason to refuse a row."""
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"doc": {"id": "a", "other": 10**400}, "arguments": [10**400]}))
    assert [row.doc.id for row in read_text_rows(path)] == ["a"]
    path.write_text(json.dumps({"doc": {"id": "a", "audio": 10**400}}))
    with pytest.raises(SpeechIQError, match="line 1 cannot be used: it contains a number of 401 digits"):
        list(read_text_rows(path))


@pytest.mark.parametrize("zeros", [0, 306, 307, 308, 400])
@pytest.mark.parametrize("before", [0, 1, 150, 307, 308, 309, 1000])
def test_a_look_at_the_bytes_misses_no_number_that_is_refused(zeros, before):
    value = 9 * 10**zeros
    try:
        refuse_extremes(value)
    except ValueError:
        assert may_be_extreme(json.dumps(["x" * before, value, "x" * 500]).encode())


@pytest.mark.parametrize("depth", range(58, 70))
def test_a_look_at_the_bytes_misses_no_depth_that_is_refused(depth):
    text = b"[" * depth + b"0" + b"]" * depth
    try:
        refuse_extremes(json.loads(text))
    except ValueError:
        assert may_be_extreme(text)


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_shares_over_clips_and_questions(tmp_path):
    results = write_run(tmp_path, levels(0.5))
    stamp = results.stem.removeprefix("results_")
    clips = [f"demo/{i}" for i in range(4)]
    heard, loop = [1.0, 0.9995, 0.99, math.nan], [0.0, 0.0, 0.0, 1.0]
    rows = [
        sample_row("remember", c, "", 0.5) | {"audio_coverage": h, "repetition": x}
        for c, h, x in zip(clips, heard, loop, strict=True)
    ]
    write_rows(tmp_path / f"samples_demo_0_{stamp}.jsonl", rows)
    rows = [
        sample_row("apply", c, f"q{q}", 1.0) | {"audio_coverage": 1.0 - (c == "demo/0" and q == 1)}
        for c in clips[:2]
        for q in (0, 1)
    ]
    for row, unparsed in zip(rows, (0.2, 0.0, 1.0, 0.0), strict=True):
        row |= {"unparsed": unparsed, "none_of_the_above": float(unparsed == 0.2)}
    write_rows(tmp_path / f"samples_demo_2_{stamp}.jsonl", rows)
    (system,) = read_systems([tmp_path])
    assert system.flags == Flags(
        unparsed=pytest.approx(0.3), none_of_the_above=0.25, incomplete_audio=pytest.approx(2 / 3), repetition=0.25
    ), "demo/0 was cut at Apply, demo/2 at Remember, demo/3 did not say"


def test_questions_that_are_not_scored_do_not_count(tmp_path):
    for name, skill in (("good", 0.9), ("bad", 0.1)):
        results = write_run(tmp_path / name, levels(skill), system=name, columns={"understand": HEARD})
        path = next((tmp_path / name).glob(f"samples_demo_2_{results.stem.removeprefix('results_')}.jsonl"))
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [
            row | {"unparsed": float(row["doc"]["question_id"] == "demo/0#0"), "audio_coverage": 0.5} for row in rows
        ]
        write_rows(path, rows[: None if name == "good" else 11])
    good, _ = sorted(read_systems([tmp_path]), key=lambda system: system.name, reverse=True)
    assert good.flags == Flags(1 / 12, None, 1.0, 0.0)
    everything = [(f"demo/{clip}", f"demo/{clip}#{q}") for clip in range(4) for q in range(3)]
    (left,) = leave_out([good], read_confirmed(frozen_set(tmp_path / "set.json", *everything[:3])))
    assert left.flags == Flags(0.0, None, 0.75, 0.0), "demo/0 was cut at Apply alone"
    ranking = rank(read_systems([tmp_path]), allow_mismatch=True)
    assert [row["flags"]["unparsed"] for row in as_json(ranking)["systems"]] == [1 / 11] * 2


def test_what_rows_lack_is_not_known_and_never_0(tmp_path):
    write_run(tmp_path / "old", levels(0.1), system="old")
    write_run(tmp_path / "new", levels(0.9), system="new", columns={"remember": HEARD, "apply": {"unparsed": 0.5}})
    ranking = rank(read_systems([tmp_path]))
    known, unknown = (row["flags"] for row in as_json(ranking)["systems"])
    assert unknown == dict.fromkeys(Flags._fields)
    assert known == {
        "unparsed": 0.5,
        "none_of_the_above": None,
        "incomplete_audio": 0.0,
        "repetition": 0.0,
        "wrong_language": None,
    }
    rows = csv_rows(ranking)
    assert [row["unparsed"] for row in rows] == [0.5, None] and [row["repetition"] for row in rows] == [0.0, None]
    text = on_screen(as_grid(ranking))
    assert all(words in text for words in ("Unreadable", "50.0", "—"))
    assert "not recorded: questions answered with (E)" in " ".join(text.split())


def test_flags_that_are_0_everywhere_are_told_in_the_caption(tmp_path):
    write_skills(tmp_path, {"a": 0.1, "b": 0.9}, columns={"understand": HEARD})
    text = on_screen(as_grid(rank(read_systems([tmp_path]))))
    assert "Repetition" not in text
    assert "systems that get audio has: clips with incomplete audio, transcripts that repeat one phrase many times" in (
        " ".join(text.split())
    )


@pytest.mark.parametrize(
    ("described", "control"),
    [
        ({"kind": "cascade", "asr": {"control": "gold"}, "llm": {"model": "m"}}, "gold"),
        ({"kind": "control", "control": "letter:B"}, "letter:B"),
        ({"kind": "cascade", "asr": {"model": "gold"}}, None),
    ],
)
def test_controls_are_known_by_what_ran_not_by_their_names(tmp_path, described, control):
    for name, skill in (("gold+x", 0.1), ("b", 0.9)):
        config = {"siq": {"pretrained": name, "system": described if name == "gold+x" else {}}}
        write_run(tmp_path / name, levels(skill), system=name, config=config)
    ranking = rank(read_systems([tmp_path]))
    data = as_json(ranking)
    assert ranking.pool.controls == ({"gold+x"} if control else set())
    assert [row["control"] for row in data["systems"]] == [None, control] and data["measures"]["apply"]["chance"] == 0.2
    text = on_screen(as_grid(ranking))
    assert (f"control: {control}" in text) == bool(control) and "Apply by chance: 20 %" in text


@pytest.mark.parametrize("value", ["1.0", True, [1]])
def test_a_flag_that_is_no_number(tmp_path, value):
    task = write_samples(tmp_path, "remember", sample_row("remember", "a", "", 0.5) | {"repetition": value})
    with pytest.raises(SpeechIQError, match=r"line 1 needs .* \(Expected `float \| null`.*`\$.repetition`\)"):
        read_sample_table(task)
