"""`siq data speak`: texts of several forms become a data set that the loader reads; some are refused."""

from __future__ import annotations

import json
import shutil
from functools import partial

import numpy as np
import pytest
import soundfile

from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.engines._shared.speech import as_speech
from speechiq.siq_tasks.catalog.folders import complete_folder
from speechiq.siq_tasks.catalog.spoken import LONGEST_TEXT, Spoken, write_spoken_set
from speechiq.siq_tasks.index import read_tasks
from speechiq.siq_tasks.loaders.clips import prepare
from tests.commands import call, refusal, succeed
from tests.conftest import full_disk
from tests.siq_tasks.questions.server import serving

succeeding = partial(succeed, "data")
refused_by = partial(refusal, "data")
siq = partial(call, "data")

needs_programs = pytest.mark.skipif(
    not (shutil.which("flite") and shutil.which("espeak-ng")), reason="flite or espeak-ng is not installed"
)
ROWS = [
    {"id": "peru", "text": "What is the capital of Peru?", "entities": ["Peru"], "answer": "A"},
    {"id": "q/2", "text": "How many legs does a spider have?", "entities": [], "answer": "B"},
    {"id": "c", "text": "Good morning.", "entities": [], "answer": "C"},
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SIQ_STORE", raising=False)


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def read(folder):
    return [json.loads(line) for line in folder.joinpath("metadata.jsonl").read_text().splitlines()]


@needs_programs
def test_a_table_is_spoken_by_voices_in_rotation_and_read_by_the_loader(texts, tmp_path):
    voices = ["espeak-ng:en-gb", "flite:slt"]
    options = ["--option", "flite.duration_stretch=1.5", "--seed", 3]
    command = ["speak", texts, "--voice", voices[0], "--voice", voices[1], *options, "--output"]
    printed = succeeding(*command, tmp_path / "spoken").output
    rows = read(tmp_path / "spoken")
    assert [{name: row[name] for name in ROWS[0]} for row in rows] == ROWS
    assert {row["voice"] for row in rows} == set(voices)
    for row in rows:
        found = soundfile.info(tmp_path / "spoken" / row["file_name"])
        assert (found.samplerate, found.channels) == (16_000, 1) and found.duration == pytest.approx(
            row["seconds"], abs=1e-3
        )
    identities = json.loads(tmp_path.joinpath("spoken", "voices.json").read_text())
    assert identities["flite:slt"]["duration_stretch"] == 1.5 and "speed" in identities["espeak-ng:en-gb"]
    table = str(tmp_path / "spoken" / "metadata.jsonl")
    settings = dict(setting.split("=") for setting in printed.splitlines()[-1].strip().split(", "))
    task, spoken = read_tasks()["siq_medasr_remember"]["metadata"], {"dataset_path": table, "subset": "all"}
    test = prepare(**task | {"dataset": "mine"} | settings | spoken)
    assert {clip["id"]: clip["text"] for clip in test.clips} == {f"mine/{row['id']}": row["text"] for row in ROWS}
    before = usage["spoken_texts"]
    succeeding(*command, tmp_path / "again")
    assert usage["spoken_texts"] == before
    again = read(tmp_path / "again")
    assert [row["seed"] for row in again] == [row["seed"] for row in rows]
    first, second = (soundfile.read(tmp_path / name / row["file_name"])[0] for name, row in
                     [("spoken", rows[0]), ("again", again[0])])  # fmt: skip
    assert (first == second).all()


@needs_programs
@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("lines.txt", "Good morning.\nGood evening.\n", ["00000", "00001"]),
        ("lines.txt", "Good morning.\n\nGood evening.\n \n", ["00000", "00002"]),
        ("table.csv", 'id,text,answer\n7,"Well, yes.",A\nb,No.,B\n', ["7", "b"]),
    ],
)
def test_plain_lines_and_csv_are_read(tmp_path, name, content, ids):
    file = tmp_path / name
    file.write_text(content)
    succeeding("speak", file, "--voice", "espeak-ng:en", "-o", tmp_path / "out")
    assert [row["id"] for row in read(tmp_path / "out")] == ids


