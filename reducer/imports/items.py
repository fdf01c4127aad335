"""Make docs of the rows of outputs: a clip with its reference, or a question with its right answer, and the output."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.plain import is_folder
from speechiq.core.ids import check_plain, compose
from speechiq.core.response import drop_reasoning
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.base import CONTROL, SYSTEM_KINDS
from speechiq.engines.languages import FIELD, KEY, read_language
from speechiq.metrics.letters.options import ALPHABET
from speechiq.metrics.words.normalizer import read_normalizer
from speechiq.metrics.words.units import read_unit
from speechiq.reducer.imports.rows import Form, OutputRow
from speechiq.siq_tasks.loaders.entities import read_entity_fields
from speechiq.siq_tasks.loaders.odd_rows import MARKED, Repairs
from speechiq.siq_tasks.loaders.question_columns import RowSettings, parse_options, read_choice
from speechiq.siq_tasks.loaders.row_choice import CLUSTER, NOT_SCORED, UNKNOWN

#: How a row is scored: by its words, by a letter of four or of any number of options, by a judge elsewhere, or by rule.
WORDS, LETTER, CHOICE, JUDGED, FREE = "remember", "apply", "choice", "judged", "free"
#: Reason of rows that no judge has scored.
NO_SCORE = "no score"
#: Kinds that a user can declare.
DECLARABLE = tuple(kind for kind in SYSTEM_KINDS if kind != CONTROL)
_ODD_SIGNS = re.compile(r"[^A-Za-z0-9_-]+")


class OutputItem(NamedTuple):
    """Hold a doc and what a system wrote; `score` is that of a judge, as a share of the highest."""

    doc: dict[str, Any]
    output: str
    score: float = math.nan

    @property
    def name(self) -> tuple[str, str]:
        """Return the clip and the question; the question of a transcript is empty."""
        return self.doc["id"], self.doc.get("question_id", "")


@dataclass(frozen=True)
class ImportSettings:
    """Hold what the user says about outputs.

    Attributes:
        dataset: Name of the data set; None means that of the category of a row, the file or its folder.
        system: Name of the system; None means that of the rows or of the file.
        group_by: Names of the groups that are kept.
        highest_score: Best score of the judge, in a form that takes it; None means 1.
        kind: Kind of the system, one of `SYSTEM_KINDS` but `control`; None if it is not known.
    """

    form: Form
    paths: Sequence[Path]
    dataset: str | None = None
    language: str | None = None
    system: str | None = None
    group_by: tuple[str, ...] = ()
    highest_score: float | None = None
    normalizer: str | None = None
    kind: str | None = None
    words: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        for name in self.group_by:
            check_plain(name, "--group-by")
        if self.dataset is not None:
            check_plain(self.dataset, "--dataset")
        if self.highest_score is not None and not 0 < self.highest_score < math.inf:
            raise SpeechIQError(f"--highest-score {self.highest_score:g}", "not above 0", "give the best score")
        if self.highest_score is not None and not self.form.takes_highest_score:
            fault = f"the form {self.form.name} has no scores of your own scale"
            raise SpeechIQError(f"--highest-score {self.highest_score:g}", fault, "leave it out")
        if self.kind is not None and self.kind not in DECLARABLE:
            fix = f"{did_you_mean(self.kind, DECLARABLE)}choose from {', '.join(map(repr, DECLARABLE))}"
            raise SpeechIQError(f"--kind {self.kind!r}", "not a kind of system", fix)
        words = read_unit(self.metadata) | read_normalizer(self.metadata)
        if language := read_language(self.metadata):
            words[FIELD] = language
        object.__setattr__(self, "words", words)

    @property
    def metadata(self) -> dict[str, str]:
        """Return the metadata of a task that the user chose."""
        given = {KEY: self.language, "normalizer": self.normalizer}
        return {key: value for key, value in given.items() if value is not None}

    def name_dataset(self, row: OutputRow) -> str:
        """Return the name of the data set of a row."""
        if row.category:
            return self._name_part(row.category)
        if self.dataset is not None:
            return self.dataset
        is_of_several = len(self.paths) == 1 and row.system and not is_folder(self.paths[0])
        return self._file_name if is_of_several else self._folder_name

    @cached_property
    def _file_name(self) -> str:
        return check_plain(self.paths[0].stem, f"data set of {self.paths[0]}, without --dataset")

    @cached_property
    def _folder_name(self) -> str:
        first = self.paths[0]
        folder = first if is_folder(first) else first.parent
        return check_plain(folder.resolve().name, f"data set of {first}, without --dataset")

    def _name_part(self, category: str) -> str:
        plain = _ODD_SIGNS.sub("-", category).strip("-_") or UNKNOWN
        return plain if self.dataset is None else f"{self.dataset}-{plain}"


def list_kinds(row: OutputRow) -> list[str]:
    """Return how a row can be scored; a row that lacks something has one kind, and `make_item` says what it lacks."""
    kinds = [WORDS] if row.reference is not None and row.transcript is not None else []
    if row.options:
        kinds.append(LETTER)
    if row.score is not None:
        kinds.append(JUDGED)
    if row.is_free and row.answer is not None and not row.options:
        kinds.append(FREE)
    if not kinds:
        kinds = [JUDGED] if row.answer is not None and row.transcript is None else [WORDS]
    return kinds


def make_item(row: OutputRow, kind: str, dataset: str, settings: ImportSettings, repairs: Repairs) -> OutputItem:
    """Return the doc and the output of a row for one kind; raise a `RowError` if it lacks something."""
    doc: dict[str, Any] = {"id": f"{dataset}/{compose(row.clip)}", "dataset": dataset, "text": row.reference or ""}
    doc["audio"] = {} if row.duration is None else {"duration": row.duration}
    if row.cluster:
        doc[CLUSTER] = f"{dataset}/{row.cluster}"
    readers = {WORDS: _read_words, LETTER: _read_letter, JUDGED: _read_judged, FREE: _read_free}
    item = readers[kind](row, doc, settings, repairs)
    for name in settings.group_by:
        if name in item.doc:
            raise SpeechIQError(f"--group-by {name}", "is a field of every row", "rename the column")
        item.doc[name] = row.groups.get(name, UNKNOWN)
    return item


def _read_words(row: OutputRow, doc: dict[str, Any], settings: ImportSettings, repairs: Repairs) -> OutputItem:
    reference = _require(row.reference, "reference")
    if reference.replace("_", " ").strip().casefold() == NOT_SCORED:
        raise RowError(MARKED)
    transcript = row.transcript
    if transcript is None:
        raise RowError("no transcript")
    entities = read_entity_fields(row.entities) if row.entities else {}
    return OutputItem(doc | settings.words | entities, drop_reasoning(transcript))


def _require(text: str | None, name: str) -> str:
    if text is None or not text.strip():
        raise RowError(f"no {name}")
    return text


def _read_letter(row: OutputRow, doc: dict[str, Any], settings: ImportSettings, repairs: Repairs) -> OutputItem:
    if row.answer is None:
        raise RowError("no answer")
    raw = {"choices": list(row.options), "answer": _require(row.key, "right answer")}
    _refuse_gap(row.options)
    asked = read_choice(raw, RowSettings(), repairs)
    del asked["accepted"]
    return OutputItem(doc | _ask(row, doc) | {**asked, "question": row.question or ""}, drop_reasoning(row.answer))


def _refuse_gap(options: Sequence[str]) -> None:
    """Refuse an empty option before others: they would get new letters, and the answer has the old ones."""
    texts = parse_options(list(options))
    gap = texts.index("") if "" in texts else len(texts)
    if any(texts[gap:]):
        raise RowError("an empty option before others", f"option {ALPHABET[gap]} of {texts!r:.200} is empty")


def _read_judged(row: OutputRow, doc: dict[str, Any], settings: ImportSettings, repairs: Repairs) -> OutputItem:
    if row.score is None or math.isnan(row.score):
        raise RowError(NO_SCORE)
    highest = settings.highest_score or 1.0
    if not 0 <= row.score <= highest:
        raise SpeechIQError(
            row.where, f"score {row.score:g} is outside 0 to {highest:g}", "give the best one as --highest-score"
        )
    asked = _ask(row, doc) | {"answer": row.key or ""}
    return OutputItem(doc | asked, drop_reasoning(row.answer or ""), row.score / highest)


def _read_free(row: OutputRow, doc: dict[str, Any], settings: ImportSettings, repairs: Repairs) -> OutputItem:
    asked = {"question": _require(row.question, "question"), "answer": _require(row.key, "right answer")}
    return OutputItem(doc | _ask(row, doc) | asked, drop_reasoning(row.answer or ""))


def _ask(row: OutputRow, doc: Mapping[str, Any]) -> dict[str, Any]:
    return {"question_id": row.question_id or doc["id"], "question": row.question or ""}


def is_of_apply(doc: Mapping[str, Any]) -> bool:
    """Return whether a question can be one of the level Apply: it has four options, one of them right."""
    return len(doc["options"]) == 4 and len(doc["gold"]) == 1


def as_apply(doc: Mapping[str, Any]) -> dict[str, Any]:
    """Return the doc of a question with options as one of the level Apply, whose answer is a letter."""
    asked = {key: value for key, value in doc.items() if key != "gold"}
    return asked | {"answer": doc["gold"][0]}
