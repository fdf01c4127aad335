"""Error rates of the words of entities, by class, counted by hand."""

from __future__ import annotations

import csv

import pytest

from speechiq.metrics.words.word_classes import count_entity_classes
from speechiq.reducer.stats.bootstrap import estimate_share
from tests.commands import print_and_write, refusal, siq
from tests.records import edit_rows, judge_transcripts
from tests.reducer.conftest import write_run

MARKED = [
    ("Acme paid two million dollars on May fifth", {"ORG": ["Acme"], "MONEY": ["$2 million"], "DATE": ["May 5th"]}),
    ("Call Initech Labs at 9:30", {"ORG": ["Initech Labs"], "TIME": ["9:30"]}),
    ("That is all", {}),
    ("Acme and A B C met at 2 PM", {"ORG": ["Acme", "A B C"], "TIME": ["2 PM"]}),
]
HEARD = {
    "one": [
        "acme paid $2 million on May 5th", "call initech at nine thirty", "that was all", "acme and ABC met at 2 p.m.",
    ],
    "two": ["acne paid ten dollars on May", "call in tech labs at 9:15", "that is all", "acme and ABX met"],
}  # fmt: skip


def write(folder, marked=MARKED, clusters=(None,) * 4):
    """Write a run of two systems on four clips; `marked` are texts and doc fields of each clip."""

    def mark(row):
        number = int(row["doc"]["id"].removeprefix("calls/"))
        text, entities = marked[number]
        row["doc"] |= {"text": text, "normalizer": "english", "cluster": clusters[number]}
        row["doc"] |= entities if "entity_classes" in entities else {"entities": entities}
        row["filtered_resps"] = [HEARD[row.pop("by")][number]]

    for system in HEARD:
        scores = {"remember": {f"calls/{n}": 0.5 for n in range(len(marked))}}
        write_run(folder / system, scores, system, columns={"remember": {"by": system}})
    edit_rows(folder, mark)
    return folder


def read(*arguments):
    printed, content = print_and_write("study", "entities", *arguments)
    return printed, {(row["class"], row["system"]): row for row in content["entities"]}


def counts_of(row):
    wrong = round(row["wrong"]["value"] * row["words"])
    return row["clips"], row["entities"], row["missing"], row["words"], wrong


def test_wrong_words_are_counted_by_class_and_system(tmp_path):
    printed, rows = read(write(tmp_path))
    assert {key: counts_of(row) for key, row in rows.items()} == {
        ("ORG", "one"): (3, 4, 0, 7, 1),
        ("ORG", "two"): (3, 4, 0, 7, 5),
        ("TIME", "one"): (2, 2, 0, 4, 0),
        ("TIME", "two"): (2, 2, 0, 4, 3),
        ("DATE", "one"): (1, 1, 0, 2, 0),
        ("DATE", "two"): (1, 1, 0, 2, 1),
        ("MONEY", "one"): (1, 1, 0, 1, 0),
        ("MONEY", "two"): (1, 1, 0, 1, 1),
        ("all entities", "one"): (3, 8, 0, 14, 1),
        ("all entities", "two"): (3, 8, 0, 14, 10),
    }
    assert next(iter(rows)) == ("ORG", "one") and list(rows)[-1] == ("all entities", "two")
    assert "Errors by class of entity" in printed and "14.3" in printed and "Wrong words: words of entities" in printed


def test_transcripts_whose_meaning_was_judged_have_the_same_words(tmp_path):
    marked = [*MARKED[:2], ("That is all 1", {"CARDINAL": ["1"]}), MARKED[3]]
    _, before = read(write(tmp_path, marked))
    judge_transcripts(tmp_path)
    assert read(tmp_path)[1] == before


def test_clips_of_a_call_are_one_unit_of_the_interval(tmp_path):
    alone = read(write(tmp_path / "alone"))[1]["ORG", "two"]["wrong"]
    printed, rows = read(write(tmp_path / "calls", clusters=("a", "a", "a", "b")))
    expected = estimate_share([1, 1, 3], [1, 2, 4], ["0", "1", "3"], {"0": "a", "1": "a", "3": "b"})
    assert [*rows["ORG", "two"]["wrong"].values()] == pytest.approx(expected[:3])
    assert [*alone.values()] == pytest.approx(estimate_share([1, 1, 3], [1, 2, 4], ["0", "1", "3"])[:3])
    assert "Few clusters (3 clips in 2 clusters)" in printed


