"""Preparing a test's clips from rows, and every row that cannot make one."""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from datasets import Dataset, DatasetDict
from pyarrow import parquet

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import save_audio
from speechiq.siq_tasks.catalog.data_sets import list_clips
from speechiq.siq_tasks.loaders import clips as loading
from speechiq.siq_tasks.loaders.clips import prepare
from tests.conftest import full_disk
from tests.siq_tasks.conftest import README, encode, esb_row, write_parquet

pytestmark = pytest.mark.slow

COLUMNS = {"id_column": "id", "length_column": "audio_length_s"}


def make(folder, rows, **metadata):
    """The test made of `rows`, stored as earnings22 is."""
    folder.mkdir(exist_ok=True)
    folder.joinpath("README.md").write_text(README)
    write_parquet(folder / "earnings22" / "test-00000-of-00001.parquet", rows)
    return prepare_from(folder, **metadata)


def prepare_from(folder, **metadata):
    """The test made of what is stored in `folder`."""
    asked = {"dataset_path": str(folder), "dataset_name": "earnings22", "subset": 2} | COLUMNS | metadata
    return prepare(dataset="set", **asked)


def rows(*seconds, text="so it goes"):
    return [esb_row(f"r{i}", encode(s), text, s) for i, s in enumerate(seconds)]


def test_the_longest_are_kept_as_they_are_and_recorded(own_cache, tmp_path):
    given = [*rows(1.0, 3.0, 2.0), esb_row("blank", encode(9.0), "ignore time segment in scoring", 9.0)]
    test = make(tmp_path / "hub", given)
    assert [clip["id"] for clip in test.clips] == test.record["subset_ids"] == ["set/r1", "set/r2"]
    assert (test.record["rows"], test.record["left_out"]) == (4, {"marked as not to be scored": 1})
    for clip, row in zip(test.clips, (given[1], given[2]), strict=True):
        source = file_clip(clip).source
        source.check()
        assert source.file.read_bytes() == row["audio"]
        assert clip["duration"] == row["audio_length_s"]
    assert len(list(own_cache.glob("clips/??/*"))) == 2


def test_lengths_come_from_headers_without_a_column_of_lengths(own_cache, tmp_path):
    test = make(tmp_path / "hub", rows(1.0, 3.0, 2.0), length_column=None, id_column=None)
    assert test.record["subset_ids"] == ["set/00001", "set/00002"]


def test_the_longest_text_is_the_other_selection(own_cache, tmp_path):
    given = [esb_row("a", encode(1.0), "one two three", 1.0), *rows(2.0, 3.0, text="one")]
    assert make(tmp_path / "hub", given, selection="longest-text", subset=1).record["subset_ids"] == ["set/a"]


def test_a_second_run_reads_no_audio(own_cache, tmp_path, monkeypatch):
    first = make(tmp_path / "hub", rows(1.0, 2.0))
    monkeypatch.setattr(loading, "open_rows", lambda source: pytest.fail("rows were read again"))
    assert prepare_from(tmp_path / "hub") == first


def test_changed_rows_are_prepared_anew(own_cache, tmp_path):
    make(tmp_path / "hub", rows(1.0, 2.0))
    assert make(tmp_path / "hub", rows(1.0, 2.0, 3.0)).record["rows"] == 3


def test_a_clip_that_was_deleted_is_kept_again(own_cache, tmp_path):
    first = make(tmp_path / "hub", rows(1.0, 2.0))
    source = file_clip(first.clips[0]).source
    source.file.unlink()
    assert prepare_from(tmp_path / "hub") == first
    source.check()


def test_audio_that_changed_beside_its_metadata_file_is_prepared_anew(own_cache, tmp_path):
    tmp_path.joinpath("m.csv").write_text("audio,text\na.wav,one two\n")
    durations = []
    for seconds in (1.0, 2.0):
        tmp_path.joinpath("a.wav").write_bytes(encode(seconds))
        test = prepare(dataset="own", dataset_path=str(tmp_path / "m.csv"), subset="all")
        durations.append(test.clips[0]["duration"])
    assert durations == [1.0, 2.0]


def test_two_processes_at_once_prepare_the_same(own_cache, tmp_path):
    make(tmp_path / "hub", rows(*np.linspace(1, 2, 20)), subset=1)
    with ProcessPoolExecutor(2) as pool:
        one, other = pool.map(partial(prepare_from, subset=3), [tmp_path / "hub"] * 2)
    assert one == other
    assert not list(own_cache.rglob(".*"))


