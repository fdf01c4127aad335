"""Read lm-eval's sample files (`samples_<task>_<date>.jsonl`): rows in a given form, or one table of all numbers.

A form names the fields that it needs; msgspec skips all others, so that scores are read without decoding texts.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode, may_be_extreme, refuse_extremes
from speechiq.core.files.plain import locate_line, open_plain, reading
from speechiq.metrics.judge.rubric import MEANING
from speechiq.metrics.letters.options import DERIVED, tally_letters
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.table import GROUP, Item, Table, as_column

LONGEST_LINE = 64 * 2**20

Name = str | int | float
SHARE = 0.0, 1.0
#: Columns of failures that the score does not show; they are optional.
FLAGS = ("audio_coverage", "repetition", "wrong_language", "unparsed", "none_of_the_above")
#: Optional column with the score of a system that gives the same answer to all items of a data set.
FLOOR = "floor"
#: Optional columns of rows whose answers a language model read too (`--metadata reader=MODEL`).
READINGS = READ_BY_MODEL, READER_AGREES = "read_by_model", "reader_agrees"
#: Optional field of a doc: what its clip shares with other clips, such as a call or a speaker.
CLUSTER = "cluster"
#: What to do about a row that cannot be used.
RERUN = "rerun this task"
#: Value of a column in a row without it, while a file is read.
_ABSENT = -math.inf


class Doc(msgspec.Struct):
    """Hold the parts of a doc of any task template that pages and judges show: only `id` has a known type."""

    id: Name
    question_id: Any = ""
    question: Any = ""
    options: Any = None
    answer: Any = ""
    text: Any = ""
    dataset: Any = ""
    normalizer: Any = None
    audio: Any = None
    entities: Any = None
    entity_classes: Any = None


class TextRow(msgspec.Struct):
    """Hold a row of any task template, with its texts."""

    doc: Doc
    filtered_resps: Any = ""
    audio_coverage: Any = None
    repetition: Any = None

    @property
    def response(self) -> Any:
        """Return the first response."""
        return first_of(self.filtered_resps)


class Answered(msgspec.Struct):
    """Hold the right letter of a question."""

    answer: str


class Letters(msgspec.Struct, array_like=True):
    """Hold the vote on a question and the letters of its answers; what follows in the row is left out."""

    vote: str
    letters: Annotated[list[str], msgspec.Meta(min_length=1)]


class LetterRow(msgspec.Struct):
    """Hold the letters in a row of a question."""

    doc: Answered
    filtered_resps: Annotated[list[Letters], msgspec.Meta(min_length=1)]


Form = TypeVar("Form")


def read_text_rows(path: Path) -> Iterator[TextRow]:
    """Yield the rows of a sample file with their texts; errors as for `read_sample_rows`."""
    for _, row in read_sample_rows(path, TextRow, "an object doc with an id"):
        yield row


def first_of(filtered: Any) -> Any:
    """Return the first response of `filtered_resps`, which filters may have put into lists.

    >>> first_of([["so it goes", "so"]]), first_of([])
    ('so it goes', '')
    """
    while isinstance(filtered, list):
        filtered = filtered[0] if filtered else ""
    return filtered


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a sample file, numbered from 1; refuse a missing file and a line that is too long."""
    with reading(path, "make it readable or move it away"), _open(path) as file:
        for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
            if len(line) == LONGEST_LINE:
                where = f"{locate_line(path, number)} is longer than {LONGEST_LINE} bytes"
                raise SpeechIQError(where, "too long for a row of lm-eval", RERUN)
            yield number, line


def _open(path: Path) -> BufferedReader:
    try:
        return open_plain(path)
    except FileNotFoundError as error:
        raise SpeechIQError(
            f"no samples {path.name!r} in {str(path.parent)!r}", "rerun lm_eval with --log_samples"
        ) from error


def read_sample_rows(path: Path, form: type[Form], needs: str) -> Iterator[tuple[int, Form]]:
    """Yield number and row, in a given form, of each line of a sample file; refuse one without what it `needs`."""
    decoder = msgspec.json.Decoder(form)
    for number, line in read_lines(path):
        try:
            row: Form = decode(line, decoder)
        except ValueError as error:
            raise refuse_line(path, number, needs, error) from error
        try:
            if may_be_extreme(line):
                refuse_extremes(_values(row))
        except ValueError as error:
            raise SpeechIQError(f"{locate_line(path, number)} cannot be used", error, RERUN) from error
        yield number, row


