"""Clips of the page: which are in it or linked, and steps between two texts, which cost what the error rate counts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.metrics.words.wer import count_errors
from speechiq.reducer.output.page.clips import ClipView, Edit, TranscriptView, align_texts, edits, find_source
from speechiq.reducer.output.page.items import disagreements


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    for name in ("clips/one two.flac", "secret.txt"):
        tmp_path.joinpath(name).parent.mkdir(exist_ok=True)
        tmp_path.joinpath(name).write_bytes(b"audio")
    return tmp_path


def test_clips_of_the_package_travel_with_the_page():
    assert find_source({"path": "demo/clips/kennedy.ogg"}).startswith("data:audio/ogg;base64,T2dnUw")


def test_other_clips_are_linked_where_they_lie(cache):
    file = cache / "clips" / "one two.flac"
    assert find_source({"path": "clips/one two.flac"}) == file.as_uri()
    assert find_source({"path": str(file), "duration": 2.5}) == file.as_uri()
    assert find_source({"path": str(file), "offset": 1.5, "duration": 2.5}) == f"{file.as_uri()}#t=1.5,4"


@pytest.mark.parametrize(
    "path",
    ["clips/none.flac", "https://example.org/a.ogg", "//example.org/a.ogg", "{cache}/secret.txt", "a\0.ogg", 7, None],
)
def test_nothing_else_is_ever_linked(cache, path):
    assert find_source({"path": path.format(cache=cache) if isinstance(path, str) else path}) == ""


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=9).map(" ".join)


@given(TEXTS, TEXTS)
def test_steps_lead_from_the_reference_to_the_text(reference, text):
    (ops,) = align_texts(reference, [text])
    words, at, kept, written = reference.split(), 0, [], []
    for step in ops:
        if isinstance(step, str):
            written += step.split()
        else:
            kept += words[at : at + abs(step)]
            written += words[at : at + step] if step > 0 else []
            at += abs(step)
    assert (kept, written) == (words, text.split())


@given(TEXTS, TEXTS)
def test_steps_cost_what_the_word_error_rate_counts(reference, text):
    (ops,) = align_texts(reference, [text])
    cost = sum(max(edit.dropped, len(edit.written.split())) for edit in edits(ops))
    assert cost == count_errors(reference, text).total
    assert sum(step for step in ops if isinstance(step, int) and step > 0) == count_errors(reference, text).hits


def test_a_text_is_compared_by_itself():
    texts = ["a b", "", "b a c", "a b"]
    assert align_texts("a b c", texts) == [align_texts("a b c", [text])[0] for text in texts]


@given(st.lists(st.sampled_from([*"abc", "ab", "abc", ""]), min_size=1, max_size=9), st.integers(1, 9))
def test_edits_of_nearly_all_encoders_are_found(written, encoders):
    """Let systems write some of three words; system n has encoder n modulo `encoders`."""
    systems = {str(number): " ".join(text) for number, text in enumerate(written)}
    steps = dict(zip(systems, align_texts("a b c", [*systems.values()]), strict=True))
    heard = {name: TranscriptView(text, msgspec.json.encode(steps[name]), 1.0, 0.0) for name, text in systems.items()}
    of = {name: str(int(name) % encoders) for name in systems}
    makers: dict[Edit, set[str]] = {}
    for name, ops in steps.items():
        for edit in edits(ops):
            makers.setdefault(edit, set()).add(of[name])
    count = len({*of.values()})
    expected = [f"{len(who)} of {count}" for who in makers.values() if len(who) >= max(2, 0.8 * count)]
    found = disagreements([ClipView("x", "x", {}, "a b c", "a b c", heard)], of)
    assert [row["agree"] for row in found.rows] == sorted(expected, reverse=True)