def test_a_quote_that_is_not_closed_is_named_and_not_spoken(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text('id,text\na,"Yes.\nb,No.\n')
    assert "texts.csv' line 2: a double quote is not closed" in refused_by(
        "speak", file, "--voice", "flite:slt", "-o", tmp_path / "out"
    )
    assert not tmp_path.joinpath("out").exists()


def test_of_two_commands_with_one_output_the_second_says_that_it_is_written(tmp_path):
    with (
        pytest.raises(SpeechIQError, match="out': another command has written it meanwhile; use that folder, or name"),
        complete_folder(tmp_path / "out"),
        complete_folder(tmp_path / "out") as first,
    ):
        first.joinpath("a").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": ""}, "row 2: text is '', not a text; correct or leave out the row"),
        ({"text": "..."}, "row 2: '...' has no letter or digit to speak"),
        ({"text": "a\x07b"}, "control character"),
        ({"text": 5}, "text is 5, not a text"),
        ({"text": "word " * LONGEST_TEXT}, "longer than 10 minutes; split it"),
        ({"id": "peru", "text": "Yes."}, "rows 1 and 2 have the same id, 'peru'"),
        ({"text": "Yes.", "voice": "x"}, "a column 'voice' would be overwritten; rename or remove it"),
    ],
)
def test_a_row_that_cannot_be_spoken_is_named_before_anything_is_spoken(tmp_path, row, message):
    file = tmp_path / "texts.jsonl"
    file.write_text(json.dumps(ROWS[0]) + "\n" + json.dumps(row) + "\n")
    assert message in refused_by("speak", file, "--voice", "flite:slt", "-o", tmp_path / "out")
    assert not tmp_path.joinpath("out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--voice", "flit:slt"], "flit: no engine that speaks; did you mean flite"),
        (["--voice", "piper"], "--voice piper: no model; write ENGINE:MODEL, such as piper:VOICE.onnx"),
        (["--voice", "flite:slt", "--option", "speed"], "--option speed: not a key with a value; write KEY=VALUE"),
        (["--voice", "flite:slt", "--option", "piper.speed=1"], "no --voice is of the engine 'piper'"),
        (["--voice", "flite:slt", "--option", "speed=1"], "speed: no such option of the flite engine"),
        (["--voice", "flite:slt", "--option", "program=/no"], "flite: no program '/no'; `apt install flite`"),
    ],
)
def test_a_voice_that_cannot_be_used_is_refused_in_one_line(texts, tmp_path, arguments, message):
    assert message in refused_by("speak", texts, *arguments, "-o", tmp_path / "out")


def test_a_full_disk_is_one_line_and_leaves_no_folder(tmp_path):
    noise = np.random.default_rng(0).normal(0, 0.1, 16_000)
    spoken = Spoken({"id": "a"}, as_speech(noise, 16_000, "flite:slt"))
    with full_disk(), pytest.raises(SpeechIQError, match="spoken': File too large; free disk space, or"):
        write_spoken_set(tmp_path / "spoken", [spoken], {})
    assert not list(tmp_path.iterdir())


def test_a_folder_with_other_content_is_left_alone(texts, tmp_path):
    fault = refused_by("speak", texts, "--voice", "flite:slt", "-o", tmp_path)
    assert "contains files; choose another folder" in fault
    assert "No such file" in refused_by("speak", tmp_path / "none.txt", "--voice", "flite:slt", "-o", tmp_path / "out")


def test_speech_that_is_too_long_is_refused_and_silence_is_said(texts, tmp_path, endpoint_key, monkeypatch):
    monkeypatch.setattr("speechiq.engines._shared.speech.LONGEST_S", 6.0)
    for seconds, message in ((7, "peru: takes openai:tts longer than 6 s to speak; split the text"), (1, "")):
        soundfile.write(tmp_path / "long.wav", [0.0] * 1000 * seconds, 1000)
        audio = tmp_path.joinpath("long.wav").read_bytes()
        with serving(lambda *_: (200, {}, audio)) as server:  # noqa: B023
            address = ["--option", f"base_url={server.url}"]
            done = siq("speak", texts, "--voice", "openai:tts", *address, "-o", tmp_path / "out")
        assert (str(done.exception) == message) if message else "3 clips, 'peru' among them" in done.stderr


def test_voices_are_listed_with_their_options():
    (row,) = json.loads(call("list", "systems", "flite", "--json").stdout)
    assert row["kind"] == "speech" and isinstance(row["voices"], list)
    shown = call("list", "systems", "flite").stdout
    assert "voices here: " in shown and "duration_stretch" in shown
