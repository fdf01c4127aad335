"""Measure how many words of entities are wrong, for each class of entities that a data set marks, such as MONEY."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from speechiq.core.console import count_of
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.metrics.words.normalizer import DEFAULT
from speechiq.metrics.words.word_classes import ClassCounts, count_entity_classes
from speechiq.reducer.runs.samples import Doc, TextRow, read_text_rows
from speechiq.reducer.runs.systems import System
from speechiq.reducer.stats.bootstrap import estimate_share
from speechiq.reducer.stats.grid import INTERVAL, Cell, Column, Grid, Important, caution_of_estimates
from speechiq.reducer.studies.result import StudyResult
from speechiq.siq_tasks.loaders.entities import CLASSES, ENTITIES, read_entity_fields

LEVEL = "remember"
#: Rows of the table that are no class of the data set.
ALL, NO_CLASS = "all entities", "no class"
#: Class -> clip -> what its reference has of the class.
Counts = dict[str, dict[str, ClassCounts]]


def study_entities(systems: Iterable[System]) -> StudyResult:
    """Measure the share of wrong words in the entities of each class, for each system, at the level Remember.

    A row has the `class`, the system, the number of `clips` and `entities` of the class, of those that are `missing` in
    their references, of the `words` of the others, and the share of these that is `wrong` (substituted or deleted).
    All entities together are the last class.
    """
    systems = sorted(systems, key=lambda system: system.name)
    counted = {system.name: _count(system) for system in systems}
    rows = [row for system in systems for row in _measure(system, counted[system.name])]
    if not rows:
        fix = "name them in a column entities of the table of `siq data new`, such as MONEY: five dollars; ORG: Acme"
        raise SpeechIQError("no transcript of these runs has a reference with entities", fix=fix)
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[row["class"]] = max(sizes.get(row["class"], 0), row["words"])
    rows.sort(key=lambda row: (row["class"] == ALL, -sizes[row["class"]], row["class"]))
    grid = _as_grid(rows, _list_missing(counted.values()))
    tasks = [task for system in systems for task in system.tasks]
    return StudyResult("speechiq-entities", [grid], {"entities": grid.rows}, tasks=tasks)


def _count(system: System) -> Counts:
    """Return what the references of a system's scored clips have of each class, and of all classes."""
    scored = {item[0] for item in system.items.get(LEVEL, ())}
    counts: Counts = {}
    for task in system.tasks_at(LEVEL):
        for row in read_text_rows(task.samples):
            if str(row.doc.id) in scored:
                for name, found in _count_row(row).items():
                    counts.setdefault(name, {})[str(row.doc.id)] = found
    return counts


def _count_row(row: TextRow) -> dict[str, ClassCounts]:
    texts, classes = _read_entities(row.doc)
    if not texts:
        return {}
    response = row.response if isinstance(row.response, str) else ""
    if any(classes):
        texts, classes = [*texts, *texts], [*(name or NO_CLASS for name in classes), *([ALL] * len(texts))]
    else:
        classes = [ALL] * len(texts)
    kind = str(row.doc.normalizer or DEFAULT)
    return count_entity_classes(str(row.doc.text), response, texts, classes, kind)


def _read_entities(doc: Doc) -> tuple[list[str], list[str]]:
    """Return the entities of a doc, and the class of each, which is empty without one."""
    try:
        fields = read_entity_fields(doc.entities)
    except RowError as error:
        raise SpeechIQError(str(doc.id), error.fault, "correct the row, or rerun its task") from error
    texts = fields[ENTITIES]
    classes = fields.get(CLASSES) or doc.entity_classes or [""] * len(texts)
    if (
        not isinstance(classes, list)
        or len(classes) != len(texts)
        or not all(isinstance(name, str) for name in classes)
    ):
        fault = f"{CLASSES} is {classes!r:.80}, not a text for each of {count_of(len(texts), 'entity')}"
        raise SpeechIQError(str(doc.id), fault, "correct the row, or rerun its task")
    return texts, classes


def _measure(system: System, counts: Counts) -> list[dict[str, Any]]:
    """Return a row for each class of a system; a clip or a cluster is one unit of the interval."""
    rows = []
    for name, by_clip in counts.items():
        total = ClassCounts()
        for count in by_clip.values():
            total = total.join(count)
        wrong = [count.wrong for count in by_clip.values()]
        words = [count.words for count in by_clip.values()]
        numbers = {"clips": len(by_clip), "entities": total.entities, "missing": total.missing, "words": total.words}
        share = estimate_share(wrong, words, [*by_clip], system.clusters)
        rows.append({"class": name, "system": system.name, **numbers, "wrong": share})
    return rows


def _list_missing(counted: Iterable[Counts]) -> list[str]:
    """Return the line about entities that their references do not contain, of all clips; nothing without one."""
    missing: dict[str, int] = {}
    for counts in counted:
        missing |= {clip: count.missing for clip, count in counts.get(ALL, {}).items() if count.missing}
    if not missing:
        return []
    size = count_of(sum(missing.values()), "entity")
    return [Important(f"left out: {size} that the reference does not contain, as in {next(iter(missing))}")]


def _as_grid(rows: Sequence[Mapping[str, Cell]], missing: Sequence[str]) -> Grid:
    """Return a grid with one row per class and system."""
    columns = [
        Column("class", "Class"),
        Column("system", "System"),
        Column("clips", "Clips", "d"),
        Column("entities", "Entities", "d"),
        Column("missing"),
        Column("words", "Words", "d"),
        Column("wrong", f"Wrong words\n%\n{INTERVAL}", ".1f", factor=100),
    ]
    notes = [
        *missing,
        "Wrong words: words of entities that are substituted or deleted, on the alignment of entity_wer",
        *filter(None, [caution_of_estimates(row["wrong"] for row in rows)]),
    ]
    return Grid("Errors by class of entity", columns, rows, notes)
