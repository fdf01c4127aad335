"""Count where systems write the words of original references that were wrong: a sign that the references were learned.

A place is a stretch in which original and corrected reference differ. A system has the original's words there if its
transcript is nearer to the corrected reference with these words than without them (Levenshtein distance over words).
An honest recognizer writes them where it makes the error of the first transcriber; systems that are known to be clean
show how often that is.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.metrics.words.normalizer import DEFAULT, normalize
from speechiq.reducer.runs import rows
from speechiq.reducer.runs.systems import System
from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.proportion import share

#: The words of a reference and of a transcript.
Texts = tuple[list[str], list[str]]


class LearnedErrors(NamedTuple):
    """Hold how often one system writes the original's words where both references of a set differ.

    Attributes:
        original: Share of the places where it writes the original's words.
        corrected: Share of them where it writes the corrected words; elsewhere it writes neither.
        above_clean: `original` minus its mean over the clean systems; None without them, and for themselves.
    """

    places: int
    original: Estimate
    corrected: float
    above_clean: Estimate | None


def count_learned(
    systems: Iterable[System],
    sets: Mapping[str, str],
    level: str,
    clean: Collection[str] = (),
    *,
    draws: int = 1000,
    seed: int = 0,
) -> dict[tuple[str, str], LearnedErrors]:
    """Return (set, system) -> how often it writes the original's words; without places, nothing.

    Args:
        systems: With the tasks that they come from, whose texts are read.
        sets: Set -> the same set with corrected references; clips are joined by their ids without the set.
        clean: Names of systems that are known not to have learned the references.
    """
    by_name = {system.name: system for system in systems}
    for name in clean:
        if name not in by_name:
            fix = f"{did_you_mean(name, by_name)}choose from {', '.join(by_name)}"
            raise SpeechIQError(f"--clean {name}", "no system of these runs has this name", fix)
    texts = {name: _read_texts(system, level) for name, system in by_name.items()}
    learned: dict[tuple[str, str], LearnedErrors] = {}
    for original, cleaned in sets.items():
        counts = {
            name: _count(known[original], known[cleaned])
            for name, known in texts.items()
            if original in known and cleaned in known
        }
        usual = [counts[name] for name in clean if name in counts]
        for name, places in counts.items():
            shared = [clip for clip in places if all(clip in each for each in usual)]
            if shared:
                clips, clusters = [f"{original}/{clip}" for clip in shared], by_name[name].clusters
                rows = np.array([[each[clip] for clip in shared] for each in (places, *usual)], dtype=float)
                learned[original, name] = _measure(rows, clips, clusters, name in clean, draws, seed)
    return learned


def _count(original: Mapping[str, Texts], cleaned: Mapping[str, Texts]) -> dict[str, tuple[int, int, int]]:
    """Return clip -> what `count_places` returns, for clips of both versions of a set with places."""
    counts = {
        clip: count_places(original[clip][0], cleaned[clip][0], original[clip][1])
        for clip in sorted(original.keys() & cleaned.keys())
    }
    return {clip: places for clip, places in counts.items() if places[0]}


def _measure(
    rows: np.ndarray, clips: Sequence[str], clusters: Mapping[str, str], is_clean: bool, draws: int, seed: int
) -> LearnedErrors:
    """Return the rates of one system.

    `rows` are what `count_places` returns of the system, then of each clean one, shape (systems, clips, 3).
    """
    (places, written, right), above = rows[0].T, None
    if len(rows) > 1 and not is_clean:
        more = written - rows[1:, :, 1].mean(axis=0)

        def rate(counts: np.ndarray) -> np.ndarray:
            return np.asarray(counts @ more / (counts @ places))

        above = resample(rate, clips, clusters, draws=draws, seed=seed).estimate
        if not more.any():  # draws without any difference say nothing about the next clip
            above = above._replace(low=math.nan, high=math.nan)
    return LearnedErrors(
        int(places.sum()), share(written, places, clips, clusters), float(right.sum() / places.sum()), above
    )


def count_places(original: Sequence[str], corrected: Sequence[str], transcript: Sequence[str]) -> tuple[int, int, int]:
    """Return the number of places, and on how many of them a transcript has the original and the corrected words.

    >>> count_places("it was in the hall".split(), "it was on the wall".split(), "it was in the wall".split())
    (2, 1, 1)
    """
    whole = Levenshtein.distance(corrected, transcript)
    places = [0, 0, 0]
    for start, end, words in _list_places(original, corrected):
        changed = Levenshtein.distance([*corrected[:start], *words, *corrected[end:]], transcript)
        places[0] += 1
        places[1] += changed < whole
        places[2] += changed > whole
    return places[0], places[1], places[2]


def _list_places(original: Sequence[str], corrected: Sequence[str]) -> list[tuple[int, int, Sequence[str]]]:
    """Return both ends of each place in the corrected reference, and the words of the original there."""
    equal = [step for step in Levenshtein.opcodes(corrected, original) if step.tag == "equal"]
    ends = [(step.src_start, step.src_end, step.dest_start, step.dest_end) for step in equal]
    ends = [(0, 0, 0, 0), *ends, (len(corrected), 0, len(original), 0)]
    return [
        (here[1], after[0], original[here[3] : after[2]])
        for here, after in pairwise(ends)
        if here[1] < after[0] or here[3] < after[2]
    ]


def _read_texts(system: System, level: str) -> dict[str, dict[str, Texts]]:
    """Return set -> clip without its set -> the words of the reference and of the transcript, normalized."""
    texts: dict[str, dict[str, Texts]] = {}
    for task in system.tasks:
        for row in rows.read_texts(task.samples) if task.level == level else ():
            kind = str(row.doc.normalizer or DEFAULT)
            response = row.response if isinstance(row.response, str) else ""
            reference, transcript = (normalize(str(text), kind).split() for text in (row.doc.text, response))
            clip = str(row.doc.id)
            texts.setdefault(task.dataset, {})[clip.partition("/")[2] or clip] = reference, transcript
    return texts
