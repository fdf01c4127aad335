"""Score the level Remember: word and character error rates against the reference (paper, section 3.1).

Call `wer` and `cer` on texts. `score` and `pool` are what the tasks of lm-eval name.

Each clip is scored on its own, with the normalizer that the task names (`wer`; by default `english`)
and with Whisper's basic rules (`wer_basic`, for which "2,000" and "two thousand" differ). `wer_corpus` pools the counts
of all clips. A rate over a reference without words is undefined: NaN. An empty hypothesis has rate 1.

If a corrector rewrote the n-best list of a recognizer, `wer_first` is the rate of the first text of that list and
`wer_oracle` the rate of its best text: a row shows what the correction gained and what it could have gained.

A transcript repeats itself if it has a phrase many times more than the speaker said it, as recognizers do when they
lose the speech. A text repeats itself if a phrase occurs at least `TIMES` times in a row and these repeats have at
least `WORDS` words together. What the speaker repeats does not count: as many repeats of the phrase as the reference
has are left out. The rule is the same for all systems, and no repeat is cut off a transcript.

A compound equals its parts where a normalizer says so: "white paper" and "whitepaper" differ in no word. The rule is
that of kaldialign's option `merge_compounds`: adjacent words of either text, joined, match one word of the other text
without an error. The Open ASR Leaderboard counts so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import jiwer

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import response_of
from speechiq.engines.languages import FIELD, UNSPACED
from speechiq.metrics.columns import higher, lower, returns
from speechiq.metrics.words.normalizer import DEFAULT, follows_open_asr, name_rules, normalize
from speechiq.metrics.words.units import CHARACTER, MIXED, UNIT, WORD, separate, wrong_language


def pair_texts(reference: str | Sequence[str], hypothesis: str | Sequence[str]) -> list[tuple[str, str]]:
    """Return one (reference, hypothesis) per clip; a single text counts as a list of one.

    >>> pair_texts("so it goes", "so he goes")
    [('so it goes', 'so he goes')]
    """
    references, hypotheses = ([side] if isinstance(side, str) else list(side) for side in (reference, hypothesis))
    if len(references) != len(hypotheses):
        raise SpeechIQError(
            "references",
            f"{count_of(len(references), 'text')}, hypotheses: {len(hypotheses)}",
            "give one hypothesis per reference",
        )
    return list(zip(references, hypotheses, strict=True))


def index_texts(pairs: Sequence[tuple[str, str]], names: Sequence[str] = ()) -> tuple[dict[str, str], list[list[int]]]:
    """Return the different texts of pairs, sorted, each with its name in errors, and the places of both sides in them.

    `pairs` has (reference, hypothesis) per clip, at least one, and `names` a name per clip, by default its number.

    >>> index_texts([("so it goes", "so he goes")])[1]
    [[1], [0]]
    """
    owners: dict[str, str] = {}
    for (reference, hypothesis), clip in zip(pairs, names or range(len(pairs)), strict=True):
        owners.setdefault(hypothesis, f"the transcript of {clip}")
        owners[reference] = f"the reference of {clip}"
    rows = {text: row for row, text in enumerate(sorted(owners))}
    references = [rows[reference] for reference, _ in pairs]
    hypotheses = [rows[hypothesis] for _, hypothesis in pairs]
    return {text: owners[text] for text in rows}, [references, hypotheses]


#: Normalizes each text of a row once, and a reference once for the systems whose rows follow each other.
_normalize = lru_cache(maxsize=64)(normalize)
TIMES = 4
WORDS = 8
LONGEST_PHRASE = 50


def repetition(hypothesis: str, reference: str) -> float:
    """Return 1 if the hypothesis repeats a phrase many times more than the reference does, else 0.

    Words are compared as Whisper's basic normalizer writes them.

    >>> repetition("no, no, no, no, no, no, no, no", "no"), repetition("so it goes", "so it goes")
    (1.0, 0.0)
    """
    words, spoken = (_normalize(text, "basic").split() for text in (hypothesis, reference))
    return float(
        any(
            length - len(phrase) * _count_repeats(phrase, spoken) >= max(TIMES * len(phrase), WORDS)
            for phrase, length in _find_runs(words)
        )
    )


def _find_runs(words: Sequence[str]) -> Iterator[tuple[Sequence[str], int]]:
    """Yield each phrase that occurs several times in a row, with the number of words of all its repeats."""
    for period in range(1, min(LONGEST_PHRASE, len(words) // TIMES) + 1):
        start = 0
        for is_same, run in groupby(zip(words, words[period:], strict=False), key=lambda pair: pair[0] == pair[1]):
            size = len(list(run))
            if is_same and size + period >= max(TIMES * period, WORDS):
                yield words[start : start + period], size + period
            start += size


def _count_repeats(phrase: Sequence[str], words: Sequence[str]) -> int:
    """Count the occurrences of a phrase after its first one, wherever it begins."""
    size = len(phrase)
    double = [*phrase, *phrase]
    windows = [words[place : place + size] for place in range(len(words) - size + 1)]
    most = 0
    for start in range(size):
        most = max(most, windows.count(double[start : start + size]) - 1)
    return most


@dataclass(frozen=True)
class Errors:
    """Hold counts of one alignment, or the sum of several; the unit is words or characters.

    >>> count_errors("so it goes", "so he goes on") + Errors(hits=7)
    Errors(hits=9, substitutions=1, deletions=0, insertions=1)
    """

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    def __post_init__(self) -> None:
        if min(self.hits, self.substitutions, self.deletions, self.insertions) < 0:
            raise ValueError(f"counts of errors cannot be negative: {self}")

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            self.hits + other.hits,
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
        )

    @property
    def reference_length(self) -> int:
        """Return the number of units of the reference."""
        return self.hits + self.substitutions + self.deletions

    @property
    def total(self) -> int:
        """Return the number of errors of all three kinds."""
        return self.substitutions + self.deletions + self.insertions

    def per_unit(self, count: int) -> float:
        """Return `count` divided by the length of the reference; NaN if the reference is empty."""
        return count / self.reference_length if self.reference_length else math.nan


def align_compounds(reference: str, hypothesis: str) -> Errors:
    """Return the counts of the alignment with the fewest errors; hits are words of the reference.

    >>> align_compounds("the white paper of today", "the whitepaper to day")
    Errors(hits=4, substitutions=0, deletions=1, insertions=0)
    """
    hit, wrong, left_out, added = Errors(1), Errors(0, 1), Errors(0, 0, 1), Errors(0, 0, 0, 1)
    spoken, written = reference.split(), hypothesis.split()
    rows = [[Errors(insertions=j) for j in range(len(written) + 1)]]
    for i, word in enumerate(spoken, 1):
        row = [Errors(deletions=i)]
        rows.append(row)
        for j, other in enumerate(written, 1):
            choices = [
                rows[i - 1][j - 1] + (hit if word == other else wrong),
                rows[i - 1][j] + left_out,
                row[j - 1] + added,
            ]
            choices += [rows[i - count][j - 1] + Errors(hits=count) for count in _joined(spoken[:i], other)]
            choices += [rows[i - 1][j - count] + hit for count in _joined(written[:j], word)]
            row.append(min(choices, key=_cost))
    return rows[-1][-1]


def _cost(errors: Errors) -> tuple[int, ...]:
    """Rank an alignment, the best one lowest: by its errors, then by the kinds of them."""
    return errors.total, errors.substitutions, errors.deletions, errors.insertions, errors.hits


def _joined(words: Sequence[str], compound: str) -> Iterator[int]:
    """Yield how many of the last words (two or more), joined, are the compound; at most one number."""
    rest, count = compound, 0
    while count < len(words) and rest and rest.endswith(words[-1 - count]):
        rest, count = rest[: -len(words[-1 - count])], count + 1
    if count > 1 and not rest:
        yield count


class ErrorRate(float):
    """Hold the error rate of `errors`: a float with its counts, so that rates can be pooled.

    >>> pool([ErrorRate(Errors(hits=9, deletions=1)), ErrorRate(Errors(hits=9, substitutions=21))])
    0.55
    """

    errors: Errors

    def __new__(cls, errors: Errors) -> ErrorRate:
        """Return the rate of `errors`; NaN if the reference is empty."""
        rate = super().__new__(cls, errors.per_unit(errors.total))
        rate.errors = errors
        return rate

    def __reduce__(self) -> tuple[type[ErrorRate], tuple[Errors]]:
        return type(self), (self.errors,)


Align = Callable[[str, str], jiwer.WordOutput | jiwer.CharacterOutput | Errors]


def count_errors(reference: str, hypothesis: str, align: Align = jiwer.process_words) -> Errors:
    """Count the errors of one alignment, of words or (`align=jiwer.process_characters`) of characters.

    >>> count_errors("so it goes", "so it goes on")
    Errors(hits=3, substitutions=0, deletions=0, insertions=1)
    """
    if not reference:
        units = hypothesis if align is jiwer.process_characters else hypothesis.split()
        return Errors(insertions=len(units))
    found = align(reference, hypothesis)
    return Errors(found.hits, found.substitutions, found.deletions, found.insertions)


def wer(reference: str | Sequence[str], hypothesis: str | Sequence[str], normalizer: str | None = DEFAULT) -> float:
    """Return the word error rate of one text, or of several together (all errors over all reference words).

    Called as `jiwer.wer` is, with two differences: texts are normalized first, and a rate over no words is NaN, where
    jiwer gives 0 or the number of insertions. An empty hypothesis has rate 1; many insertions give a rate above 1.

    Args:
        reference: The words that were spoken, or a list of texts.
        hypothesis: The transcript, or as many texts as `reference` has.
        normalizer: A key of `metrics.normalizer.RULES`: `english`, `whisper`, `basic` or `multilingual`, or
            `openasr-LANGUAGE`; None to compare the texts as written, split at white space, as jiwer does by default.

    Raises:
        SpeechIQError: The lists have different lengths, or the normalizer is unknown.

    >>> wer("It cost $2,000.", "it cost two thousand dollars")
    0.0
    >>> wer(reference=["so it goes on", "yes"], hypothesis=["so it goes", "no"])
    0.4
    >>> wer("It cost $2,000.", "it cost $2,000", normalizer=None)
    0.6666666666666666
    >>> wer("so it goes", ""), wer("", "so it goes")
    (1.0, nan)
    """
    return _pooled_rate(reference, hypothesis, normalizer, WORD)


def cer(
    reference: str | Sequence[str],
    hypothesis: str | Sequence[str],
    normalizer: str | None = DEFAULT,
    language: str | None = None,
) -> float:
    """Return the character error rate of one text, or of several together (all errors over all characters).

    Called as `jiwer.cer` is; arguments, edge cases and errors are those of `wer`. A space counts as a character, unless
    `language` is the code of one that is written without spaces between words.

    >>> cer("so it goes", "so he goes")
    0.2
    >>> cer("so it goes", ""), cer("", "so it goes")
    (1.0, nan)
    >>> cer("我不 知道", "我不知到", "multilingual", language="zh")
    0.25
    """
    return _pooled_rate(reference, hypothesis, normalizer, CHARACTER, language)


def mer(reference: str | Sequence[str], hypothesis: str | Sequence[str], normalizer: str | None = DEFAULT) -> float:
    """Return the mixed error rate: each Chinese or Japanese character is a unit, and each word of other scripts.

    Arguments, edge cases and errors are those of `wer`.

    >>> mer("我爱 the beatles", "我爱 the beagles", "multilingual")
    0.25
    """
    return _pooled_rate(reference, hypothesis, normalizer, MIXED)


def _pooled_rate(
    reference: str | Sequence[str],
    hypothesis: str | Sequence[str],
    normalizer: str | None,
    unit: str,
    language: str | None = None,
) -> float:
    normalizer = normalizer and name_rules(normalizer, language)
    rates = []
    for spoken, written in pair_texts(reference, hypothesis):
        texts = normalize(spoken, normalizer), normalize(written, normalizer)
        rates.append(ErrorRate(_count_units(*texts, unit, normalizer, language)))
    return pool(rates)


def _count_units(reference: str, hypothesis: str, unit: str, kind: str | None, language: str | None) -> Errors:
    """Count the errors of two normalized texts in a unit; `kind` is their normalizer."""
    align: Align = jiwer.process_characters if unit == CHARACTER else jiwer.process_words
    if unit == WORD and follows_open_asr(kind):
        align = align_compounds
    texts = separate(reference, unit, language), separate(hypothesis, unit, language)
    if texts[0] == texts[1]:
        return Errors(hits=len(texts[0] if unit == CHARACTER else texts[0].split()))
    return count_errors(*texts, align)


def pool(rates: Iterable[ErrorRate]) -> float:
    """Return all errors over all reference words; the aggregation of `wer_corpus`.

    >>> pool([])
    nan
    """
    return float(ErrorRate(sum((rate.errors for rate in rates), Errors())))


#: The columns of `score`.
COLUMNS = (
    *lower("wer", "wer_basic", "cer"),
    *lower("wer_corpus", aggregation=pool),
    *lower("substitutions", "deletions", "insertions"),
    *higher("audio_coverage"),
    *lower("repetition", "wer_first", "wer_oracle", "corrector_trimmed", "corrector_refused"),
)


@returns(COLUMNS)
def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return all rates of one clip; the `process_results` of the level Remember.

    `normalizer` of the doc names the rules for all rates but `wer_basic`, `unit` the unit of the measure (see
    `words/units.py`). The columns are `audio_coverage` (seconds that the system received / seconds of the clip; NaN if
    the system did not report them), `repetition` (see `metrics/words/wer.py`), `wer`, `wer_basic`, `cer`,
    `wer_corpus`, and `substitutions`, `deletions`, `insertions` per unit of the reference; `wer_first` and
    `wer_oracle`, both equal to `wer` for a system without an n-best list and a corrector; `corrector_trimmed` and
    `corrector_refused` (1 if the corrector's answer was that, see `CORRECTIONS`). All rates of words are NaN for a
    language without spaces. Docs of a set with a language have `wrong_language` (see `words/identification.py`), those
    with mixed units `mer`.

    >>> rates = score({"text": "so it goes"}, ["so he goes on"])
    >>> rates["wer"] == rates["substitutions"] + rates["insertions"]
    True
    """
    response, reference = response_of(results[0]), doc["text"]
    hypothesis = response.text
    kind = doc.get("normalizer", DEFAULT)
    unit, language = doc.get(UNIT, WORD), doc.get(FIELD)
    texts = _normalize(reference, kind), _normalize(hypothesis, kind)
    counts = {name: _count_units(*texts, name, kind, language) for name in {WORD, CHARACTER, unit}}
    possible = [
        _count_units(texts[0], _normalize(text, kind), WORD, kind, language) for text in response.hypotheses
    ] or [counts[WORD]]
    basic = count_errors(_normalize(reference, "basic"), _normalize(hypothesis, "basic"))
    if language in UNSPACED:
        counts[WORD] = basic = Errors()
        possible = [Errors()]
    words, measured = counts[WORD], counts[unit]
    rates = {
        "audio_coverage": response.coverage,
        "repetition": repetition(hypothesis, reference),
        "wer": float(ErrorRate(words)),
        "wer_basic": float(ErrorRate(basic)),
        "cer": float(ErrorRate(counts[CHARACTER])),
        "wer_corpus": ErrorRate(words),
        "substitutions": measured.per_unit(measured.substitutions),
        "deletions": measured.per_unit(measured.deletions),
        "insertions": measured.per_unit(measured.insertions),
        "wer_first": float(ErrorRate(possible[0])),
        "wer_oracle": float(min(map(ErrorRate, possible))),
        "corrector_trimmed": float(response.provenance == "trimmed"),
        "corrector_refused": float(response.provenance == "refused"),
    }
    mixed = {"mer": float(ErrorRate(measured))} if unit == MIXED else {}
    return rates | mixed | ({"wrong_language": wrong_language(hypothesis, language)} if language else {})
