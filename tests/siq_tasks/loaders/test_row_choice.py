"""The rows of a test: the choice, their groups, their clusters and their entities."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.catalog.new import create
from speechiq.siq_tasks.loaders import clips as loading
from speechiq.siq_tasks.loaders.clips import load, prepare
from speechiq.siq_tasks.loaders.content import digest_content
from speechiq.siq_tasks.loaders.entities import read_entities
from speechiq.siq_tasks.loaders.row_choice import ChoiceSettings, choose_longest, ids_sha256
from tests.commands import refusal, siq
from tests.siq_tasks.conftest import encode, read_lines, write_lines

lengths = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 3).map(lambda x: round(x, 1)), min_size=1)


@given(lengths, st.randoms())
def test_the_choice_does_not_depend_on_the_order_of_rows(clips, random):
    shuffled = list(clips.items())
    random.shuffle(shuffled)
    assert choose_longest(clips, "all") == choose_longest(dict(shuffled), "all")
    assert choose_longest(dict(shuffled), 1) == choose_longest(clips, "all")[:1]


@given(lengths)
def test_the_longest_are_chosen(clips):
    size = (len(clips) + 1) // 2
    chosen = choose_longest(clips, size)
    rest = clips.keys() - set(chosen)
    assert min(clips[key] for key in chosen) >= max((clips[key] for key in rest), default=0)


def test_the_sha256_of_subsets_differs():
    assert ids_sha256(["a", "b"]) == ids_sha256(["b", "a"]) != ids_sha256(["ab"])


@pytest.mark.parametrize("size", [0, -1, "many", 2.5, True])
def test_a_size_that_is_none_is_named(size):
    with pytest.raises(SpeechIQError, match=rf"subset={size}: unknown; give all or a whole number of 1 or more"):
        read_record(ChoiceSettings, {"subset": size})


def test_a_size_that_is_too_large_is_named():
    with pytest.raises(SpeechIQError, match="subset=9: only 2 clips can be scored; give a lower number, or all"):
        choose_longest({"a": 1.0, "b": 2.0}, 9)


REMEMBER = {"level": "remember", "normalizer": "english"}
GENDERS = ("female", "male", "female", "male")
VALUES = {"gender": {"column": "gender", "values": ["female"], "otherwise": "other"}}


def write_table(folder, genders=GENDERS):
    """Write clips with a gender each, and return their table."""
    return write_columns(folder, gender=genders, room=[i % 2 for i in range(len(genders))])


def write_columns(folder, **columns):
    """Write clips with these columns, and return their table."""
    lines = [",".join(["audio", "text", *columns])]
    for i, values in enumerate(zip(*columns.values(), strict=True)):
        folder.joinpath(f"{i}.wav").write_bytes(encode(1.0 + i / 10))
        lines.append(",".join([f"{i}.wav", f"one two {i}", *map(str, values)]))
    table = folder / "m.csv"
    table.write_text("\n".join(lines) + "\n")
    return table


def load_with(folder, genders=GENDERS, **metadata):
    """Load clips with a gender each."""
    about = {"dataset": "own", "dataset_path": str(write_table(folder, genders)), "subset": "all"}
    return load(**about, **REMEMBER, **metadata)


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
        ("gendre", GENDERS, "m.csv': no column 'gendre'; it has audio, text, gender, room; did you mean gender?"),
        ("gender", ("male",) * 4, "m.csv, gender: all 4 clips have the group 'male'; name a column with several"),
        ("gender", ("male", "", "female", "male"), "m.csv row 1: gender is ''; write one in every row"),
        ("text", GENDERS, "metadata.group_columns: 'text' is a field of every doc; choose another name"),
        ("cluster", GENDERS, "no column 'cluster'"),
        ({"cluster": "gender"}, GENDERS, "'cluster' is a field of every doc"),
        ("a b", GENDERS, "group_columns=a b: 'a b' is not a plain name; write a list of columns, such as [gender"),
        (5, GENDERS, "or {FIELD: {column: COLUMN"),
        ({"gender": {"column": "gender"}}, GENDERS, "missing required field `values`"),
        ({"text": VALUES["gender"]}, GENDERS, "'text' is a field of every doc; choose another name"),
        ({"voice": VALUES["gender"] | {"column": "sound"}}, GENDERS, "no column 'sound'"),
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
    rows = read_lines(tmp_path / "out" / "clips.jsonl")
    assert [row["gender"] for row in rows] == ["female", "male", "male", "other"] and "room" not in rows[0]
    assert "group_columns:" in (tmp_path / "out" / "siq_mine_remember.yaml").read_text()
    assert any(warning.startswith("gender: 2 of 3 groups") for warning in made.warnings)


def test_the_command_takes_several_columns_and_refuses_a_missing_one(tmp_path):
    given = ["data", "new", "mine", "--audio", tmp_path, "--text", write_table(tmp_path), "--output", tmp_path / "out"]
    for columns, fault in (("gendre", "no column 'gendre'"), ("text", "'text' is a field"), ("gender,", "'' is not a")):
        assert fault in refusal(*given, "--group-by", columns)
    assert not (tmp_path / "out").exists()
    assert "siq_mine_remember" in siq(*given, "--group-by", "gender,room")
    assert '"room": "1"' in (tmp_path / "out" / "clips.jsonl").read_text().splitlines()[1]


IDS = ("443_1", "443_2", "447_1")


def prepare_with(folder, ids=IDS, speakers=("ann", "ann", "bob"), **metadata):
    """Return the test made of a table with clips of some ids and speakers."""
    write_columns(folder, id=ids, speaker=speakers)
    return prepare(**name_source(folder), **metadata)


def name_source(folder):
    return {"dataset": "own", "dataset_path": str(folder / "m.csv"), "subset": "all", "id_column": "id"}


@pytest.mark.parametrize(
    ("metadata", "clusters"),
    [
        ({"cluster_column": "speaker"}, ["own/ann", "own/ann", "own/bob"]),
        ({"cluster_pattern": r"^(\d+)_"}, ["own/443", "own/443", "own/447"]),
        ({"cluster_column": "none", "cluster_pattern": r"_(\d)"}, ["own/1", "own/2", "own/1"]),
    ],
)
def test_a_clip_has_the_cluster_of_its_column_or_id(own_cache, tmp_path, metadata, clusters):
    test = prepare_with(tmp_path, **metadata)
    assert [clip["cluster"] for clip in sorted(test.clips, key=lambda clip: clip["id"])] == clusters
    docs = load(**name_source(tmp_path), **REMEMBER, **metadata).docs
    assert sorted(docs["cluster"]) == sorted(clusters)


def test_without_a_rule_no_doc_and_no_digest_has_clusters(own_cache, tmp_path):
    plain = prepare_with(tmp_path, cluster_column=None, cluster_pattern="none")
    assert not any("cluster" in clip for clip in plain.clips)
    about = name_source(tmp_path) | REMEMBER
    docs, clustered = load(**about).docs, load(**about, cluster_column="speaker").docs
    assert "cluster" not in docs.column_names
    assert digest_content(docs) != digest_content(clustered)
    assert digest_content(docs) == digest_content(clustered.remove_columns("cluster"))


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"cluster_column": "debate"},
            "id, speaker; give the right one with --metadata cluster_column=...",
        ),
        ({"cluster_column": 5}, "cluster_column=5: not a text; give one"),
        ({"cluster_column": "speaker", "speakers": ("ann", "", "bob")}, "m.csv row 1: speaker is '', not a text"),
        ({"cluster_column": "speaker", "speakers": ("ann",) * 3}, "cluster_column: speaker: all 3 clips are in"),
        ({"cluster_pattern": r"^(\d)"}, "all 3 clips are in one cluster, 'own/4', so that no score has an interval"),
        ({"cluster_pattern": r"^\d+"}, r"cluster_pattern: ^\d+: has 0 groups; write a regular expression with"),
        ({"cluster_pattern": r"^(\d+)_(\d+)"}, "has 2 groups"),
        ({"cluster_pattern": "(["}, "metadata.cluster_pattern: ([: "),
        ({"cluster_pattern": "(x)"}, "m.csv row 0: metadata.cluster_pattern: (x) finds no cluster in the id '443_1'"),
        ({"cluster_pattern": "^(443)"}, "finds no cluster in the id '447_1'"),
        ({"cluster_pattern": "(a|aa)+$", "ids": ("a" * 60 + "b", "b", "c")}, "takes longer than 1 s on the id"),
        ({"cluster_column": "speaker", "cluster_pattern": "(x)"}, "cluster_column: cluster_pattern is given too"),
    ],
)
def test_a_rule_that_cannot_be_is_one_line(own_cache, tmp_path, metadata, message):
    with pytest.raises(SpeechIQError, match=re.escape(message)) as caught:
        prepare_with(tmp_path, **metadata)
    assert "\n" not in str(caught.value) and not list(own_cache.glob("clips/*.json"))


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, {"": []}),
        ("", {"": []}),
        ({}, {"": []}),
        ("New York; Peru", {"": ["New York", "Peru"]}),
        ("at 9:30; ann: Lee; Re: Lima", {"": ["at 9:30", "ann: Lee", "Re: Lima"]}),
        (["CEO: Ann", "Peru"], {"": ["CEO: Ann", "Peru"]}),
        ("MONEY: five dollars", {"MONEY": ["five dollars"]}),
        ("TIME: 9:30; ORG: Acme; TIME: noon", {"TIME": ["9:30", "noon"], "ORG": ["Acme"]}),
        ({"MONEY": ["five dollars", " "], "ORG": None}, {"MONEY": ["five dollars"]}),
        ({"money": "five dollars; a cent"}, {"money": ["five dollars", "a cent"]}),
    ],
)
def test_entities_are_texts_or_texts_of_classes(value, read):
    assert read_entities(value) == read


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, r"entities is 5, not a list of texts"),
        ({5: ["Acme"]}, r"entities has the class 5, not a name; write a list, a mapping such as"),
        ({" ": ["Acme"]}, r"entities has the class ' ', not a name"),
        ({"ORG": [5]}, r"entities ORG is \[5\], not a list of texts"),
        ("ORG: Acme; Initech", r"the entity 'Initech' has no class, and others have one; .*MONEY: five dollars; ORG"),
    ],
)
def test_a_field_that_is_no_entities_is_named(value, message):
    with pytest.raises(RowError, match=message):
        read_entities(value)


def make_calls(folder, *entities):
    table = folder / "calls.jsonl"
    rows = [{"id": str(n), "text": "Acme paid five dollars.", "entities": value} for n, value in enumerate(entities)]
    write_lines(table, *rows)
    create("calls", None, table, folder / "calls", "demo:bge-micro-v2")
    about = {"dataset": "calls", "dataset_path": str(folder / "calls" / "clips.jsonl"), "audio_column": None}
    about |= {"id_column": "id", "task_type": "remember", "selection": "longest-text"}
    return loading.load(**about).docs


def test_classes_come_from_a_table_into_docs(tmp_path, own_cache):
    docs = {doc["id"]: doc for doc in make_calls(tmp_path, {"ORG": ["Acme"], "MONEY": ["five dollars"]}, ["Acme"])}
    assert docs["calls/0"]["entities"] == ["Acme", "five dollars"]
    assert docs["calls/0"]["entity_classes"] == ["ORG", "MONEY"]
    assert docs["calls/1"]["entities"] == ["Acme"] and docs["calls/1"]["entity_classes"] is None


def test_a_set_without_classes_stays_as_it_was(tmp_path, own_cache):
    (doc,) = make_calls(tmp_path, "Acme; five dollars")
    assert "entity_classes" not in doc and doc["entities"] == ["Acme", "five dollars"]
    assert json.loads((tmp_path / "calls" / "clips.jsonl").read_text())["entities"] == ["Acme", "five dollars"]
    assert digest_content([doc]) == digest_content([doc | {"entity_classes": None}])
    assert digest_content([doc]) != digest_content([doc | {"entity_classes": ["ORG", "MONEY"]}])


def test_a_class_that_is_no_name_is_refused_before_anything_is_written(tmp_path, own_cache):
    with pytest.raises(SpeechIQError, match=r"calls\.jsonl.*entities has the class '', not a name"):
        make_calls(tmp_path, {"": ["Acme"]})
    assert not (tmp_path / "calls").exists()
