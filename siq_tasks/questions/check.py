"""Check a question file: its balance, its leaks, and the scores without audio (the floors)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from speechiq.core.batches import run_concurrently
from speechiq.core.console import count_of
from speechiq.core.ids import complete_ids
from speechiq.metrics.letters.options import NONE_OF_THE_ABOVE
from speechiq.metrics.letters.reading import UNPARSED, parse_letter
from speechiq.siq_tasks.questions.authors import Author
from speechiq.siq_tasks.questions.file import join, normalize, read_questions
from speechiq.siq_tasks.questions.write import count_letters, derive_seed, reveals_answer, to_answer

WORKERS = 8
WITHOUT, WITH = "without the speech", "with the reference"


@dataclass(frozen=True)
class Reading:
    """Score one greedy answer per question: the share of right ones, and the share without a letter."""

    acc: float
    unparsed: float


@dataclass(frozen=True)
class Report:
    """Hold the result of a check: how often each letter is right, and a line for each faulty question.

    `readings` has the score of the reader `WITHOUT` the speech and, with references, `WITH` the reference.
    """

    questions: int
    left_out: int
    letters: dict[str, int]
    faults: list[str]
    readings: Mapping[str, Reading]


def check_file(
    path: Path, references: Mapping[str, str] | None = None, author: Author | None = None, dataset: str = "the set"
) -> Report:
    """Check a question file: with references by clip id, every clip must have its questions, and every question a clip.

    The author answers without the speech, and also with the reference if there are references.
    """
    rows = read_questions(path)
    if references is not None:
        rows = complete_ids(rows, references)
        join(rows, list(references), dataset)
    asked = [row for row in rows if "left_out" not in row]
    readings = {}
    if author is not None and asked:
        readings[WITHOUT] = _read(asked, author, WITHOUT)
        if references is not None:
            readings[WITH] = _read(asked, author, WITH, references)
    return Report(len(asked), len(rows) - len(asked), count_letters(asked), list_faults(asked), readings)


def list_faults(asked: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per question that reveals its answer, and per question that is asked twice about a clip."""
    times = Counter((row["id"], normalize(row["question"])) for row in asked)
    leaks = [
        f"{row['question_id']}: the question contains its answer"
        for row in asked
        if reveals_answer(row["question"], row["options"], row["answer"])
    ]
    return leaks + [f"{clip}: asked {n} times: {question}" for (clip, question), n in times.items() if n > 1]


def _read(
    asked: Sequence[Mapping[str, Any]], author: Author, manner: str, references: Mapping[str, str] | None = None
) -> Reading:
    def answer(row: Mapping[str, Any]) -> str:
        options = [*row["options"], NONE_OF_THE_ABOVE]
        prompt = to_answer(row["question"], options, references[row["id"]] if references else None)
        return parse_letter(author.ask(prompt, 0.0, derive_seed(row["question_id"])), options)

    with tqdm(total=len(asked), desc=f"{author.name} {manner}", unit="question") as bar:
        letters = run_concurrently(asked, answer, workers=WORKERS, progress=bar)
    right = sum(letter == row["answer"] for letter, row in zip(letters, asked, strict=True))
    return Reading(right / len(asked), letters.count(UNPARSED) / len(asked))


def describe(report: Report) -> list[str]:
    r"""Return the lines of a report.

    >>> print(*describe(Report(4, 0, {"A": 1, "B": 3, "C": 0, "D": 0}, [], {WITHOUT: Reading(0.5, 0.25)})), sep="\n")
    4 questions, 0 left out; right letters: A 1, B 3, C 0, D 0
    always saying one letter scores A 25.0 %, B 75.0 %, C 0.0 %, D 0.0 %
    the reader scores 50.0 % without the speech (25.0 % of its answers have no letter)
    """
    lines = [
        f"{count_of(report.questions, 'question')}, {report.left_out} left out; right letters: "
        + ", ".join(f"{letter} {count}" for letter, count in report.letters.items())
    ]
    if report.questions:
        constant = (f"{letter} {count / report.questions:.1%}" for letter, count in report.letters.items())
        lines.append(f"always saying one letter scores {', '.join(constant)}".replace("%", " %"))
    for manner, reading in report.readings.items():
        unparsed = f"{100 * reading.unparsed:.1f} % of its answers have no letter"
        lines.append(f"the reader scores {100 * reading.acc:.1f} % {manner} ({unparsed})")
    return lines + report.faults
