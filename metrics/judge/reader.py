"""Let a language model read the answers from which no rule reads an option: `reader=ENGINE:MODEL`, off by default.

The model reads every answer that is not empty, so that its readings are compared with those of the rules; a letter that
the rules read stays. Its replies are in the response cache beside those of judges.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, shorten
from speechiq.core.response import drop_reasoning
from speechiq.engines.options import list_names, pick_prefixed, read_options
from speechiq.metrics.columns import higher, lower, mean
from speechiq.metrics.judge.judging import Draw, JudgeQuestion, draw_judgments, report
from speechiq.metrics.judge.rubric import read_rubric
from speechiq.metrics.judge.settings import (
    READER,
    JudgeOptions,
    Judging,
    ReaderOptions,
    open_judge,
    refuse_similar,
    settle,
)
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.letters.reading import parse_letter

PREFIX = f"{READER}_"
#: Fields of docs and results that are computed, not given.
IDENTITY, READING = "reader_identity", "reading"
#: The columns of `score_reading`.
COLUMNS = (*lower("read_by_model"), *higher("reader_agrees", aggregation=mean))
_NONE = re.compile(r"\bnone\W*$", re.IGNORECASE)


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what docs and results record about a reader, nothing without one; refuse readers that cannot work.

    >>> read_settings({"judge": "exact_match"})
    {}
    """
    given = {name: value for name, value in pick_prefixed(metadata, PREFIX).items() if PREFIX + name != IDENTITY}
    if READER not in metadata:
        for name, value in given.items():
            raise SpeechIQError(
                f"{PREFIX}{name}={value}",
                "an option of a reader, and none is named",
                f"add {READER}=openai:MODEL, or leave it out",
            )
        return {}
    judging = _open_reader(metadata[READER], given)
    options = judging.options.others | given
    return {READER: judging.judge, IDENTITY: judging.identity} | ({READING: {"options": options}} if options else {})


def _open_reader(reader: Any, given: Mapping[str, Any]) -> Judging:
    """Return a reader as a judge that replies once per answer."""
    known = list_names(ReaderOptions)
    refuse_similar(given.keys() - known, known, READER)
    own = read_options(ReaderOptions, given, engine=READER, prefix=PREFIX)
    options = JudgeOptions(rubric="letter", max_gen_toks=own.max_gen_toks, others=own.others)
    engine, rubric = open_judge(str(reader), own.others, READER), read_rubric(options.rubric)
    settings = settle(engine, options)
    identity = {"engine": engine.identity(), "settings": engine.effective(settings), "rubric": rubric.sha256}
    return Judging(
        judge=str(reader),
        rubric=rubric,
        options=options,
        settings=settings,
        identity=shorten(content_sha256(identity)),
        role=READER,
    )


def read_letters(
    docs: Sequence[Mapping[str, Any]], answers: Sequence[str], options: Sequence[Sequence[str]]
) -> list[str]:
    """Return the letter of the option that the reader of some docs reads from each answer, `?` for none.

    Args:
        docs: The doc of each answer; all name the same reader.
        options: The options of each doc, in the order of their letters.
    """
    judging = _open_reader(docs[0][READER], (docs[0].get(READING) or {}).get("options") or {})
    asked = [place for place, answer in enumerate(answers) if answer.strip()]
    questions = [_ask(docs[place], str(answers[place]), options[place], judging) for place in asked]
    drawn = draw_judgments(questions, judging) if questions else []
    report(drawn, judging)
    found = {place: _read(reply, options[place]) for place, (reply,) in zip(asked, drawn, strict=True)}
    return [found.get(place, UNPARSED) for place in range(len(answers))]


def _ask(doc: Mapping[str, Any], answer: str, options: Sequence[str], judging: Judging) -> JudgeQuestion:
    lines = "\n".join(f"({letter}) {text}" for letter, text in zip(ALPHABET, options, strict=False))
    shown = {"question": doc["question"], "options": lines, "answer": answer}
    return JudgeQuestion(judging.rubric.fill(shown), list(shown.values()), str(doc.get("id", "")))


def _read(reply: Draw, options: Sequence[str]) -> str:
    """Return the letter that a reply states; neither an option's words nor what a final none takes back."""
    if reply.reason or _NONE.search(drop_reasoning(reply.text)):
        return UNPARSED
    return parse_letter(reply.text, list(ALPHABET[: len(options)]))


def prefer_rules(ruled: str, read: str) -> str:
    """Return the letter or label of the rules, or that of the reader where they read none.

    >>> prefer_rules("A", "B"), prefer_rules("?", "B")
    ('A', 'B')
    """
    return read if ruled == UNPARSED else ruled


def score_reading(ruled: str, read: str) -> dict[str, float]:
    """Compare the letter or label that the reader of an answer read with that of the rules.

    The columns are `read_by_model` (it is that of the model) and `reader_agrees` (both read the same; NaN if one of
    them read none).

    >>> score_reading("?", "B"), score_reading("A", "A")
    ({'read_by_model': 1.0, 'reader_agrees': nan}, {'read_by_model': 0.0, 'reader_agrees': 1.0})
    """
    both = UNPARSED not in (ruled, read)
    return {
        "read_by_model": float(ruled == UNPARSED != read),
        "reader_agrees": float(ruled == read) if both else math.nan,
    }
