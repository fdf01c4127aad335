"""Score outputs as the tasks of the package do, and describe the tasks that they become."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.metrics.columns import Columns, columns_of, higher
from speechiq.metrics.words.units import describe_measure
from speechiq.reducer.imports.items import CHOICE, FREE, JUDGED, LETTER, WORDS, ImportSettings, OutputItem, as_apply
from speechiq.siq_tasks.index import TEMPLATES, read_task

if TYPE_CHECKING:
    from speechiq.metrics.judge.settings import Judging

#: Name of the suite of outputs that are no level of SIQ.
SUITE = "imported"
#: Kind -> name of the filter in the samples of its task.
FILTERS = {WORDS: "transcript", LETTER: "vote", CHOICE: "none", JUDGED: "none", FREE: "judgment"}


class ScoredOutput(NamedTuple):
    """Hold the parts of a sample row: the doc, the right output, what a filter made of the output, and the columns."""

    doc: dict[str, Any]
    target: str
    filtered: Any
    columns: Mapping[str, float]


def load_columns(kind: str, settings: ImportSettings) -> Columns:
    """Return the columns of the rows of a kind, and load what scores them, before processes are forked."""
    if kind == WORDS:
        from speechiq.metrics.words import wer

        _, further = describe_measure(read_template(WORDS) | settings.metadata)
        return columns_of(wer.score) + further
    if kind == LETTER:
        from speechiq.metrics import choice

        return columns_of(choice.score)
    if kind == CHOICE:
        from speechiq.metrics.judge.free_answers import KEY_COLUMNS

        return KEY_COLUMNS
    if kind == FREE:
        from speechiq.metrics.judge import free_answers

        _read_rule()
        return columns_of(free_answers.score)
    return higher("judge")


def score_item(item: OutputItem, kind: str, majority: str) -> ScoredOutput:
    """Return the row of an item of a kind; `majority` is the right letter of most questions."""
    doc, output = item.doc, item.output
    if kind == WORDS:
        from speechiq.metrics.words import wer

        return ScoredOutput(doc, doc["text"], output, wer.score(doc, [output]))
    if kind == LETTER:
        from speechiq.metrics import choice

        doc = as_apply(doc)
        voted = choice.count_votes([output], doc)
        return ScoredOutput(doc, doc["answer"], voted, choice.score(doc, [voted]))
    if kind == CHOICE:
        from speechiq.metrics.judge.free_answers import score_key
        from speechiq.metrics.letters.reading import parse_letter

        doc, options = doc | {"majority": majority}, doc["options"]
        columns = score_key(parse_letter(output, options), doc, len(options))
        return ScoredOutput(doc, doc["answer"], output, columns)
    if kind == FREE:
        from speechiq.metrics.judge import free_answers, judging

        rule = _read_rule()
        doc = doc | rule.record()
        (judgment,) = judging.judge_cases([free_answers.case_of(doc, output)], rule)
        judged = free_answers.item_of(output, judgment, math.nan)
        return ScoredOutput(doc, doc["answer"], str(judged), free_answers.score(doc, [judged]))
    return ScoredOutput(doc, doc["answer"], output, {"judge": item.score})


@cache
def _read_rule() -> Judging:
    """Return the judge of free answers that nobody has judged: the rule `exact_match`."""
    from speechiq.metrics.judge.settings import read_judging

    return read_judging({})


def read_template(kind: str) -> dict[str, Any]:
    """Return the metadata of the template of a kind."""
    name = JUDGED if kind == FREE else kind
    metadata: dict[str, Any] = read_task(TEMPLATES / f"_{name}.yaml")["metadata"]
    return metadata


def describe_task(kind: str, category: str | None, settings: ImportSettings) -> dict[str, Any]:
    """Return the metadata of the task that the outputs of one kind become, without what its docs add.

    Questions that are not of Apply and answers are a category of the suite `imported`. No judge of this package has
    seen answers with a score: their only column is their own. Those without are judged by rule.
    """
    metadata = read_template(kind)
    if kind == WORDS:
        changed, _ = describe_measure(metadata | settings.metadata)
        metadata |= changed | settings.metadata | settings.words
    if kind in (CHOICE, JUDGED):
        measure = dict(metadata["measure"])
        measure["alternatives"] = {
            name: about for name, about in measure["alternatives"].items() if kind == CHOICE and name != "judge"
        }
        metadata |= {"suite": SUITE, "category": category or kind, "measure": measure, "settings": []}
    if kind == FREE:
        metadata |= {"suite": SUITE, "category": category or kind} | _read_rule().record()
    if settings.language:
        metadata["language"] = settings.language
    if settings.group_by:
        metadata["group_by"] = list(settings.group_by)
    return metadata | {"version": 1.0, "imported": settings.form.name}
