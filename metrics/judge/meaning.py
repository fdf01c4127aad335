"""Judge whether a transcript that differs from its reference still has the meaning of what was said.

A judge sees only the passages with differences. A transcript that equals its reference after normalization has the
highest score, and is not sent to the judge. See docs/concepts/judges.md.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jiwer

from speechiq.metrics.columns import higher, lower, mean, returns
from speechiq.metrics.judge.free_answers import renew, score_judgment
from speechiq.metrics.judge.judging import Case
from speechiq.metrics.words.normalizer import DEFAULT, normalize

__all__ = ["is_equal", "renew", "score", "show_differences", "stored_cases"]
#: Below this share of the scale, which is grade 2 of 0 to 3, an error changes what an assistant would do.
KEPT = 2 / 3
#: Most words of a sentence that are shown on each side of a difference.
CONTEXT = 20
_END = re.compile(r"[.!?…]['\")\]]*$")
COLUMNS = (
    *higher("meaning", "meaning_points", aggregation=mean),
    *lower("unjudged"),
    *lower("transcript_error", "empty_answer"),
    *lower("meaning_lost", aggregation=mean),
)
#: What a task with these columns describes in addition: columns that can score it, and those beside its score.
_SCALE = {"direction": "higher", "range": [0, 1], "undefined": "counted"}
ALTERNATIVES = {"meaning": {"unit": "meaning %", **_SCALE}}
EXTRA_COLUMNS = [
    {"column": "meaning", "unit": "meaning %", **_SCALE},
    {"column": "transcript_error", "unit": "clips %", "direction": "lower", "range": [0, 1]},
    {"column": "meaning_lost", "unit": "clips %", "direction": "lower", "range": [0, 1]},
]


class _Span(NamedTuple):
    """Hold the words that are shown of a reference and of a transcript: from a place up to another one."""

    start: int
    end: int


def is_equal(doc: Mapping[str, Any], transcript: str) -> bool:
    """Return whether a transcript has no error after the normalization of its task.

    >>> is_equal({"text": "Twenty dollars."}, "$20")
    True
    """
    kind = doc.get("normalizer", DEFAULT)
    return normalize(str(doc["text"]), kind) == normalize(transcript, kind)


def stored_cases(doc: Mapping[str, Any], item: Mapping[str, Any]) -> list[Case]:
    """Return the case of a stored transcript for a judge; an equal or an empty one is judged without a model."""
    transcript = str(item["answer"])
    name = str(doc.get("id", ""))
    if is_equal(doc, transcript):
        return [Case("", transcript, str(doc["text"]), name=name, is_equal=True)]
    if not transcript.strip():
        return [Case("", "", str(doc["text"]), name=name)]
    said, written = show_differences(str(doc["text"]), transcript, doc.get("normalizer", DEFAULT))
    return [Case("", written, said, name=name)]


@returns(COLUMNS)
def score(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one transcript, an item of `free_answers.renew`.

    The columns are `meaning` (mean of the judgments as a share of the scale), `meaning_points` (the same on the scale
    of the rubric), `unjudged` (1 if no judgment has a score), `transcript_error` (1 if the transcript differs from its
    reference), `empty_answer`, and `meaning_lost` (1 below two thirds of the scale). Without a score they are NaN.

    >>> doc = {"text": "Call me at six.", "judging": {"scale": [0, 3]}}
    >>> score(doc, [{"answer": "Call me at nine.", "scores": [1.0, None], "texts": ["", ""]}])["meaning_lost"]
    1.0
    """
    item = results[0]
    judged = score_judgment(doc, item)
    share = judged["judge"]
    return {
        "meaning": share,
        "meaning_points": judged["judge_points"],
        "unjudged": judged["unjudged"],
        "transcript_error": float(not is_equal(doc, str(item["answer"]))),
        "empty_answer": judged["empty_answer"],
        "meaning_lost": math.nan if math.isnan(share) else float(share < KEPT),
    }


def show_differences(reference: str, transcript: str, kind: str | None = DEFAULT) -> tuple[str, str]:
    """Return the sentences of two texts that differ, a line for each passage, with what differs in brackets.

    >>> show_differences("Hello. Pay fifty dollars. Bye.", "hello pay fifteen dollars bye")
    ('Pay [fifty] dollars.', 'pay [fifteen] dollars')
    """
    said, written = reference.split(), transcript.split()
    if not said or not written:
        return reference, transcript
    found = jiwer.process_words(_keys(said, kind), _keys(written, kind))
    chunks = found.alignments[0]
    passages = _join_passages(
        [_sentence(said, chunk.ref_start_idx, chunk.ref_end_idx) for chunk in chunks if chunk.type != "equal"]
    )
    if not passages:
        return reference, transcript
    lines = [_show_passage(said, written, chunks, passage) for passage in passages]
    return "\n".join(first for first, _ in lines), "\n".join(second for _, second in lines)


def _keys(words: Sequence[str], kind: str | None) -> str:
    """Return the normalized form of words, by which they are compared, without blanks inside it."""
    return " ".join(normalize(word, kind).replace(" ", "") or word for word in words)


def _sentence(words: Sequence[str], start: int, end: int) -> _Span:
    """Return the sentence around some words of a text, with at most `CONTEXT` words on each side."""
    first, last = start, end
    while first > max(0, start - CONTEXT) and not _END.search(words[first - 1]):
        first -= 1
    while last < min(len(words), end + CONTEXT) and not (last > first and _END.search(words[last - 1])):
        last += 1
    return _Span(first, last)


def _join_passages(spans: Sequence[_Span]) -> list[_Span]:
    """Return spans in the order of the text, with those that overlap joined."""
    joined: list[_Span] = []
    for span in spans:
        if joined and span.start < max(joined[-1].end, joined[-1].start + 1):
            joined[-1] = _Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def _show_passage(
    said: Sequence[str], written: Sequence[str], chunks: Sequence[jiwer.AlignmentChunk], passage: _Span
) -> tuple[str, str]:
    """Return the words of both texts in a passage of the reference."""
    first: list[str] = []
    second: list[str] = []
    for chunk in chunks:
        start, end = max(chunk.ref_start_idx, passage.start), min(chunk.ref_end_idx, passage.end)
        if chunk.type == "equal":
            shift = chunk.hyp_start_idx - chunk.ref_start_idx
            first += said[start:end] if start < end else []
            second += written[start + shift : end + shift] if start < end else []
        elif passage.start <= chunk.ref_start_idx and chunk.ref_end_idx <= passage.end:
            first.append(f"[{' '.join(said[chunk.ref_start_idx : chunk.ref_end_idx])}]")
            second.append(f"[{' '.join(written[chunk.hyp_start_idx : chunk.hyp_end_idx])}]")
    return " ".join(first), " ".join(second)
