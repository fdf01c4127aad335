"""Find the question file of a data set; imports neither lm-eval nor torch."""

import os
import shlex
from pathlib import Path

from platformdirs import user_data_dir

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file, is_folder

GEMINI = "base_url=https://generativelanguage.googleapis.com/v1beta/openai,key_variable=GEMINI_API_KEY"


def questions_folder() -> Path:
    """Return the folder of a user's question files: `SIQ_QUESTIONS`, or the platform's folder for data."""
    return Path(os.environ.get("SIQ_QUESTIONS") or Path(user_data_dir("speechiq"), "questions"))


def find_question_file(dataset: str) -> Path | None:
    """Return the question file of `dataset` in the package, else in the user's folder; None if there is none."""
    return next(filter(None, map(find_file, _list_places(dataset))), None)


def find_file(place: Path) -> Path | None:
    """Return a question file, or the `.csv` of its name that was written by hand; refuse two, None if there is none."""
    found = dict.fromkeys(file for file in (place, by_hand(place)) if is_file(file))
    if len(found) > 1:
        raise SpeechIQError(by_hand(place), f"questions are in {place.name} too", "remove one of the two files")
    return next(iter(found), None)


def by_hand(place: Path) -> Path:
    """Return the name of the table that takes the place of a question file."""
    return place.parent / f"{place.stem}.csv"


def locate(dataset: str, questions: str | Path | None = None) -> Path:
    """Return the question file of `dataset`: the given one, else the package's own, else the user's."""
    place = _list_places(dataset)[-1] if questions is None else expand(questions)
    found = find_question_file(dataset) if questions is None else find_file(place)
    if found is not None:
        return found
    if questions is not None and is_folder(place.parent) and any(place.parent.glob("siq_*_remember.yaml")):
        dataset = str(place.parent)
    raise SpeechIQError(
        dataset,
        f"no question file {place}",
        f"write it with `{writing_command(dataset)}`, or by hand: `{template_command(dataset)}`",
    )


def _list_places(dataset: str) -> list[Path]:
    return [Path(__file__).parent / f"{dataset}.jsonl", questions_folder() / f"{dataset}.jsonl"]


def template_command(dataset: str) -> str:
    """Return the command that writes a table for questions by hand."""
    return f"siq data questions --dataset {shlex.quote(dataset)} --template"


def writing_command(dataset: str) -> str:
    """Return the command that writes or completes the questions of `dataset`, with the paper's writer and checkers."""
    return (
        f"siq data questions --dataset {dataset} --writer openai:gpt-4o "
        f"--checker openai:gpt-4o --checker openai:gemini-1.5-flash,{GEMINI}"
    )
