"""Check a question file: its balance, its leaks, and the scores without audio (the floors).

It is also described in Croissant 1.0, the JSON-LD by which search engines and loaders know a data set.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speechiq.core.batches import run_concurrently
from speechiq.core.console import count_of
from speechiq.core.files.plain import hash_file
from speechiq.core.ids import complete_ids
from speechiq.metrics.letters.options import NONE_OF_THE_ABOVE
from speechiq.metrics.letters.reading import UNPARSED, parse_letter
from speechiq.siq_tasks.index import read_mapping
from speechiq.siq_tasks.questions.authors import Author
from speechiq.siq_tasks.questions.file import join_questions, normalize_question, read_questions
from speechiq.siq_tasks.questions.write import ask_for_letter, count_letters, derive_seed, reveals_answer

WORKERS = 8
CROISSANT = "http://mlcommons.org/croissant/1.0"
#: `context`, and the `fields` of a question with what each is.
_CROISSANT = read_mapping(Path(__file__).with_name("_croissant.yaml"))
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
        join_questions(rows, list(references), dataset)
    asked = [row for row in rows if "left_out" not in row]
    readings = {}
    if author is not None and asked:
        readings[WITHOUT] = _read(asked, author, WITHOUT)
        if references is not None:
            readings[WITH] = _read(asked, author, WITH, references)
    return Report(len(asked), len(rows) - len(asked), count_letters(asked), list_faults(asked), readings)


def list_faults(asked: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per question that reveals its answer, and per question that is asked twice about a clip."""
    times = Counter((row["id"], normalize_question(row["question"])) for row in asked)
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
        prompt = ask_for_letter(row["question"], options, references[row["id"]] if references else None)
        return parse_letter(author.ask(prompt, 0.0, derive_seed(row["question_id"])), options)

    letters = run_concurrently(asked, answer, workers=WORKERS, label=(f"{author.name} {manner}", "question"))
    right = sum(letter == row["answer"] for letter, row in zip(letters, asked, strict=True))
    return Reading(right / len(asked), letters.count(UNPARSED) / len(asked))


def describe_report(report: Report) -> list[str]:
    r"""Return the lines of a report.

    >>> report = Report(4, 0, {"A": 1, "B": 3, "C": 0, "D": 0}, [], {WITHOUT: Reading(0.5, 0.25)})
    >>> print(*describe_report(report), sep="\n")
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


def describe_croissant(path: Path, questions: Sequence[Mapping[str, Any]], license: str, url: str) -> dict[str, Any]:
    """Return the description of a question file in Croissant, to be written beside it.

    `license` is an address or an SPDX name, `url` the page of the data set.
    """
    datasets = sorted({str(row["id"]).partition("/")[0] for row in questions})
    count = sum("options" in row for row in questions)
    fields = [field for field in _CROISSANT["fields"] if any(field in row for row in questions)]
    return {
        "@context": _CROISSANT["context"],
        "@type": "sc:Dataset",
        "name": f"{'-'.join(datasets)}-questions",
        "description": f"{count} questions about the recordings of {', '.join(datasets)}, for SpeechIQ.",
        "conformsTo": CROISSANT,
        "license": license,
        "url": url,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path.name,
                "name": path.name,
                "contentUrl": path.name,
                "encodingFormat": "application/jsonlines",
                "sha256": hash_file(path),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "questions",
                "name": "questions",
                "field": [_describe_field(field, path.name) for field in fields],
            }
        ],
    }


def _describe_field(field: str, file: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"questions/{field}",
        "name": f"questions/{field}",
        "description": _CROISSANT["fields"][field],
        "dataType": "sc:Text",
        **({"repeated": True} if field == "options" else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field}},
    }
