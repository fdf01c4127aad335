"""Outputs of other programs become runs: every score is that of the task, and rows that contradict are refused."""

from __future__ import annotations

import csv
import json
import math
import tracemalloc
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics import choice
from speechiq.metrics.words.wer import wer
from speechiq.reducer.imports import runs
from speechiq.reducer.imports.forms import FORMS, choose_form
from speechiq.reducer.imports.items import ImportSettings
from speechiq.reducer.imports.survey import survey
from speechiq.reducer.runs.results_file import read_results, tasks_of
from speechiq.reducer.runs.samples import read_sample_table
from speechiq.reducer.scores.levels import choose_levels
from speechiq.reducer.scores.suites import read_systems
from speechiq.reducer.studies.groups import study_entities

WORDS = [
    {"id": "a", "reference": "So it goes on, and on.", "transcript": "so it goes on and on"},
    {"id": "b", "reference": "It cost $2,000.", "transcript": "it cost two dollars"},
    {"id": "c", "reference": "Good morning to you all.", "transcript": ""},
]
QUESTION = {"id": "a", "question": "What goes?", "A": "it", "B": "he", "C": "she", "D": "they"}
TAGGED = "MONEY: five dollars; ORG: Acme"
ANSWERS = [
    {"question_id": "q1", "answer": "The answer is (A).", "gold": "it"},
    {"question_id": "q2", "answer": "B", "gold": "A"},
    {"question_id": "q3", "answer": "I cannot hear it", "gold": "D"},
]


