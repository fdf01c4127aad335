"""Read responses of VoiceBench, with the scores of its judge if they have been judged."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from speechiq.core.files.json_text import Line
from speechiq.core.files.tables import check_columns, read_number
from speechiq.reducer.imports.rows import (
    Form,
    OutputRow,
    find_text,
    name_systems,
    read_first_row,
    read_json_lines,
)

#: `[result-]<model>-<set>-<split>-<modality>.jsonl`.
SETS = "alpacaeval(?:_full|_speaker)?|commoneval|wildvoice|openbookqa|mmsu|sd-qa|mtbench|ifeval|advbench|bbh"
JUDGED = "result-"
NAME = re.compile(rf"(?:{JUDGED})?(?P<model>.+)-(?P<set>(?:{SETS})-\w+)-(?P<modality>audio|text)")
REQUIRED = ("prompt", "response")
#: Best score of an open answer; one to a question with a reference is Yes or No.
HIGHEST = 5
VERDICTS = {"yes": 1.0, "no": 0.0}
RATING = re.compile(r"\[\[(\d+)\]\]")
LETTER, OPTION = re.compile(r"[A-J]"), re.compile(r"^\s*([A-J])[.):]\s*(\S.*?)\s*$", re.MULTILINE)


def _fits(path: Path) -> bool:
    return path.suffix == ".jsonl" and set(REQUIRED) <= read_first_row(path).keys()


def _read(paths: list[Path]) -> Iterator[OutputRow]:
    """Yield the rows of files, without those of which the judge wrote a file with scores beside them."""
    paths = [path for path in paths if path.with_name(f"{JUDGED}{path.name}") not in paths]
    systems = name_systems(paths)
    for path in paths:
        named = NAME.fullmatch(path.stem)
        system = systems[path]
        if named:
            system = named["model"] if named["modality"] == "audio" else f"{named['model']}-text"
        for line in read_json_lines(path):
            if line.number == 1:
                check_columns(line.row, REQUIRED, line.where, "name a file of responses")
            yield _read_row(line, system, named["set"] if named else None)


def _read_row(line: Line, system: str, category: str | None) -> OutputRow:
    prompt, reference = find_text(line.row, "prompt"), find_text(line.row, "reference")
    clip = str(line.number)
    is_letter = reference is not None and LETTER.fullmatch(reference.strip()) is not None
    return OutputRow(
        line.where,
        system,
        clip,
        question_id=clip,
        question=prompt,
        options=_find_options(prompt or "") if is_letter else (),
        key=reference,
        answer=find_text(line.row, "response"),
        score=_read_score(line.row.get("score")),
        category=category,
    )


def _find_options(prompt: str) -> tuple[str, ...]:
    """Return the options that a prompt has in lines such as `B. text`; empty if they are not A, B and so on."""
    options = OPTION.findall(prompt)
    letters = "".join(letter for letter, _ in options)
    return tuple(text for _, text in options) if letters and "ABCDEFGHIJ".startswith(letters) else ()


def _read_score(scores: Any) -> float | None:
    """Return the score from 0 to 1: the most frequent verdict, or the mean rating; None if no reply has one.

    >>> _read_score(["5", "[[4]]", "?"]), _read_score(["Yes", "No", "yes"]), _read_score(3), _read_score([])
    (0.9, 1.0, 0.6, None)
    """
    replies = [str(score).strip().lower() for score in (scores if isinstance(scores, list) else [scores])]
    verdicts = Counter(reply.rstrip(".") for reply in replies if reply.rstrip(".") in VERDICTS)
    if verdicts:
        return VERDICTS[verdicts.most_common(1)[0][0]]
    found = [RATING.search(reply) for reply in replies]
    numbers = [read_number(match[1] if match else reply) for match, reply in zip(found, replies, strict=True)]
    ratings = [number for number in numbers if 0 <= number <= HIGHEST]
    return fmean(ratings) / HIGHEST if ratings else None


FORM = Form("voicebench", "`<model>-<set>-<split>-audio.jsonl`, also with `score`", _fits, _read)