def test_classes_are_read_as_tasks_write_them_and_lists_have_none(tmp_path):
    fields = {"entities": ["Acme", "$2 million"], "entity_classes": ["ORG", ""]}
    _, rows = read(write(tmp_path / "mixed", [(MARKED[0][0], fields), (MARKED[1][0], ["9:30"]), *MARKED[2:]]))
    assert counts_of(rows["no class", "one"]) == (1, 1, 0, 1, 0)
    assert counts_of(rows["all entities", "one"])[:2] == (3, 6)
    _, rows = read(write(tmp_path / "lists", [(text, ["Acme"]) for text, _ in MARKED]))
    assert {name for name, _ in rows} == {"all entities"}


def test_an_entity_that_its_reference_does_not_contain_is_counted(tmp_path):
    printed, rows = read(write(tmp_path, [(MARKED[0][0], {"ORG": ["Acme", "Initech"], "GPE": ["Peru"]}), *MARKED[1:]]))
    assert counts_of(rows["ORG", "one"])[:4] == (3, 5, 1, 7)
    assert counts_of(rows["GPE", "one"] | {"wrong": {"value": 0}}) == (1, 1, 1, 0, 0)
    assert rows["GPE", "one"]["wrong"]["value"] is None
    assert "left out: 2 entities that the reference does not contain, as in calls/0" in printed


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        (
            {"entities": ["Acme"], "entity_classes": [5]},
            r"calls/0: entity_classes is [5], not a text for each of 1 entity",
        ),
        ({"entities": ["Acme"], "entity_classes": ["A", "B"]}, r"calls/0: entity_classes is ['A', 'B'], not a text"),
        ([5], "calls/0: entities is [5], not a list of texts; correct the row, or rerun its task"),
        ({"": ["Acme"]}, "calls/0: entities has the class '', not a name"),
    ],
)
def test_rows_with_other_fields_are_named(tmp_path, entities, message):
    assert refusal("study", "entities", write(tmp_path, [(MARKED[0][0], entities), *MARKED[1:]])).startswith(message)


def test_runs_without_entities_say_what_to_write(tmp_path):
    message = refusal("study", "entities", write(tmp_path, [(text, []) for text, _ in MARKED]))
    assert message == (
        "no transcript of these runs has a reference with entities; name them in a column entities of the table of "
        "`siq data new`, such as MONEY: five dollars; ORG: Acme"
    )


def test_the_table_is_written_to_files(tmp_path):
    siq("study", "entities", write(tmp_path / "runs"), "-o", tmp_path / "o.csv", "-o", tmp_path / "o.md")
    with (tmp_path / "o.csv").open() as file:
        first = next(csv.DictReader(file))
    assert (first["class"], first["words"], first["missing"]) == ("ORG", "7", "0")
    assert float(first["wrong_low"]) <= float(first["wrong"]) <= float(first["wrong_high"])
    assert "all entities" in (tmp_path / "o.md").read_text()


@pytest.mark.parametrize(
    ("reference", "hypothesis", "entity", "wrong"),
    [
        ("We met at 2 PM", "we met at 2 p.m.", "2 p.m.", 0),
        ("It costs $5", "it costs five dollars", "five dollars", 0),
        ("We met at 9:30", "we met at nine thirty", "nine thirty", 0),
        ("This is A B C", "this is ABC", "ABC", 0),
        ("This is A B C", "this is", "ABC", 3),
        ("This is ABC", "", "A.B.C.", 1),
    ],
)
def test_spellings_of_an_entity_are_equal(reference, hypothesis, entity, wrong):
    assert count_entity_classes(reference, hypothesis, [entity], ["X"], "english")["X"].wrong == wrong


def test_a_word_in_entities_of_two_classes_counts_in_both():
    counts = count_entity_classes(
        "bank of new york", "bank of york", ["bank of new york", "new york"], ["ORG", "GPE"], None
    )
    assert {name: (count.words, count.wrong) for name, count in counts.items()} == {"ORG": (4, 1), "GPE": (2, 1)}
