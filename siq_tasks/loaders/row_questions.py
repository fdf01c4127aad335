"""Ask the questions that are in the columns of a data set, with one wording, one per clip, or several, by a digest.

The wordings of an instruction are the lines of a file in `audiobench/instructions/`; their numbers are their places
from 0.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import PACKAGE
from speechiq.core.suggestions import suggest
from speechiq.metrics.columns import OWN
from speechiq.metrics.settings import read_record
from speechiq.metrics.translation import fill_instruction
from speechiq.siq_tasks.loaders.odd_rows import Repairs
from speechiq.siq_tasks.loaders.question_columns import ALL, BY_DIGEST, Columns, RowSettings, WordingSettings
from speechiq.siq_tasks.settings import RowReader, find_task_type, name_task_type

log = logging.getLogger(__name__)
FOLDER = PACKAGE / "audiobench" / "instructions"


class RowQuestions(NamedTuple):
    """Describe how the rows of one task are asked.

    Attributes:
        task_type: Name of the type of the task.
        wordings: Wordings of the instruction; empty if the question of a row is its instruction.
        chosen: `rotate`, `all` or the number of a wording.
    """

    task_type: str
    columns: Columns
    read_row: RowReader
    settings: RowSettings
    wordings: Sequence[str] = ()
    chosen: str | int = BY_DIGEST

    @property
    def key(self) -> list[Any]:
        """Return what decides which rows can be asked."""
        return [msgspec.structs.astuple(self.columns), self.task_type, *msgspec.structs.astuple(self.settings)]

    def read(self, row: Mapping[str, Any], repairs: Repairs) -> dict[str, Any]:
        """Return what a row (value by column) asks; see `question_columns.read_open`."""
        return self.read_row(self.columns.pick(row), self.settings, repairs)

    def ask(self, clips: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the questions of prepared rows, once for each wording of the instruction with which each is asked.

        Rows without a text in the column of checklists are asked too, and named in a warning. Each clip has the `id` of
        the clip, and `question_id` and `row` (values by column) of a row.
        """
        rows = [{"id": clip["id"], "question_id": clip["question_id"], **self.read(clip["row"], [])} for clip in clips]
        self._warn_of_no_checklist(rows)
        gold = Counter(letter for row in rows for letter in row.get("gold", ()))
        constant = {"majority": gold.most_common(1)[0][0]} if gold else {}
        return [question | constant for row in rows for question in self._word(row)]

    def _word(self, row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield a row with `instruction` and `instruction_id`, once per wording; a row without a question gets one."""
        if not self.wordings:
            yield {**row, "instruction": row["question"], "instruction_id": OWN}
            return
        name = row["question_id"]
        for number in self.choose(name):
            text = self.wordings[number]
            yield {
                **row,
                "question_id": f"{name}#{number}" if self.chosen == ALL else name,
                "question": row["question"] or text,
                "instruction": text,
                "instruction_id": number,
            }

    def choose(self, name: str) -> Sequence[int]:
        """Return the numbers of the wordings with which the row of a name is asked; the name alone decides in `rotate`.

        >>> questions = RowQuestions("choice", Columns(), dict, RowSettings(), ("Listen.", "What is it?"))
        >>> questions._replace(chosen=1).choose("set/1"), list(questions._replace(chosen="all").choose("set/1"))
        ([1], [0, 1])
        """
        if self.chosen == ALL:
            return range(len(self.wordings))
        if isinstance(self.chosen, int):
            return [self.chosen]
        return [int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % len(self.wordings)]

    def _warn_of_no_checklist(self, rows: Sequence[Mapping[str, Any]]) -> None:
        column = self.columns.checklist_column
        without = [row["question_id"] for row in rows if column is not None and not row.get("checklist")]
        if without:
            log.warning(
                "%s: no checklist in column %s, as in %d of %d rows; their replies are judged by the general checklist "
                "alone",
                without[0],
                column,
                len(without),
                len(rows),
            )

    def describe(self) -> dict[str, Any]:
        """Return what the results record: the choice, and the sha256 of the wordings; `own` without wordings."""
        if not self.wordings:
            return {"instruction": "own"}
        digest = hashlib.sha256("\n".join(self.wordings).encode()).hexdigest()
        return {"instruction": self.chosen, "instructions_sha256": digest}


def read_row_questions(metadata: Mapping[str, Any]) -> RowQuestions | None:
    """Return how the rows of a task are asked, None if its questions are not in columns; refuse invalid settings."""
    name, task_type = name_task_type(metadata), find_task_type(metadata)
    if task_type is None or task_type.read_row is None:
        return None
    columns = read_record(Columns, metadata)
    for key in Columns.__struct_fields__:
        if key in task_type.columns and getattr(columns, key) is None:
            raise SpeechIQError(f"metadata.{key}", f"missing, and tasks of the type {name} need it", "name the column")
    settings = read_record(task_type.row_settings, metadata)
    wordings, chosen = _read_wordings(metadata)
    if not wordings and columns.question_column is None:
        raise SpeechIQError(
            "metadata.question_column",
            "missing, as are instructions",
            "name the column of the questions, or the wordings of one instruction for all rows",
        )
    return RowQuestions(name, columns, task_type.read_row, settings, wordings, chosen)


def _read_wordings(metadata: Mapping[str, Any]) -> tuple[Sequence[str], str | int]:
    """Return the wordings in the file that `instructions` names, and which of them `instruction` chooses."""
    name, chosen = metadata.get("instructions"), read_record(WordingSettings, metadata).instruction
    texts = [fill_instruction(text, metadata) for text in _read_file(name)] if isinstance(name, str) else []
    if isinstance(chosen, int) and texts and chosen >= len(texts):
        numbers = f"0 to {len(texts) - 1} ({name})"
        raise SpeechIQError(f"instruction={chosen}", "unknown", f"give {numbers}, {BY_DIGEST} or {ALL}")
    return texts, chosen


@cache
def _read_file(name: str) -> tuple[str, ...]:
    known = sorted(file.stem for file in FOLDER.glob("*.txt"))
    if name not in known:
        raise SpeechIQError("metadata.instructions", f"{name!r:.80} is unknown", suggest(name, known))
    return tuple(FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines())