@pytest.mark.parametrize(
    ("given", "metadata", "message"),
    [
        (rows(1.0), {}, "subset=2: only 1 clip can be scored"),
        (rows(1.0, 2.0), {"selection": "shortest"}, "selection=shortest: unknown; give longest-audio"),
        (
            rows(1.0, 2.0),
            {"text_column": "words"},
            "no column 'words'; it has dataset, text, id, .*metadata text_column=...$",
        ),
        (rows(1.0, 2.0), {"split": "dev"}, "no split 'dev'; it has test"),
        (rows(1.0, 2.0), {"dataset_name": "tedlium"}, "tedlium"),
        (rows(1.0, 2.0, text=""), {}, "2 of 2 rows cannot be scored, all of them: no text 2 .*row 0: text is '', not"),
        ([*rows(1.0, 2.0), esb_row("x", b"noise", "one", 9.0)], {"subset": 3}, "subset=3: only 2 clips can be scored"),
    ],
)
def test_rows_that_cannot_make_a_test_are_named(own_cache, tmp_path, given, metadata, message):
    with pytest.raises(SpeechIQError, match=message):
        make(tmp_path / "hub", given, **metadata)
    assert not list(own_cache.glob("clips/*.json"))


def test_no_network_and_nothing_cached_names_the_way_out(own_cache, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for module in ("huggingface_hub.constants", "datasets.config"):
        monkeypatch.setattr(f"{module}.HF_HUB_OFFLINE", True)
    with pytest.raises(SpeechIQError, match=r"cannot be loaded and is not in the cache.*dataset_path=FOLDER"):
        list_clips("earnings22")


def test_a_disk_that_takes_no_more_leaves_nothing_half_written(own_cache):
    content = encode(1.0)
    with full_disk(), pytest.raises(SpeechIQError, match="File too large; free disk space, or set SIQ_CACHE"):
        save_audio(content, "set/x")
    assert not [file for file in own_cache.rglob("*") if file.is_file()]


def test_a_metadata_file_beside_audio_is_a_source(own_cache, tmp_path):
    tmp_path.joinpath("a.wav").write_bytes(encode(1.0, rate=8000, channels=2))
    tmp_path.joinpath("b.flac").write_bytes(encode(2.0, rate=44_100, kind="FLAC"))
    for name, content in (
        ("m.csv", "file,words\na.wav,one two\nb.flac,three four\n"),
        ("m.tsv", "file\twords\na.wav\tone two\nb.flac\tthree four\n"),
        ("m.jsonl", '{"file": "a.wav", "words": "one two"}\n{"file": "b.flac", "words": "three four"}\n'),
    ):
        tmp_path.joinpath(name).write_text(content)
        metadata = {"audio_column": "file", "text_column": "words", "subset": "all"}
        test = prepare(dataset="own", dataset_path=str(tmp_path / name), **metadata)
        assert [(clip["id"], clip["text"]) for clip in test.clips] == [
            ("own/00001", "three four"),
            ("own/00000", "one two"),
        ]
        assert [len(file_clip(clip).samples) for clip in test.clips] == [32_000, 16_000]


def test_a_damaged_list_of_clips_is_made_anew(own_cache, tmp_path):
    first = make(tmp_path / "hub", rows(1.0, 2.0))
    (manifest,) = own_cache.glob("clips/*.json")
    assert json.loads(manifest.read_text()).keys() == {"clips", "record", "known"}
    for spoilt in (b"", b"{", b"[]", b'{"clips": [{}], "record": {}, "known": []}'):
        manifest.write_bytes(spoilt)
        assert prepare_from(tmp_path / "hub") == first


def test_warnings_are_logged_by_name_at_every_load(own_cache, tmp_path, caplog):
    given = [*rows(1.0, 2.0), esb_row("again", encode(2.0), "another text", 2.0)]
    given[0]["audio"] = encode(1.0, silent=True)
    for load in (partial(make, rows=given), prepare_from):
        caplog.clear()
        load(tmp_path / "hub", subset="all")
        assert [record.message for record in caplog.records] == [
            "set: 1 of 3 clips, 'set/r0' among them: it is digital silence",
            "set: 2 clips, 'set/again' and 'set/r1', are the same audio with different references",
        ]


def test_folders_of_save_to_disk_are_read(own_cache, tmp_path):
    one = Dataset.from_dict({"audio": [{"bytes": encode(1.0), "path": None}], "text": ["one two"]})
    one.save_to_disk(str(tmp_path / "one"))
    DatasetDict({"dev": one, "test": one}).save_to_disk(str(tmp_path / "two"))
    for name in ("one", "two"):
        (clip,) = prepare(dataset="own", dataset_path=str(tmp_path / name), subset="all").clips
        assert (clip["text"], clip["duration"]) == ("one two", 1)
    with pytest.raises(SpeechIQError, match=r"two': no split 'tset'; it has dev, test; did you mean test"):
        prepare(dataset="own", dataset_path=str(tmp_path / "two"), split="tset", subset="all")
    next(tmp_path.joinpath("one").glob("*.arrow")).unlink()
    with pytest.raises(SpeechIQError, match=r"one': cannot be loaded .*; save it again with save_to_disk"):
        prepare(dataset="own", dataset_path=str(tmp_path / "one"), subset="all")


def write_equal_columns(file):
    parquet.write_table(pyarrow.table([["a"], ["b"]], names=["text", "text"]), file)


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("a.wav", lambda file: file.write_bytes(encode(1.0)), "has files, but no table of them; .*`siq data new`"),
        ("metadata.csv", lambda file: file.write_text("file_name,text\n"), "name its table: --metadata data"),
        ("test.parquet", lambda file: Dataset.from_dict({"text": []}).to_parquet(str(file)), "have no rows"),
        ("test.parquet", lambda file: file.touch(), r"test\.parquet': not a parquet file"),
        ("test.parquet", write_equal_columns, r"test\.parquet': the column 'text' occurs twice; rename or remove one"),
    ],
)
def test_a_folder_that_cannot_be_loaded_says_what_is_wrong_in_it(own_cache, tmp_path, name, write, message):
    tmp_path.joinpath("set").mkdir()
    write(tmp_path / "set" / name)
    with pytest.raises(SpeechIQError, match=message):
        prepare(dataset="own", dataset_path=str(tmp_path / "set"), subset="all")


