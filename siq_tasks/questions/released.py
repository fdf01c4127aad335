"""Join released questions, which name no clips, to the clips of a data set by the text of their references.

The authors of the paper released a JSON list with one object per clip: `{"gold": reference, "qa": [{"question",
"options", "correct answer"}, ...]}`. The options are one text with four lines, `(A) ...` to `(D) ...`.
"""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from rapidfuzz import fuzz, process

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode
from speechiq.core.files.plain import read_plain, reading
from speechiq.metrics.letters.options import LETTERS
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.questions.file import OPTIONS, PER_CLIP, find_question_fault

#: The lowest similarity of two references (0 to 100) that counts as a near match.
NEAR = 97.0
#: The lowest share of entries that must be joined; a file of another data set has fewer.
ENOUGH = 0.9
PROMPT_VERSION = 0
#: Who wrote the released questions.
WRITER = "openai:gpt-4o"
#: How many references without a clip are printed.
MOST_STRANGERS = 3

_OPTION = re.compile(r"^\s*\(?([A-D])[).]\s*(.*\S)\s*$")
_LETTER = re.compile(r"\(?\s*([A-Z])\s*\)?\.?")
#: Signs that change what an option means, and that the normalizer drops.
_SIGN = re.compile(
    r"(?<!\w)[-\N{MINUS SIGN}+.](?=[\d.])|(?<=\d)[.:/\N{EN DASH}-](?=\d)|(?<=\d),(?=\d)(?!\d{3}(?!\d))|"
    r"[%‰°²³<>≤≥=~±+#€£¥]"
)
_TAG = re.compile(r"[<\[][^<>\[\]]*[>\]]|\binaudible\b", re.IGNORECASE)


class ReleasedQuestion(msgspec.Struct, frozen=True):
    """Hold one question of a released file."""

    question: str
    options: str
    answer: str = msgspec.field(name="correct answer")


class ReleasedEntry(msgspec.Struct, frozen=True):
    """Hold the questions about one clip, which is known by its reference alone."""

    gold: str
    qa: list[ReleasedQuestion]


_ENTRIES = msgspec.json.Decoder(list[ReleasedEntry])


class Released(NamedTuple):
    """Hold the entries of a released file, one per clip, and the sha256 of the file."""

    entries: list[ReleasedEntry]
    sha256: str


class NearMatch(NamedTuple):
    """Hold an entry (`gold`) whose reference is almost that of a clip (`text`); similarity 0 to 100 (`fuzz.ratio`)."""

    gold: str
    clip: str
    text: str
    similarity: float


