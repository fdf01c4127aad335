"""Choose the wording of an instruction for each clip: by a digest of its name, one for all, or several for each."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.wording import OWN

FOLDER = Path(__file__).parent / "audiobench" / "instructions"
#: Values of `instruction`, next to a number: a wording for each row by a digest of its name, or every wording.
BY_DIGEST, ALL = "rotate", "all"


class Wordings(NamedTuple):
    """The wordings of one instruction.

    Attributes:
        texts: The wordings; their numbers are their places from 0.
        chosen: `rotate`, `all` or a number.
    """

    texts: tuple[str, ...]
    chosen: str | int = BY_DIGEST

    def numbers(self, name: str) -> list[int]:
        """Return the numbers of the wordings with which a row is asked.

        Args:
            name: Name of the row, which alone decides in `rotate`.

        >>> Wordings(("Listen.", "What is it?"), 1).numbers("set/1"), Wordings(("a", "b"), "all").numbers("set/1")
        ([1], [0, 1])
        """
        if self.chosen == ALL:
            return list(range(len(self.texts)))
        if isinstance(self.chosen, int):
            return [self.chosen]
        return [int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) % len(self.texts)]

    def ask(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the row once for each wording with which it is asked, with `instruction` and `instruction_id`.

        With several wordings the number of the wording becomes part of `question_id`. A row without a question has
        the instruction as its question.
        """
        several = f"{row['question_id']}#{{}}" if self.chosen == ALL else row["question_id"]
        return [
            {
                **row,
                "question_id": several.format(number),
                "question": row["question"] or self.texts[number],
                "instruction": self.texts[number],
                "instruction_id": number,
            }
            for number in self.numbers(row["question_id"])
        ]


def ask_itself(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row of a set without wordings: its question is the instruction."""
    return [{**row, "instruction": row["question"], "instruction_id": OWN}]


def read_wordings(metadata: Mapping[str, Any]) -> Wordings | None:
    """Return the wordings that a task's metadata names; None if the questions of its rows are the instructions.

    Args:
        metadata: `instructions` names a file of `audiobench/instructions/`; `instruction` chooses.

    Raises:
        SpeechIQError: The name or the choice is unknown.
    """
    name, chosen = metadata.get("instructions"), metadata.get("instruction", BY_DIGEST)
    texts = _read_file(name) if isinstance(name, str) else ()
    number = chosen if type(chosen) is int else None
    if chosen not in (BY_DIGEST, ALL) and (number is None or (texts and not 0 <= number < len(texts))):
        last = f"0 to {len(texts) - 1} ({name})" if texts else "a number"
        raise SpeechIQError(f"metadata.instruction: {chosen!r:.80} is unknown; give {last}, {BY_DIGEST} or {ALL}")
    return Wordings(texts, chosen) if texts else None


@cache
def _read_file(name: str) -> tuple[str, ...]:
    known = sorted(file.stem for file in FOLDER.glob("*.txt"))
    if name not in known:
        raise SpeechIQError(f"metadata.instructions: {name!r:.80} is unknown; known are {', '.join(known)}")
    return tuple(FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines())


def describe(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the results record: the choice, and the sha256 of the wordings; `own` without wordings."""
    wordings = read_wordings(metadata)
    if wordings is None:
        return {"instruction": "own"}
    digest = hashlib.sha256("\n".join(wordings.texts).encode()).hexdigest()
    return {"instruction": wordings.chosen, "instructions_sha256": digest}
