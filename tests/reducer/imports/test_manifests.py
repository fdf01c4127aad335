"""Manifests of the Open ASR Leaderboard and of NeMo."""

import json
import math
import tracemalloc

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports.manifests import NEMO, OPENASR

NAME = "MODEL_openai-whisper-tiny_DATASET_hf-audio-esb_ami_test.jsonl"


def make_row(**changes):
    row = {"audio_filepath": "a/one.wav", "duration": 2.5, "time": 0.1, "text": "Good day.", "pred_text": "good day"}
    return row | changes


def write(folder, rows, name=NAME):
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(*paths, form=OPENASR):
    return [*form.read([*paths])]


def test_a_row_of_the_leaderboard(tmp_path):
    path = write(tmp_path, [make_row(), make_row(audio_filepath="sample_1", duration=None, text="Bye")])
    first, second = read(path)
    assert (first.system, first.clip, first.category) == ("openai-whisper-tiny", "one", "hf-audio-esb_ami_test")
    assert (first.reference, first.transcript, first.duration) == ("Good day.", "good day", 2.5)
    assert first.where == f"'{path}' line 1" and first.cluster is None
    assert (second.clip, second.duration) == ("sample_1", None)


def test_a_manifest_with_another_name_is_named_by_its_file_or_its_folder(tmp_path):
    paths = [tmp_path / name for name in ("a/dev.json", "b/dev.json", "c/whisper.json")]
    for path in paths:
        path.parent.mkdir()
        write(path.parent, [make_row()], path.name)
    assert [row.system for row in read(*paths, form=NEMO)] == ["a", "b", "whisper"]


@pytest.mark.parametrize(
    ("names", "clips"),
    [
        (["/data/a/one.wav", "/data/a/two.x.FLAC"], ["one", "two.x"]),
        (["C:\\a\\ES2011a.Headset-0", "a/ES2011a.Headset-1"], ["ES2011a.Headset-0", "ES2011a.Headset-1"]),
        (["a/1.wav", "b/1.wav"], ["a/1", "b/1"]),
        ([None, ""], ["sample_0", "sample_1"]),
    ],
)
def test_the_name_of_a_clip_is_that_of_its_file(tmp_path, names, clips):
    path = write(tmp_path, [make_row(audio_filepath=name) for name in names], "dev.jsonl")
    assert [row.clip for row in read(path)] == clips


def test_parts_of_one_recording_are_clips_of_one_cluster(tmp_path):
    path = write(tmp_path, [make_row(offset=0), make_row(offset=12.25), make_row(audio_filepath="two.wav")], "m.json")
    rows = read(path, form=NEMO)
    assert [(row.clip, row.cluster) for row in rows] == [("one-0", "one"), ("one-12.25", "one"), ("two", None)]


def make_chunk(parent, index, text, **changes):
    about = {
        "parent_id": parent,
        "chunk_index": index,
        "audio_filepath": f"{parent}_{index}",
        "text": f"all of {parent}",
    }
    return make_row(**about | {"pred_text": text} | changes)


def test_chunks_are_joined_by_their_index(tmp_path):
    chunks = [make_chunk("call2", 1, " two "), make_chunk("call1", 0, "just one"), make_chunk("call2", 2, None)]
    path = write(tmp_path, [*chunks, make_chunk("call2", 0, "one")])
    second, first = read(path)
    assert (second.clip, second.reference, second.transcript, second.duration) == (
        "call2",
        "all of call2",
        "one two",
        7.5,
    )
    assert (first.clip, first.transcript, first.where) == ("call1", "just one", f"'{path}' line 2")


@pytest.mark.parametrize("indices", [[0, 2], [1, 2], [0, 0], [0, None], [0, "1"], [0, [1]], [0, True]])
def test_a_session_without_all_its_chunks_has_no_transcript(tmp_path, indices):
    rows = read(write(tmp_path, [make_chunk("call", index, "word") for index in indices]))
    assert [(row.clip, row.reference, row.transcript) for row in rows] == [("call", "all of call", None)]


def test_a_session_with_a_chunk_without_length_has_none(tmp_path):
    (row,) = read(write(tmp_path, [make_chunk("call", 0, "a"), make_chunk("call", 1, "b", duration=None)]))
    assert row.duration is None and row.transcript == "a b"


@pytest.mark.parametrize("value", [None, 7, ["Good", "day"]])
def test_an_odd_row_is_yielded_without_its_text_and_reading_goes_on(tmp_path, value):
    path = write(tmp_path, [make_row(), make_row(text=value), make_row(pred_text=value), make_row()])
    rows = read(path)
    assert [row.reference for row in rows] == ["Good day.", None, "Good day.", "Good day."]
    assert [row.transcript for row in rows] == ["good day", "good day", None, "good day"]


def test_lengths_that_are_no_numbers_are_none(tmp_path):
    path = write(tmp_path, [make_row(duration=value) for value in (math.nan, math.inf, "long", True, "3.5")])
    assert [row.duration for row in read(path)] == [None, None, None, None, 3.5]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "m.json': has no rows; name a file with a line per clip"),
        (" \n\n", "m.json': has no rows; name a file with a line per clip"),
        (
            '{"audio_filepath": "a.wav", "text": "b"}',
            "m.json' line 1: no column 'pred_text'; it has audio_filepath, text",
        ),
        ('\n{"pred_text": "a"}', "m.json' line 2: no column 'text'; it has pred_text; .*a manifest with predictions"),
        ('{"text": "\N{LATIN SMALL LETTER E WITH ACUTE}"}'.encode("latin-1"), "m.json' line 1: not UTF-8 .*; save the"),
        ('{"text": "a"}'.encode("utf-16"), "m.json' line 1: not UTF-8 .*; save the file in UTF-8"),
    ],
)
@pytest.mark.parametrize("form", [OPENASR, NEMO])
def test_a_file_that_is_no_manifest_is_refused(tmp_path, content, message, form):
    path = tmp_path / "m.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert not form.fits(path)
    with pytest.raises(SpeechIQError, match=message):
        read(path, form=form)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    assert not NEMO.fits(tmp_path) and not NEMO.fits(tmp_path / "m.json")
    with pytest.raises(SpeechIQError, match=r"m.json': cannot be read \(No such file or directory\); correct the path"):
        read(tmp_path / "m.json")


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(make_row()), encoding="utf-8-sig")
    assert len(read(path)) == 1


@pytest.mark.parametrize("damaged", ["[1]", '{"text": "a"', "word"])
def test_a_damaged_line_is_refused_before_any_row_is_read(tmp_path, damaged):
    path = write(tmp_path, [make_row()])
    with path.open("a") as file:
        file.write(damaged)
    with pytest.raises(SpeechIQError, match=r"line 2: not a whole JSON object .*; correct or remove the line"):
        next(OPENASR.read([path]))


def test_the_rows_of_a_long_manifest_are_not_kept(tmp_path):
    path = write(tmp_path, [make_row(audio_filepath=f"{number}.wav", text="a" * 4000) for number in range(1000)])
    tracemalloc.start()
    try:
        assert sum(1 for _ in OPENASR.read([path])) == 1000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 < path.stat().st_size
