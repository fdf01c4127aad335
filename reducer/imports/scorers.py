"""Score outputs as the tasks of the package do, and describe the tasks that they become."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from speechiq.metrics.columns import Columns, columns_of, higher
from speechiq.metrics.words.units import describe_measure
from speechiq.reducer.imports.items import CHOICE, JUDGED, LETTER, WORDS, ImportSettings, OutputItem, as_apply
from speechiq.siq_tasks.index import TEMPLATES, read_task

#: Name of the suite of outputs that are no level of SIQ.
SUITE = "imported"


class ScoredOutput(NamedTuple):
    """Hold the parts of a sample row: the doc, the right output, what a filter made of the output, and the columns."""

    doc: dict[str, Any]
    target: str
    filtered: Any
    columns: Mapping[str, float]


@dataclass(frozen=True)
class Scorer:
    """Define how the items of one kind are scored.

    Attributes:
        filter: Name of the filter in the samples of the kind's task.
        score: Returns the row of an item.
        columns: Columns of the rows.
    """

    filter: str
    score: Callable[[OutputItem], ScoredOutput]
    columns: Columns


def make_scorer(kind: str, majority: str, settings: ImportSettings) -> Scorer:
    """Return the scorer of a kind; `majority` is the right letter of most questions."""
    makers = {WORDS: _score_words, LETTER: _score_apply, CHOICE: _score_choice, JUDGED: _score_judged}
    return makers[kind](majority, settings)


def _score_words(majority: str, settings: ImportSettings) -> Scorer:
    from speechiq.metrics.words import wer

    def score(item: OutputItem) -> ScoredOutput:
        return ScoredOutput(item.doc, item.doc["text"], item.output, wer.score(item.doc, [item.output]))

    _, further = describe_measure(read_template(WORDS) | settings.metadata)
    return Scorer("transcript", score, columns_of(wer.score) + further)


def _score_apply(majority: str, settings: ImportSettings) -> Scorer:
    from speechiq.metrics import choice

    def score(item: OutputItem) -> ScoredOutput:
        doc = as_apply(item.doc)
        voted = choice.count_votes([item.output], doc)
        return ScoredOutput(doc, doc["answer"], voted, choice.score(doc, [voted]))

    return Scorer("vote", score, columns_of(choice.score))


def _score_choice(majority: str, settings: ImportSettings) -> Scorer:
    from speechiq.metrics.judge.free_answers import KEY_COLUMNS, score_key
    from speechiq.metrics.letters.reading import parse_letter

    def score(item: OutputItem) -> ScoredOutput:
        doc = item.doc | {"majority": majority}
        options = doc["options"]
        columns = score_key(parse_letter(item.output, options), doc, len(options))
        return ScoredOutput(doc, doc["answer"], item.output, columns)

    return Scorer("none", score, KEY_COLUMNS)


def _score_judged(majority: str, settings: ImportSettings) -> Scorer:
    def score(item: OutputItem) -> ScoredOutput:
        return ScoredOutput(item.doc, item.doc["answer"], item.output, {"judge": item.score})

    return Scorer("none", score, higher("judge"))


def read_template(kind: str) -> dict[str, Any]:
    """Return the metadata of the template of a kind."""
    metadata: dict[str, Any] = read_task(TEMPLATES / f"_{kind}.yaml")["metadata"]
    return metadata


def describe_task(kind: str, category: str | None, settings: ImportSettings) -> dict[str, Any]:
    """Return the metadata of the task that the outputs of one kind become, without what its docs add.

    Questions that are not of Apply and judged answers are a category of the suite `imported`. No judge of this package
    has seen them: their only column is their own.
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
    if settings.language:
        metadata["language"] = settings.language
    if settings.group_by:
        metadata["group_by"] = list(settings.group_by)
    return metadata | {"version": 1.0, "imported": settings.form.name}