def write(path, rows):
    """Write rows as a table, with the columns that any of them has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def take(tmp_path, *tables, output="runs", force=False, **settings):
    """Import tables, each a list of rows or a file, and return what was written."""
    paths = [
        write(tmp_path / f"s{number}.csv", table) if isinstance(table, list) else table
        for number, table in enumerate(tables)
    ]
    given = {"dataset": "calls"} | settings
    return runs.import_outputs(
        ImportSettings(choose_form("table", paths), paths, **given), tmp_path / output, force=force
    )


def read(folder):
    """Return task -> its run, for the runs below a folder."""
    files = sorted(folder.rglob("results_*.json"))
    return {task.task: task for file in files for task in tasks_of(file, read_results(file))}


def rows_of(task):
    return [json.loads(line) for line in task.samples.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("normalizer", [None, "basic", "whisper"])
def test_words_are_scored_as_the_metric_scores_them(tmp_path, normalizer):
    written = take(tmp_path, WORDS, normalizer=normalizer)
    assert written == (["s0"], 3, ["remember"], 0, [])
    (task,) = read(tmp_path / "runs").values()
    rows = rows_of(task)
    for row, given in zip(rows, WORDS, strict=True):
        texts = given["reference"], given["transcript"]
        assert row["wer"] == wer(*texts, normalizer or "english") and row["wer_basic"] == wer(*texts, "basic")
        assert row["doc"]["text"], row["filtered_resps"] == (texts[0], [texts[1]])
    results = json.loads(Path(task.results).read_bytes())["results"][task.task]
    pairs = [(given["reference"], given["transcript"]) for given in WORDS]
    assert results["wer_corpus,transcript"] == wer(*zip(*pairs, strict=True), normalizer or "english")
    assert math.isclose(results["wer,transcript"], sum(row["wer"] for row in rows) / 3)
    assert task.metadata["imported"] == "table" and task.metadata["normalizer"] == (normalizer or "english")
    assert task.described["kind"] == "imported" and task.described["file"] == "s0.csv" and task.docs == (3, 3)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_letters_are_scored_as_apply_scores_them(tmp_path, ending):
    rows = [QUESTION | answer for answer in ANSWERS]
    take(tmp_path, write(tmp_path / f"mine.{ending}", rows))
    (task,) = read(tmp_path / "runs").values()
    assert (task.suite, task.level, task.task) == ("siq", "apply", "calls_apply")
    for row, given, key in zip(rows_of(task), ANSWERS, "AAD", strict=True):
        doc = {"options": ["it", "he", "she", "they"], "answer": key}
        expected = choice.score(doc, [choice.count_votes([given["answer"]], doc)])
        assert row["doc"]["answer"] == key
        assert {name: row[name] for name in ("acc", "unparsed", "agreement")}.items() <= expected.items()
    assert [row["acc"] for row in rows_of(task)] == [row["acc_strict"] for row in rows_of(task)] == [1, 0, 0]
    for column in ("acc", "acc_strict", "acc_all", "acc_any"):
        (system,) = read_systems([tmp_path / "runs"], levels=choose_levels([f"apply={column}"], "apply"))
        assert system.table["score"].tolist() == [1, 0, 0]


def test_questions_of_other_sizes_are_a_choice(tmp_path):
    rows = [QUESTION | answer for answer in ANSWERS]
    three = {"id": "b", "question_id": "q", "options": "(A) up (B) down (C) left", "answer": "up", "gold": "A"}
    take(tmp_path, write(tmp_path / "mine.jsonl", [*rows, three]))
    (task,) = read(tmp_path / "runs").values()
    assert (task.suite, task.level, task.task) == ("imported", "choice", "calls_choice")
    assert [row["acc"] for row in rows_of(task)] == [1, 0, 0, 1]
    assert [row["floor"] for row in rows_of(task)] == [1, 1, 0, 1]
    assert read_sample_table(task).numbers["acc"].tolist() == [1, 0, 0, 1]


OPTIONS_WITH_GAPS = [
    {"A": "", "B": "Rome", "C": "Oslo", "D": "Bern"},
    {"A": "Paris", "B": "Rome", "C": "", "D": "Bern"},
    {"options": "Paris; Rome;; Bern"},
    {"options": ["Paris", None, "Rome"]},
    {"options": "A. Paris; B.; C. Rome"},
]


@pytest.mark.parametrize("options", OPTIONS_WITH_GAPS)
def test_an_empty_option_before_others_is_left_out_since_letters_would_change(tmp_path, options):
    question = {"id": "a", "question": "Where?", "answer": "B", "gold": "B"}
    whole = [question | {"id": f"{number}", "options": "Paris; Rome; Bern;"} for number in range(30)]
    written = take(tmp_path, write(tmp_path / "mine.jsonl", [*whole, question | options]))
    (task,) = read(tmp_path / "runs").values()
    assert written.left_out == 1 and task.odd_rows == "calls: of 31 rows, left out: an empty option before others 1"
    assert {(*row["doc"]["options"], row["acc"]) for row in rows_of(task)} == {("Paris", "Rome", "Bern", 1.0)}
    with pytest.raises(
        SpeechIQError, match=r"line 1: option [ABC] of \[.*\] is empty; correct the rows, or leave them"
    ):
        take(tmp_path, write(tmp_path / "odd.jsonl", [question | options]), output="other")


def test_long_numbers_stay_different(tmp_path):
    long = 1234567890123456780
    asked = {"id": "a", "options": [long, long + 9, 1.5], "answer": "B", "gold": long + 9}
    take(tmp_path, write(tmp_path / "mine.jsonl", [asked | {"question_id": long + number} for number in (0, 9)]))
    (task,) = read(tmp_path / "runs").values()
    docs = [row["doc"] for row in rows_of(task)]
    assert [doc["question_id"] for doc in docs] == [f"{long}", f"{long + 9}"]
    assert docs[0]["options"] == [f"{long}", f"{long + 9}", "1.5"] and docs[0]["gold"] == ["B"]


def test_judged_scores_are_shares_of_the_highest(tmp_path):
    rows = [{"id": "a", "answer": "yes", "score": 4}, {"id": "b", "answer": "no", "score": 0.5}]
    take(tmp_path, rows, highest_score=5.0)
    (task,) = read(tmp_path / "runs").values()
    assert (task.suite, task.level) == ("imported", "judged")
    assert read_sample_table(task).numbers["judge"].tolist() == [0.8, 0.1]
    fault = "s0.csv' line 2: score 4 is outside 0 to 1; give the best one as --highest-score"
    with pytest.raises(SpeechIQError, match=fault):
        take(tmp_path, rows, output="other")


@pytest.mark.parametrize("name", [name for name in FORMS if name != "table"])
def test_only_the_scores_of_a_table_are_divided_by_the_highest(tmp_path, name):
    fault = f"--highest-score 5: the form {name} has no scores of your own scale; leave it out"
    with pytest.raises(SpeechIQError, match=fault):
        ImportSettings(FORMS[name], [tmp_path], highest_score=5.0)


def test_a_transcript_beside_several_questions_counts_once(tmp_path):
    rows = [QUESTION | WORDS[0] | answer for answer in ANSWERS]
    written = take(tmp_path, rows)
    assert written.levels == ["remember", "apply"] and written.clips == 1
    tasks = read(tmp_path / "runs")
    assert len(rows_of(tasks["calls_remember"])) == 1 and len(rows_of(tasks["calls_apply"])) == 3
    with pytest.raises(SpeechIQError, match=r"line 4: clip 'calls/a' of system 's0' is in .*s0.csv' line 2 already"):
        take(tmp_path, [*rows[:2], rows[2] | {"transcript": "so"}], output="other")


def test_groups_clusters_and_seconds_are_kept(tmp_path):
    rows = [
        row | {"gender": gender, "cluster": "k", "duration": "2.5"} for row, gender in zip(WORDS, "fm ", strict=True)
    ]
    take(tmp_path, rows, group_by=("gender",))
    (task,) = read(tmp_path / "runs").values()
    assert task.category.group_by == ("gender",)
    assert [row["doc"]["gender"] for row in rows_of(task)] == ["f", "m", "unknown"]
    first = rows_of(task)[0]["doc"]
    assert first["cluster"] == "calls/k" and first["audio"] == {"duration": 2.5}


def test_characters_count_in_a_language_without_spaces(tmp_path):
    rows = [
        {"id": str(number), "reference": "我不知道他在哪里" * 2, "transcript": "我不知到他在哪里" * 2}
        for number in range(3)
    ]
    take(tmp_path, rows, language="zh")
    (task,) = read(tmp_path / "runs").values()
    assert task.category.column == "cer" and task.language == "zh"
    assert read_sample_table(task).numbers["cer"].tolist() == [0.125] * 3
    with pytest.raises(
        SpeechIQError, match=r"3 of 3 references have no spaces.*; give the language, such as --language=zh, which"
    ):
        take(tmp_path, rows, output="other")


def test_the_same_rows_give_the_same_runs_in_any_order(tmp_path):
    rows = [row | {"system": name} for row in WORDS for name in ("one", "two")]
    take(tmp_path, rows)
    take(tmp_path, rows, output="again")
    take(tmp_path, rows[::-1], output="turned")
    content = {}
    for output in ("runs", "again", "turned"):
        tasks = [read(tmp_path / output / name)["calls_remember"] for name in ("one", "two")]
        content[output] = [task.metadata["content_sha256"] for task in tasks]
        if output != "turned":
            content[output] += [task.samples.read_bytes() for task in tasks]
    assert content["runs"] == content["again"] and content["turned"] == content["runs"][:2]
    assert content["runs"][0] == content["runs"][1]


def test_systems_are_named_by_rows_files_or_the_user(tmp_path):
    assert take(tmp_path, WORDS, WORDS).systems == ["s0", "s1"]
    assert take(tmp_path, [row | {"system": "a/b"} for row in WORDS], output="b").systems == ["a/b"]
    assert take(tmp_path, WORDS[:1], WORDS[1:], output="c", system="mine").systems == ["mine"]
    named = [WORDS[0] | {"system": "one"}, WORDS[1] | {"system": "two"}]
    with pytest.raises(SpeechIQError, match=r"--system mine: the rows name 2 systems \(one, two\); leave it out"):
        take(tmp_path, named, output="d", system="mine")
    take(tmp_path, [row | {"system": name} for row in WORDS for name in ("a/b", "a:b")], output="e")
    assert len(list((tmp_path / "e").iterdir())) == 2


def test_a_run_is_replaced_only_by_force(tmp_path):
    take(tmp_path, WORDS)
    with pytest.raises(SpeechIQError, match="has task 'calls_remember' of system 's0' already; name another folder"):
        take(tmp_path, WORDS)
    take(tmp_path, WORDS, force=True)
    take(tmp_path, [QUESTION | answer for answer in ANSWERS])
    assert len(list((tmp_path / "runs").rglob("results_*"))) == 2
    assert not [path for path in (tmp_path / "runs").iterdir() if path.name.startswith(".")]


def test_rows_without_a_word_are_left_out_and_counted(tmp_path):
    good = [{"id": f"{number}", "reference": "so it goes", "transcript": "so"} for number in range(60)]
    odd = [{"id": "x", "reference": "", "transcript": "so"}, {"id": "y", "reference": "...", "transcript": "so"}]
    odd.append({"id": "z", "reference": "IGNORE_TIME_SEGMENT_IN_SCORING", "transcript": "so"})
    written = take(tmp_path, good + odd)
    (task,) = read(tmp_path / "runs").values()
    assert written.left_out == 3 and task.docs == (60, 60)
    assert task.odd_rows == (
        "calls: of 63 rows, left out: no reference 1, marked as not to be scored 1, no word to score 1"
    )
    with pytest.raises(SpeechIQError, match=r"2 of 8 rows cannot be scored, more than 5 %: .*no reference 1 \(x\)"):
        take(tmp_path, good[:5] + odd, output="other")
    assert not list((tmp_path / "other").iterdir())


KINDS = {
    "a clip twice": (
        [WORDS[0], WORDS[0] | {"transcript": "so"}],
        r"line 3: clip 'calls/a' of system 's0' is in \S+ line 2 already; leave one of the two out",
    ),
    "two recordings with one name": (
        [{"audio": f"{folder}/1.wav", "reference": "so", "transcript": "so"} for folder in "ab"],
        "line 3: clip 'calls/1' .*; different clips need different ids, in a table by a column id$",
    ),
    "a question twice": (
        [QUESTION | {"answer": "A", "gold": "A"}] * 2,
        "several questions about a clip need a column question_id",
    ),
    "two references": (
        [WORDS[0] | {"system": "one"}, WORDS[0] | {"system": "two", "reference": "So it went."}],
        r"line 3: the reference of 'a' is 'So it went.', and in \S+ line 2 'So it goes on, and on.'; correct one",
    ),
    "two right answers": (
        [QUESTION | {"answer": "A", "gold": gold, "system": gold} for gold in "AB"],
        r"line 3: the answer of 'a' is '\(B\) he', and in \S+ line 2 '\(A\) it'",
    ),
    "no id": ([{"reference": "a", "transcript": "b"}], "no column 'id'; it has reference, transcript"),
    "no transcript": ([{"id": "a", "reference": "b"}], "no column 'transcript'; it has id, reference"),
    "no reference": ([{"id": "a", "transcript": "b"}], "no column 'reference'; it has id, transcript"),
    "no gold": ([QUESTION | {"answer": "A"}], "no column 'gold'"),
    "nothing to score": ([{"id": "a", "text": "b"}], "no columns to score; it has id, text; write reference and"),
    "no pair": ([WORDS[0] | {"reference": ""}], "1 of 1 row cannot be scored, all of them: no reference 1"),
    "a right answer that is no option": (
        [QUESTION | {"answer": "A", "gold": "nobody"}],
        "an answer that is in no option 1",
    ),
    "a score that is no number": ([{"id": "a", "score": "good"}], "score is 'good', not a number; correct the row"),
    "no rows": ([], "has no rows"),
}


@pytest.mark.parametrize("case", KINDS)
def test_rows_that_cannot_be_scored_are_refused_and_nothing_is_left(tmp_path, case):
    rows, message = KINDS[case]
    with pytest.raises(SpeechIQError, match=message):
        take(tmp_path, rows)
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group_by": ("accent",)}, "--group-by accent: no row has it; the groups of these rows are gender"),
        ({"group_by": ("text",)}, "--group-by text: is a field of every row; rename the column"),
        ({"dataset": "my calls"}, "--dataset: 'my calls' is not a plain name"),
        ({"language": "xx"}, "'xx' is not the code of a language"),
        ({"normalizer": "mine"}, "normalizer=mine: unknown"),
        ({"highest_score": 0.0}, "--highest-score 0: not above 0"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, settings, message):
    with pytest.raises(SpeechIQError, match=message):
        take(tmp_path, [row | {"gender": "f"} for row in WORDS], **settings)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "has no rows"),
        ("latin.csv", b"id,reference,transcript\na,caf\xe9,b\n", "not UTF-8"),
        ("cut.jsonl", b'{"id": "a", "reference": "x"', "not a whole JSON object"),
        ("list.jsonl", b'{"id": "a", "reference": "x", "transcript": ["x"]}\n', r"transcript is \['x'\], not a text"),
        ("twice.csv", b"id,reference,transcript,ID\na,b,c,d\n", "columns 1 and 4 have the same name"),
        ("notes.md", b"# a", "not one of .jsonl, .json, .csv, .tsv"),
    ],
)
def test_files_that_are_no_table_are_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SpeechIQError, match=message):
        take(tmp_path, path)


def test_a_form_is_known_by_its_name_and_its_files(tmp_path, monkeypatch):
    table = write(tmp_path / "mine.csv", WORDS)
    assert FORMS["table"].fits(table) and not FORMS["table"].fits(write(tmp_path / "x.csv", [{"id": 1}]))
    other = FORMS["table"].__class__("other", "", lambda path: False, FORMS["table"].read)
    monkeypatch.setitem(FORMS, "other", other)
    with pytest.raises(SpeechIQError, match=r"mine.csv': not of the form other; write siq import table"):
        choose_form("other", [table])


def test_entities_of_a_table_have_error_rates_by_class(tmp_path):
    rows = [
        {"id": "1", "reference": "Acme paid five dollars", "transcript": "acne paid $5", "entities": TAGGED},
        {"id": "2", "reference": "Acme paid five dollars", "transcript": "Acme paid", "entities": TAGGED},
    ]
    take(tmp_path, write(tmp_path / "tagged.csv", rows))
    found = study_entities(read_systems([tmp_path / "runs"]))
    shares = {row["class"]: row["wrong"].value for row in found.grids[0].rows}
    assert shares == {"MONEY": 0.5, "ORG": 0.5, "all entities": 0.5}
    rows[0]["entities"] = "MONEY: five dollars; Acme"
    with pytest.raises(SpeechIQError, match="line 2: the entity 'Acme' has no class, and others have one"):
        take(tmp_path, write(tmp_path / "mixed.csv", rows))


def test_no_text_is_kept(tmp_path):
    peaks = []
    for length in (20, 2000):
        text = "never " * length
        rows = [{"id": f"{number}", "reference": f"{number}", "transcript": text} for number in range(300)]
        table = write(tmp_path / f"{length}.csv", rows)
        settings = ImportSettings(FORMS["table"], [table], "calls")
        tracemalloc.start()
        survey(settings)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < table.stat().st_size / 10
