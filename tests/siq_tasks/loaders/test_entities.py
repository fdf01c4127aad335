"""Entities of rows: texts, or texts of classes, in tables and data sets."""

from __future__ import annotations

import json

import pytest

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.siq_tasks.catalog.new import create
from speechiq.siq_tasks.loaders import clips as loading
from speechiq.siq_tasks.loaders.content import digest_content
from speechiq.siq_tasks.loaders.entities import read_entities, read_entity_fields


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


def make(folder, *entities):
    table = folder / "calls.jsonl"
    rows = [{"id": str(n), "text": "Acme paid five dollars.", "entities": value} for n, value in enumerate(entities)]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    create("calls", None, table, folder / "calls", "demo:bge-micro-v2")
    about = {"dataset": "calls", "dataset_path": str(folder / "calls" / "clips.jsonl"), "audio_column": None}
    about |= {"id_column": "id", "task_type": "remember", "selection": "longest-text"}
    return loading.load(**about).docs


def test_classes_come_from_a_table_into_docs(tmp_path, own_cache):
    docs = {doc["id"]: doc for doc in make(tmp_path, {"ORG": ["Acme"], "MONEY": ["five dollars"]}, ["Acme"])}
    assert docs["calls/0"]["entities"] == ["Acme", "five dollars"]
    assert docs["calls/0"]["entity_classes"] == ["ORG", "MONEY"]
    assert docs["calls/1"]["entities"] == ["Acme"] and docs["calls/1"]["entity_classes"] is None


def test_a_set_without_classes_stays_as_it_was(tmp_path, own_cache):
    (doc,) = make(tmp_path, "Acme; five dollars")
    assert "entity_classes" not in doc and doc["entities"] == ["Acme", "five dollars"]
    assert json.loads((tmp_path / "calls" / "clips.jsonl").read_text())["entities"] == ["Acme", "five dollars"]
    assert digest_content([doc]) == digest_content([doc | {"entity_classes": None}])
    assert digest_content([doc]) != digest_content([doc | {"entity_classes": ["ORG", "MONEY"]}])


def test_a_class_that_is_no_name_is_refused_before_anything_is_written(tmp_path, own_cache):
    with pytest.raises(SpeechIQError, match=r"calls\.jsonl.*entities has the class '', not a name"):
        make(tmp_path, {"": ["Acme"]})
    assert not (tmp_path / "calls").exists()


def test_docs_have_the_class_of_each_entity():
    assert read_entity_fields("ORG: Acme; MONEY: $5") == {
        "entities": ["Acme", "$5"],
        "entity_classes": ["ORG", "MONEY"],
    }