def test_a_set_that_comes_from_a_script_names_the_ways_out(own_cache, tmp_path):
    tmp_path.joinpath("voices").mkdir()
    tmp_path.joinpath("voices", "voices.py").write_text("import datasets\n")
    with pytest.raises(
        SpeechIQError, match=r"voices: its rows come from a script, .*refs/convert/parquet, .*FOLDER"
    ) as e:
        prepare(dataset="voices", dataset_path=str(tmp_path / "voices"), subset="all")
    assert "hf-audio/esb-datasets-test-only-sorted" in str(e.value)


@pytest.mark.parametrize("name", ["../../x", "/etc", "a/b", "..", ".hidden", "", "a..b", "x" * 101, 5, None, "a\nb"])
def test_a_data_set_has_a_plain_name_and_nothing_is_written_elsewhere(own_cache, tmp_path, name):
    tmp_path.joinpath("a.wav").write_bytes(encode(1.0))
    tmp_path.joinpath("m.csv").write_text("audio,text\na.wav,one two\n")
    before = set(tmp_path.rglob("*"))
    with pytest.raises(SpeechIQError, match=r"metadata\.dataset: .* is not a plain name"):
        prepare(dataset=name, dataset_path=str(tmp_path / "m.csv"), subset="all")
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"dataset_path": ["a"]}, r"dataset_path=\['a'\]: not valid .*; write a Hub id, a folder or a table"),
        ({"dataset_path": None}, "dataset_path: missing; give a Hub id"),
        ({"text_column": {"a": 1}}, r"text_column=.*: not a text; give one"),
        ({"split": 1.5}, r"split=1\.5: not a text; give one"),
        ({"length_column": "text"}, "row 0: text is 'one two', not a number of seconds"),
        ({"audio_column": "text"}, r"m\.csv row 0: .*one two: No such file"),
        ({"subset": Path("all")}, "subset=all: unknown; give all"),
        ({"subset": 10**400}, "subset=10{39}: only 1 clip "),
        ({"dataset_path": "./" + "x" * 300}, "no such folder"),
        ({"dataset_path": "~nobody-of-this-name/x"}, "dataset_path=~nobody-of-this-name/x: no such folder"),
    ],
)
def test_metadata_of_the_wrong_kind_is_named_by_its_key(own_cache, tmp_path, metadata, message):
    tmp_path.joinpath("a.wav").write_bytes(encode(1.0))
    tmp_path.joinpath("m.csv").write_text("audio,text\na.wav,one two\n")
    asked = {"dataset_path": str(tmp_path / "m.csv"), "subset": "all"} | metadata
    with pytest.raises(SpeechIQError, match=message):
        prepare(dataset="own", **asked)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bom.csv", "\ufeffaudio,text\r\na.wav,one two\r\n"),
        ("semicolons.csv", "audio;text\na.wav;one two\n"),
        ("tabs.csv", "audio\ttext\na.wav\tone two\n"),
        ("UPPER.CSV", "audio,text\na.wav,one two\n"),
        ("quoted.csv", 'audio,text\na.wav,"one two"\n'),
        ("excel.csv", "sep=;\r\naudio;text\r\na.wav;one two\r\n"),
        ("heading.csv", '"speaker, first";audio;text\nann;a.wav;one two\n'),
        ("blank.csv", ",,\naudio, text,,\n,,,\na.wav, one two,,\n , ,,\n"),
        ("macintosh.csv", "audio,text\ra.wav,one two\r"),
        ("accents.csv", "audio,text\nré.wav,one two\n"),
    ],
)
def test_tables_of_other_programs_are_read(own_cache, tmp_path, name, content):
    for audio in ("a.wav", "re\N{COMBINING ACUTE ACCENT}.wav"):
        tmp_path.joinpath(audio).write_bytes(encode(1.0))
    tmp_path.joinpath(name).write_bytes(content.encode())
    (clip,) = prepare(dataset="own", dataset_path=str(tmp_path / name), subset="all").clips
    assert clip["text"] == "one two"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", "", "has no rows; write one line per clip"),
        ("m.csv", "audio,text\nä,ö\n".encode("latin-1"), "not UTF-8"),
        ("m.jsonl", '{"audio": "a.wav", "text"\n', r"m\.jsonl' line 1 is not a whole JSON object"),
        ("m.csv", "audio,words\na.wav,one\n", "no column 'text'; it has audio, words"),
        ("m.csv", "audio,text\nnowhere.wav,one\n", r"nowhere\.wav: No such file"),
        ("m.csv", "audio,text\na.wav,Good morning, all\n", "line 2: has 3 fields, the header 2; put a field"),
        ("m.csv", "audio,text\na.wav," + "x" * 200_000 + "\n", "line 2: field larger than field limit"),
        ("m.csv", 'audio,text\na.wav,"one\nb.wav,two\n', r"m\.csv' line 2: a double quote is not closed; close each"),
        ("m.csv", 'audio,text\na.wav,"one\nb.wav,two"\n', r"m\.csv' line 2: a double quote is not closed"),
        (
            "m.tsv",
            'audio\ttext\n\na.wav\t"one" two\n',
            r"m\.tsv' line 3: text follows a closing double quote",
        ),
        ("m.csv", "audio,text, Text\na.wav,one,two\n", r"m\.csv' line 1: columns 2 and 3 have the same name, 'Text'"),
        ("m.jsonl", '{"audio": "a.wav", "text": "one", "text": "two"}', "line 1 .* key 'text' occurs twice"),
        ("m.jsonl", '{"audio": "a.wav", "text": 5}', "row 0: text is 5, not a text"),
        ("m.jsonl", '{"audio": 5, "text": "a"}', "row 0: audio is 5, not a text"),
        ("m.jsonl", '{"audio": "a.wav", "text": "\\ud800"}', "line 1 .* half a surrogate pair"),
        ("m.jsonl", '{"audio": "a.wav", "text": "one", "id": "\\udc00"}', "line 1 .* half a surrogate pair"),
        ("m.jsonl", '{"audio": "a.wav", "text": "one", "id": [1]}', r"row 0: id is \[1\], not a text"),
        ("m.jsonl", json.dumps({"audio": "x" * 300, "text": "one", "id": "a"}), "File name too long"),
    ],
)
def test_a_table_or_row_that_cannot_be_is_named(own_cache, tmp_path, name, content, message):
    tmp_path.joinpath("a.wav").write_bytes(encode(1.0))
    written = content if isinstance(content, bytes) else content.encode()
    tmp_path.joinpath(name).write_bytes(written)
    metadata = {"id_column": "id"} if b'"id"' in written else {}
    with pytest.raises(SpeechIQError, match=message):
        prepare(dataset="own", dataset_path=str(tmp_path / name), subset="all", **metadata)