def refuse_line(path: Path, number: int, needs: str, error: Exception, fix: str = RERUN) -> SpeechIQError:
    """Return the error for a line that `decode` refused."""
    if isinstance(error, msgspec.ValidationError):
        return SpeechIQError(f"{locate_line(path, number)} needs {needs} ({error})", fix=fix)
    return SpeechIQError(
        f"{locate_line(path, number)} is not a whole JSON object (the file may be cut off)", error, RERUN
    )


def show_item(item: Item) -> str:
    """Return the name of an item for messages, with unprintable characters escaped.

    >>> show_item(("demo/01", "q2"))
    "clip 'demo/01' question 'q2'"
    """
    return " ".join(f"{kind} {part!r}" for kind, part in zip(("clip", "question"), item, strict=False))


def _values(row: Any) -> Any:
    """Return a row with lists in the place of structs."""
    return list(map(_values, msgspec.structs.astuple(row))) if isinstance(row, msgspec.Struct) else row


@dataclass(frozen=True, eq=False)
class SampleTable(Table):
    """Hold the rows of one task, with the numbers that some row has. Texts are read on demand (`read_text_rows`)."""

    task: TaskRun = field(kw_only=True)

    @property
    def signed(self) -> list[str]:
        """Return the columns whose direction is known, in the order of the task."""
        return [name for name in self.task.signs if name in self.numbers]


def read_sample_table(
    task: TaskRun,
    category: Category | None = None,
    *,
    columns: Iterable[str] = (),
    known: dict[Item, Item] | None = None,
) -> SampleTable:
    """Read the numbers of a task line by line; of a row, only the item, its groups, its cluster and the columns.

    The columns are the score, flags, the floor, readings, those that the category shows beside its score, and
    `columns`. A score that rows do not have is derived from their letters (`metrics/letters/options.py`).

    Args:
        category: Its category with the column that scores it; None means that of the task.
        known: Items of other files, so that equal items are one object; new items are added.
    """
    path, category, known = task.samples, category or task.category, {} if known is None else known
    if category.usual and category.column in DERIVED:
        table = read_sample_table(task, category.measured_by(category.usual), columns=columns, known=known)
        return replace(table, numbers={**table.numbers, category.column: _tally_rows(path, category.column)})
    measure, size, by = category.measure, len(category.item), task.category.group_by
    bounds = dict.fromkeys((*FLAGS, FLOOR, *READINGS), SHARE)
    bounds |= {beside.column: beside.bounds for beside in category.extra_columns}
    bounds |= {measure.column: measure.bounds}
    names = list(dict.fromkeys((measure.column, *bounds, *columns)))
    decoder = _decoder((*category.item, *by), tuple(names), measure.may_be_undefined)
    items: dict[Item, None] = {}
    groups: list[Sequence[str]] = []
    rows: list[list[float | None]] = []
    clusters: dict[str, str] = {}
    for number, line in read_lines(path):
        try:
            doc, *row = msgspec.structs.astuple(decode(line, decoder))
        except ValueError as error:
            fix = RERUN
            if measure.column == MEANING:
                fix = "judge the transcripts: siq judge run RUNS --judge ENGINE:MODEL --judge-option rubric=meaning"
            raise refuse_line(path, number, _needs(category, by), error, fix) from error
        fields = tuple(map(str, msgspec.structs.astuple(doc)))
        item = fields[:size]
        item = known.setdefault(item, item)
        if item in items:
            raise SpeechIQError(locate_line(path, number), f"{show_item(item)} is scored twice in this file", RERUN)
        items[item] = None
        rows.append(row)
        if doc.cluster is not None and clusters.setdefault(item[0], str(doc.cluster)) != str(doc.cluster):
            raise _refuse_clusters(locate_line(path, number), item[0], clusters[item[0]], str(doc.cluster))
        groups.append(fields[size : size + len(by)])
    if not rows:
        raise SpeechIQError(path, "is empty", "rerun this task with --log_samples")
    about = {"item": as_column(items), "clip": as_column(item[0] for item in items)}
    about["cluster"] = as_column(map(clusters.get, about["clip"]))
    for place, name in enumerate(by):
        about[GROUP + name] = as_column(printable(of_row[place]) for of_row in groups)
    table = SampleTable(about, _numbers(names, rows), task=task)
    for column in table.numbers.keys() & bounds.keys():
        _refuse_outside(table, column, bounds[column])
        if column != measure.column:
            table.numbers[column][np.isinf(table.numbers[column])] = math.nan
    return table


def _tally_rows(path: Path, column: str) -> np.ndarray:
    """Return a derived column of a sample file of questions, from the letters of each row, shape (rows,)."""
    needs = f"doc.answer and the letters in filtered_resps, from which {column} is computed"
    rows = read_sample_rows(path, LetterRow, needs)
    return np.array([tally_letters(row.filtered_resps[0].letters, row.doc.answer)[column] for _, row in rows])


