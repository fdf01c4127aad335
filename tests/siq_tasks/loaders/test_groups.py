"""Groups of clips by columns: the forms that name them, what records them, and every one that cannot be."""

import json
import re

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.new import create
from speechiq.siq_tasks.loaders.clips import load
from tests.commands import refusal, siq
from tests.siq_tasks.conftest import encode

GENDERS = ("female", "male", "female", "male")
VALUES = {"gender": {"column": "gender", "values": ["female"], "otherwise": "other"}}


def write_table(folder, genders=GENDERS):
    """Write clips with a gender each, and return their table."""
    lines = [f"{i}.wav,one two {i},{gender},{i % 2}" for i, gender in enumerate(genders)]
    for i in range(len(genders)):
        folder.joinpath(f"{i}.wav").write_bytes(encode(1.0 + i / 10))
    table = folder / "m.csv"
    table.write_text("\n".join(["audio,text,gender,room", *lines]) + "\n")
    return table


def load_with(folder, genders=GENDERS, **metadata):
    """Return what the loader makes of clips with a gender each."""
    table = str(write_table(folder, genders))
    about = {"dataset": "own", "dataset_path": table, "subset": "all", "level": "remember", "normalizer": "english"}
    return load(**about, **metadata)


@pytest.mark.parametrize(
    ("columns", "fields", "groups"),
    [
        ("gender", ["gender"], {"female", "male"}),
        (["gender", "room"], ["gender", "room"], {"female", "male"}),
        ("gender;room", ["gender", "room"], {"female", "male"}),
        ({"voice": "gender"}, ["voice"], {"female", "male"}),
        (VALUES, ["gender"], {"female", "other"}),
    ],
)
def test_a_clip_has_the_groups_of_its_columns(own_cache, tmp_path, columns, fields, groups):
    docs, record = load_with(tmp_path, group_columns=columns)
    assert record["group_by"] == fields and set(docs[fields[0]]) == groups
    assert "group_by" not in load_with(tmp_path).record


@pytest.mark.parametrize(
    ("columns", "genders", "message"),
    [
        ("gendre", GENDERS, "m.csv: no column 'gendre'; it has audio, text, gender, room; did you mean gender?"),
        ("gender", ("male",) * 4, "m.csv, gender: all 4 clips have the group 'male'; name a column with several"),
        ("gender", ("male", "", "female", "male"), "m.csv row 1: gender is ''; write one in every row"),
        ("text", GENDERS, "metadata.group_columns: 'text' is a field of every doc; choose another name"),
        ("cluster", GENDERS, "no column 'cluster'"),
        ({"cluster": "gender"}, GENDERS, "'cluster' is a field of every doc"),
        (
            "a b",
            GENDERS,
            "group_columns=a b: 'a b' is not a plain name; write a list of columns, such as [gender",
        ),
    ],
)
def test_groups_that_cannot_be_are_one_line(own_cache, tmp_path, columns, genders, message):
    with pytest.raises(SpeechIQError, match=re.escape(message)) as refused:
        load_with(tmp_path, genders, group_columns=columns)
    assert "\n" not in str(refused.value)


def test_groups_of_one_clip_are_named(own_cache, tmp_path, caplog):
    load_with(tmp_path, ("female", "male", "male", "other"), group_columns="gender")
    assert "own: gender: 2 of 3 groups, 'female' among them, have one clip" in caplog.text


def test_own_recordings_record_the_columns(own_cache, tmp_path):
    table = write_table(tmp_path, ("female", "male", "male", "other"))
    made = create("mine", tmp_path, table, tmp_path / "out", "demo:SmolLM2-135M-Instruct", group_by=["gender"])
    rows = [json.loads(line) for line in (tmp_path / "out" / "clips.jsonl").read_text().splitlines()]
    assert [row["gender"] for row in rows] == ["female", "male", "male", "other"] and "room" not in rows[0]
    assert "group_columns:" in (tmp_path / "out" / "siq_mine_remember.yaml").read_text()
    assert any(warning.startswith("gender: 2 of 3 groups") for warning in made.warnings)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("gendre", "no column 'gendre'; it has audio, text, gender, room; did you mean gender?"),
        ("text", "'text' is a field of every doc; choose another name"),
        ("gender,", "group_columns=['gender', '']: '' is not a plain name"),
    ],
)
def test_columns_that_cannot_be_are_refused_by_the_command(tmp_path, columns, message):
    table = write_table(tmp_path)
    given = ["--audio", tmp_path, "--text", table, "--output", tmp_path / "out", "--group-by", columns]
    assert message in refusal("data", "new", "mine", *given)
    assert not (tmp_path / "out").exists()


def test_the_command_takes_several_columns(tmp_path):
    table = write_table(tmp_path)
    given = ["--audio", tmp_path, "--text", table, "--output", tmp_path / "out", "--group-by", "gender,room"]
    assert "siq_mine_remember" in siq("data", "new", "mine", *given)
    assert '"room": "1"' in (tmp_path / "out" / "clips.jsonl").read_text().splitlines()[1]
