"""Measure how much of a system's error rate comes from errors of the references, by sets with cleaned references.

Also count where systems write words of original references that were wrong: a sign that references were learned.
A place is a stretch in which original and corrected reference differ. A system has the original's words there if its
transcript is nearer to the corrected reference with these words than without them (Levenshtein distance over words).
An honest recognizer writes them where it makes the error of the first transcriber; systems that are known to be clean
show how often that is.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import drop_dataset
from speechiq.core.suggestions import suggest
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.table import EMPTY
from speechiq.reducer.runs.texts import read_clip_transcripts
from speechiq.reducer.stats.bootstrap import estimate_share, mean_of_defined, ratio_of_sums, resample
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.studies.result import StudyResult

#: The words of a reference and of a transcript.
Texts = tuple[list[str], list[str]]
#: What the name of a set with cleaned references ends with; the rest is the name of the original set.
CLEANED = "_cleaned"
LEVEL = "remember"
#: (Set, system) -> a record of `_count_learned`.
Learned = Mapping[tuple[str, str], Mapping[str, Cell]]


def _count_learned(systems: Iterable[System], sets: Iterable[str], clean: Collection[str], draws: int) -> Learned:
    """Return (set, system) -> how often it writes the original's words where references differ, if they do.

    A record has the number of `places`, and the share of them where a system writes the original's words (`written`)
    or the `corrected` words; elsewhere it writes neither. `above_clean` is `written` minus its mean over the clean
    systems; None without them, and for themselves.

    Args:
        systems: With the tasks that they come from, whose texts are read.
        sets: Sets with a cleaned version; clips are joined by their ids without the set.
        clean: Names of systems that are known not to have learned the references.
    """
    by_name = {system.name: system for system in systems}
    for name in clean:
        if name not in by_name:
            fix = suggest(name, by_name)
            raise SpeechIQError(f"--clean {name}", "no system of these runs has this name", fix)
    texts = {name: _read_texts(system) for name, system in by_name.items()}
    learned: dict[tuple[str, str], Mapping[str, Cell]] = {}
    for original in sets:
        cleaned = original + CLEANED
        counts = {
            name: _count(known[original], known[cleaned])
            for name, known in texts.items()
            if original in known and cleaned in known
        }
        usual = [counts[name] for name in clean if name in counts]
        for name, places in counts.items():
            common = set(places).intersection(*usual)
            shared = [clip for clip in places if clip in common]
            if shared:
                clips, clusters = [f"{original}/{clip}" for clip in shared], by_name[name].clusters
                rows = np.array([[*map(each.__getitem__, shared)] for each in (places, *usual)], dtype=float)
                learned[original, name] = _measure(rows, clips, clusters, name in clean, draws)
    return learned


def _count(original: Mapping[str, Texts], cleaned: Mapping[str, Texts]) -> dict[str, tuple[int, int, int]]:
    """Return clip -> what `count_places` returns, for clips of both versions of a set with places."""
    counts = {
        clip: count_places(original[clip][0], cleaned[clip][0], original[clip][1])
        for clip in sorted(original.keys() & cleaned.keys())
    }
    return {clip: places for clip, places in counts.items() if places[0]}


def _measure(
    rows: np.ndarray, clips: Sequence[str], clusters: Mapping[str, str], is_clean: bool, draws: int
) -> dict[str, Cell]:
    """Return the record of one system.

    `rows` are what `count_places` returns of the system, then of each clean one, shape (systems, clips, 3).
    """
    (places, written, right), above = rows[0].T, None
    if len(rows) > 1 and not is_clean:
        more = written - rows[1:, :, 1].mean(axis=0)
        above = resample(ratio_of_sums(more[None], places[None]), clips, clusters, draws=draws).estimate
        if not more.any():  # draws without any difference say nothing about the next clip
            above = above._replace(low=math.nan, high=math.nan)
    return {
        "places": int(places.sum()),
        "written": estimate_share(written, places, clips, clusters),
        "corrected": float(right.sum() / places.sum()),
        "above_clean": above,
    }


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


def _read_texts(system: System) -> dict[str, dict[str, Texts]]:
    """Return set -> clip without its set -> the words of the reference and of the transcript, normalized."""
    texts: dict[str, dict[str, Texts]] = {}
    for task in system.tasks_at(LEVEL):
        for clip, written in read_clip_transcripts([task]).items():
            transcript, reference = written.normalized
            of_set = texts.setdefault(task.dataset, {})
            of_set[drop_dataset(clip)] = reference.split(), transcript.split()
    return texts


def compare_references(
    systems: Iterable[System], unit: str, clean: Collection[str] = (), *, draws: int = 1000
) -> StudyResult:
    """Compare the error rates of each system on original and cleaned references, at the level Remember.

    Clips are joined by their ids without the name of the set, which both versions of a set share. A row has the set
    (`dataset`), the system, the number of `clips` and of those whose score is `changed`, the mean error rates (in
    `unit` when they are shown) against both references, their `difference`, and that as a `share` of the original rate;
    NaN if that is 0. If references differ, it also has what `_count_learned` counts, `clean` being systems that never
    saw the references.
    """
    systems = sorted(systems, key=lambda system: system.name)
    rows = [row for system in systems for row in _compare(system, draws)]
    if not rows:
        sets = sorted({name for system in systems for name in system.table["dataset"]})
        raise SpeechIQError(
            f"no system ran a set and its cleaned version (sets: {', '.join(sets) or 'none'})",
            fix=f"run both, such as siq_voxpopuli_remember and siq_voxpopuli{CLEANED}_remember",
        )
    rows.sort(key=lambda row: (row["dataset"], row["cleaned"]))
    learned = _count_learned(systems, dict.fromkeys(row["dataset"] for row in rows), clean, draws)
    grid = _as_grid(rows, unit, learned)
    tasks = [task for system in systems for task in system.tasks]
    return StudyResult("speechiq-references", [grid], {"references": grid.rows}, tasks=tasks)


def _compare(system: System, draws: int) -> Iterator[dict[str, Any]]:
    sets: dict[str, dict[str, float]] = {}
    rows = system.by_level.get(LEVEL, EMPTY)
    for clip, dataset, score in zip(rows["clip"], rows["dataset"], rows["score"].tolist(), strict=True):
        sets.setdefault(dataset, {})[drop_dataset(clip)] = -score
    for cleaned in sorted(name for name in sets if name.endswith(CLEANED)):
        if (name := cleaned.removesuffix(CLEANED)) not in sets:
            continue
        shared = sorted(sets[name].keys() & sets[cleaned].keys())
        if not shared:
            raise SpeechIQError(
                f"system {system.name!r}",
                f"{name} and {cleaned} share no clip ids",
                "run both from one source, with --metadata dataset_path=...",
            )
        names = {clip: f"{name}/{clip}" for clip in shared}
        known = system.clusters
        clusters = {clip: known[key] for clip, key in names.items() if key in known}
        before = np.array([sets[name][clip] for clip in shared])
        after = np.array([sets[cleaned][clip] for clip in shared])
        original = float(before.mean())
        difference = resample(mean_of_defined((before - after)[None]), shared, clusters, draws=draws).estimate
        yield {
            "dataset": name,
            "system": system.name,
            "clips": len(shared),
            "changed": int((before != after).sum()),
            "original": original,
            "cleaned": float(after.mean()),
            "difference": difference,
            "share": difference.value / original if original else math.nan,
        }


def _as_grid(rows: Sequence[Mapping[str, Any]], unit: str, learned: Learned) -> Grid:
    """Return a grid with one row per set and system."""
    columns = [
        Column("dataset", "Set"),
        Column("system", "System"),
        Column("clips", "Clips", "d"),
        Column("changed", "changed", "d", below="clips"),
        Column("original", f"Original\n{unit}", ".2f", factor=100),
        Column("cleaned", f"Cleaned\n{unit}", ".2f", factor=100),
        Column("difference", "Difference", ".2f", factor=100),
        Column("share", "Share\n%", ".1f", factor=100.0),
    ]
    notes = ["Difference: the part of the error rate that the references cause", "Share: of the original rate"]
    if learned:
        columns += [
            Column("places", "Places", "d"),
            Column("written", "Original's words\n%", ".1f", factor=100),
            Column("corrected", "Corrected words\n%", ".1f", factor=100),
        ]
        notes.append("Original's words: written where the references differ, the corrected words elsewhere or neither")
    if any(record["above_clean"] for record in learned.values()):
        columns.append(Column("above_clean", "Above clean\n%", "+.1f", factor=100))
        notes.append(
            "Above clean: minus the mean of the systems of --clean; above 0 it is a sign of learned references"
        )
    cells = [{**row, **learned.get((row["dataset"], row["system"]), {})} for row in rows]
    return Grid("Errors of the references", columns, cells, notes)