def join_columns(tables: Iterable[SampleTable], column: str) -> dict[tuple[str, Item], float]:
    """Return (system, item) -> the value of a column, over the tasks of any systems; refuse two values for one item."""
    joined: dict[tuple[str, Item], float] = {}
    sources: dict[tuple[str, Item], str] = {}
    for table in tables:
        task = table.task
        for item, value in table.by_item(table.numbers[column]).items() if column in table.numbers else ():
            key = task.system, item
            if joined.setdefault(key, value) != value and not (math.isnan(value) and math.isnan(joined[key])):
                raise SpeechIQError(
                    f"system {task.system!r}, {show_item(item)}",
                    f"{column} is {joined[key]:g} in task {sources[key]} and {value:g} in task {task.task}",
                    "give runs of one of the two",
                )
            sources.setdefault(key, task.task)
    return joined


def join_clusters(tables: Iterable[SampleTable], clusters: dict[str, str] | None = None) -> dict[str, str]:
    """Return clip -> its cluster over some tables, added to known `clusters`; refuse a clip in two clusters."""
    joined = {} if clusters is None else clusters
    for table in tables:
        for clip, cluster in zip(table["clip"], table["cluster"], strict=True):
            if cluster is not None and joined.setdefault(clip, cluster) != cluster:
                raise _refuse_clusters(table.task.samples, clip, joined[clip], cluster)
    return joined


def _refuse_clusters(where: object, clip: str, cluster: str, other: str) -> SpeechIQError:
    """Return the error for a clip whose rows name two clusters."""
    return SpeechIQError(
        where,
        f"clip {clip!r} is in cluster {other!r:.80} here and in {cluster!r:.80} elsewhere",
        "rerun one of the two",
    )


def may_hold_scores(path: Path, categories: Iterable[Category]) -> bool:
    """Return whether the first row has scores of a category, or cannot be read; a file without rows has no scores."""
    for _, line in read_lines(path):
        return any(_fits(line, _decoder(category.item, (category.column,), False)) for category in categories)
    return False


@cache
def _decoder(
    fields: tuple[str, ...], columns: tuple[str, ...], may_be_null: bool
) -> msgspec.json.Decoder[msgspec.Struct]:
    """Return the decoder of a row's (doc, score, *other columns); it skips other fields, several times faster."""
    named: list[tuple[str, Any] | tuple[str, Any, Any]] = [(field, Name) for field in fields]
    named += [] if CLUSTER in fields else [(CLUSTER, Name | None, None)]
    doc = msgspec.defstruct("Doc", named, gc=False)
    score, *others = columns
    row: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        ("doc", doc),
        ("score", float | None if may_be_null else float, msgspec.field(name=score)),
    ]
    row += [
        (f"column_{place}", float | None, msgspec.field(name=column, default=_ABSENT))
        for place, column in enumerate(others)
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Row", row, gc=False))


def _numbers(names: list[str], rows: list[list[float | None]]) -> dict[str, np.ndarray]:
    """Return column -> values, NaN for null and for a row without it; columns that no row has are left out."""
    columns = dict(zip(names, np.array(rows, dtype=float).T.copy(), strict=True))
    for name in names[1:]:
        absent = columns[name] == _ABSENT
        if absent.all():
            del columns[name]
        else:
            columns[name][absent] = math.nan
    return columns


def _needs(category: Category, group_by: Sequence[str]) -> str:
    fields = ", ".join(f"doc.{field}" for field in (*category.item, *group_by))
    keys = "metadata.item, metadata.group_by" if group_by else "metadata.item"
    return f"{fields} and the number {category.column!r}, by {keys} and metadata.measure of its task"


def _fits(line: bytes, decoder: msgspec.json.Decoder[msgspec.Struct]) -> bool:
    try:
        decode(line, decoder)
    except msgspec.ValidationError:
        return False
    except ValueError:
        return True
    return True


def _refuse_outside(table: SampleTable, column: str, bounds: tuple[float, float]) -> None:
    """Raise a `SpeechIQError` if a finite value of a column is outside its range."""
    (low, high), values, path = bounds, table.numbers[column], table.task.samples
    if (outside := np.flatnonzero(np.isfinite(values) & ((values < low) | (values > high)))).size:
        row, value = int(outside[0]), values[outside[0]]
        fractions = f"; fractions are expected, such as {value / 100:g}" if bounds == SHARE and 1 < value <= 100 else ""
        raise SpeechIQError(
            locate_line(path, row + 1),
            f"{column!r} of {show_item(table['item'][row])} is {value:g}, outside "
            f"{low:g} to {high:g} ({outside.size} of {len(values)} rows){fractions}",
            RERUN,
        )