@dataclass
class Import:
    """Hold the outcome of joining a file to a data set.

    Attributes:
        entries: How many entries the file has, of which `joined` have a clip.
        near: Near matches, taken or not.
        strangers: References of entries that have no clip.
        without: Ids of clips that have no entry.
        left_out: Reason -> how many questions are left out for it.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    entries: int = 0
    joined: int = 0
    near: list[NearMatch] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def is_enough(self) -> bool:
        """Return whether at least `ENOUGH` of the entries have a clip."""
        return self.joined >= ENOUGH * self.entries


def read_released(path: Path) -> Released:
    """Read a released file; refuse one that is cut off, has another form, or has no entries."""
    fix = "give a JSON list of objects with gold and qa (question, options, correct answer)"
    with reading(path):
        content = read_plain(path)
    try:
        entries = decode(content, _ENTRIES)
    except msgspec.ValidationError as error:
        raise SpeechIQError(path, f"does not hold released questions ({error})", fix) from error
    except ValueError as error:
        raise SpeechIQError(path, f"is not whole JSON ({error})", "download it again") from error
    if not entries:
        raise SpeechIQError(path, "has no entries", fix)
    return Released(entries, hashlib.sha256(content).hexdigest())


def join_released(released: Released, clips: Sequence[Mapping[str, Any]], *, take_near: bool = False) -> Import:
    """Return the question file that a released file makes for the clips of a data set, which are in its order.

    Normalized references are compared without transcriber's tags. Of several clips with one text, the k-th gets the
    k-th entry with that text.
    """
    outcome = Import(entries=len(released.entries))
    free: dict[str, list[str]] = defaultdict(list)
    for clip in reversed(clips):
        free[_key(clip["text"])].append(clip["id"])
    found: dict[str, ReleasedEntry] = {}
    strangers: list[ReleasedEntry] = []
    for entry in released.entries:
        if ids := free[_key(entry.gold)]:
            found[ids.pop()] = entry
        else:
            strangers.append(entry)
    texts = {clip["id"]: clip["text"] for clip in clips}
    rest = {clip: _key(text) for clip, text in texts.items() if clip not in found}
    for entry in strangers:
        near = process.extractOne(_key(entry.gold), rest, scorer=fuzz.ratio, score_cutoff=NEAR)
        if near:
            _, similarity, clip = near
            outcome.near.append(NearMatch(entry.gold, clip, texts[clip], similarity))
            del rest[clip]
            if take_near:
                found[clip] = entry
                continue
        outcome.strangers.append(entry.gold)
    outcome.joined = len(found)
    outcome.without = [clip["id"] for clip in clips if clip["id"] not in found]
    for clip in clips:
        outcome.rows += _lay_out(clip["id"], found.get(clip["id"]), released.sha256, outcome.left_out)
    return outcome


def describe_import(outcome: Import, taken: bool) -> Iterator[str]:
    """Yield the lines that say which entries have a clip, and which questions are left out."""
    yield (
        f"{count_of(outcome.entries, 'entry')}: {outcome.joined} joined, {len(outcome.near)} near matches, "
        f"{count_of(len(outcome.strangers), 'stranger')}; {count_of(len(outcome.without), 'clip')} without questions"
    )
    for match in outcome.near:
        state = "joined" if taken else "not joined, see --near"
        yield f"near ({match.similarity:.1f}, {state}): {match.gold[:60]!r} and {match.clip} {match.text[:60]!r}"
    for gold in outcome.strangers[:MOST_STRANGERS]:
        yield f"stranger: {gold[:80]!r}"
    for reason, count in outcome.left_out.most_common():
        yield f"left out: {count} x {reason}"


def _lay_out(clip: str, entry: ReleasedEntry | None, sha256: str, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of one clip; a question that cannot be used is a line that gives the reason."""
    questions: list[ReleasedQuestion | None] = list(entry.qa) if entry else []
    questions += [None] * (PER_CLIP - len(questions))
    for number, question in enumerate(questions, 1):
        about = {"id": clip, "question_id": f"{clip}-q{number}", "source_sha256": sha256}
        if question is None:
            yield about | {"left_out": "no question in the imported file"}
            continue
        letter = _LETTER.fullmatch(question.answer.strip())
        row: dict[str, Any] = about | {
            "question": question.question.strip(),
            "options": parse_four_options(question.options),
            "answer": letter[1] if letter else question.answer,
            "writer": WRITER,
            "checkers": [],
            "prompt_version": PROMPT_VERSION,
        }
        if reason := _find_reason(row):
            left_out[reason] += 1
            row = about | {"left_out": reason}
        yield row


def _find_reason(row: Mapping[str, Any]) -> str | None:
    """Return why a question cannot be used, without the words of the question, so that reasons can be counted."""
    options, answer = row["options"], row["answer"]
    if len(options) != OPTIONS:
        return "options unreadable"
    if answer not in list(LETTERS[:OPTIONS]):
        return "the right letter has no option"
    if _TAG.search(options[LETTERS.index(answer)]):
        return "the right option holds a transcriber's tag"
    if len({_comparable(option) for option in options}) != OPTIONS:
        return "duplicate options"
    return "a question or option that breaks a rule of question files" if find_question_fault(row) else None


def _comparable(option: str) -> str:
    """Return an option as it is compared with others: normalized, with signs, decimals and percent as words.

    >>> _comparable("-5 %") == _comparable("minus 5 percent"), _comparable("5 %") == _comparable("-5 %")
    (True, False)
    """
    words = {"-": "minus", "\N{MINUS SIGN}": "minus", "%": "percent"}
    in_words = _SIGN.sub(lambda sign: f" {words.get(sign[0]) or unicodedata.name(sign[0])} ", option)
    return normalize(in_words) or option


def parse_four_options(text: str) -> list[str]:
    r"""Return the texts of options A to D, one per line of `text`; empty if they are not exactly these four.

    >>> parse_four_options(" (A) Ann \n(B) Dan\n(C) Jan\n (D) Stan")
    ['Ann', 'Dan', 'Jan', 'Stan']
    >>> parse_four_options("(A) Ann\n(B) Dan\n(C) Jan")
    []
    """
    lines = [_OPTION.match(line) for line in text.splitlines() if line.strip()]
    letters = [line[1] if line else "" for line in lines]
    return [line[2] for line in lines if line] if letters == list(LETTERS[:OPTIONS]) else []


def _key(text: str) -> str:
    return normalize(_TAG.sub(" ", text))
