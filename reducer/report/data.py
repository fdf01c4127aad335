"""Prepare what the page shows as plain data: rows of its tables, charts, and the clips for the browser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.reducer.report import figures
from speechiq.reducer.report.audio import find_sounds
from speechiq.reducer.report.identity import Identity
from speechiq.reducer.report.items import shares
from speechiq.reducer.report.study import Study, ranks_by_rule
from speechiq.reducer.runs.measure import Category, Measure
from speechiq.reducer.scores.bootstrap import Bars

TAILS = (0.025, 0.975)
MEAN = 100.0


class Cell(NamedTuple):
    """One level of one system: the mean in per cent, its 95 % interval if there are error bars, and Z."""

    shown: float
    interval: tuple[float, float] | None
    z: float


class Standing(NamedTuple):
    """One row of the leaderboard; unknown values are None, an unknown SIQ or Z is NaN."""

    rank: int
    ranks: tuple[int, int] | None
    name: str
    label: str
    identity: Identity
    siq: float
    interval: tuple[float, float] | None
    levels: dict[str, Cell]
    flags: dict[str, float | None]
    mismatched: bool


class Firm(NamedTuple):
    """The stability of a system's rank.

    Attributes:
        ranks: Rule of the level weights -> rank.
        best: Probability of rank 1; None without error bars.
        shift: The largest move of its SIQ when another system leaves the pool, and that system's label; None if no
            system can leave.
    """

    name: str
    label: str
    identity: Identity
    ranks: dict[str, int]
    best: float | None
    shift: tuple[float, str] | None


def standings(study: Study) -> list[Standing]:
    """Return the leaderboard, best system first; without SIQ by name, SIQ NaN."""
    scoreboard = study.scoreboard
    bars = scoreboard.bars if study.has_siq else None
    rows = [
        Standing(
            rank=int(scoreboard.places[row]),
            ranks=_likely(bars.ranks[row]) if bars else None,
            name=name,
            label=study.labels[row],
            identity=study.identities[row],
            siq=float(scoreboard.siq[row]),
            interval=(float(bars.siq.low[row]), float(bars.siq.high[row])) if bars else None,
            levels={
                level: Cell(
                    category.show(float(scoreboard.means[level][row])),
                    _interval(level, category.measure, scoreboard.bars, row) if scoreboard.bars else None,
                    float(scoreboard.z[level][row]),
                )
                for level, category in scoreboard.levels.items()
            },
            flags=scoreboard.systems[row].flags._asdict(),
            mismatched=any(of.system == name for of in scoreboard.mismatches),
        )
        for row, name in enumerate(study.names)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.name))


def siq_range(rows: Sequence[Standing]) -> tuple[float, float]:
    """Return the lowest and the highest SIQ of the leaderboard, ends of intervals included."""
    ends = [end for row in rows for end in (*(row.interval or ()), row.siq) if not math.isnan(end)]
    return (min(ends), max(ends)) if ends else (MEAN, MEAN)


def firmness(study: Study, rows: Sequence[Standing]) -> list[Firm]:
    """Return the stability of each rank, in the order of the leaderboard."""
    bars, shifts = study.scoreboard.bars if study.has_siq else None, study.scoreboard.shifts
    ranks = ranks_by_rule(study.scoreboard)
    found = []
    for row in rows:
        at = study.names.index(row.name)
        moves = np.full(1, np.nan) if shifts is None else shifts[:, at]
        furthest = None if np.isnan(moves).all() else int(np.nanargmax(np.abs(moves)))
        found.append(
            Firm(
                row.name,
                row.label,
                row.identity,
                {rule: int(of[at]) for rule, of in ranks.items()},
                float(bars.ranks[at, 0]) if bars else None,
                None if furthest is None else (float(moves[furthest]), study.labels[furthest]),
            )
        )
    return found


def chance(levels: Mapping[str, Category]) -> dict[str, float]:
    """Return level -> score of guessing, per cent, for the levels at which guessing helps."""
    return {level: 100.0 * of.measure.chance for level, of in levels.items() if of.measure.chance is not None}


#: Level -> what its score is called in charts and for a clip.
SCORES = {"remember": "WER", "understand": "similarity", "apply": "accuracy"}


def charts(study: Study, rows: Sequence[Standing]) -> dict[str, Any]:
    """Return the plotly figures by the id of their place in the page: those that the scored levels allow."""
    drawn = {}
    if placed := [row for row in rows if not math.isnan(row.siq)]:
        drawn["bell"] = figures.bell_curve(
            [row.label for row in placed],
            np.array([row.siq for row in placed]),
            [bool(row.identity.control) for row in placed],
            [f"{row.name}\nSpeech IQ {row.siq:.1f}" for row in placed],
        )
    if profiled := [row for row in rows if not any(math.isnan(cell.z) for cell in row.levels.values())]:
        units = {level: of.unit for level, of in study.scoreboard.levels.items()}
        drawn["profiles"] = figures.profiles(
            [row.label for row in profiled],
            {level: np.array([row.levels[level].z for row in profiled]) for level in study.levels},
            {
                level: [
                    f"{row.label}: {level.title()} {row.levels[level].z:+.2f} ({units[level].rstrip(' %')} "
                    f"{row.levels[level].shown:.1f} %)"
                    for row in profiled
                ]
                for level in study.levels
            },
        )
    if against := against_wer(study):
        shown = {level: np.array([row.levels[level].shown for row in rows]) for level in study.levels}
        all_levels = [
            "\n".join([row.name, *(f"{SCORES[level]} {cell.shown:.1f} %" for level, cell in row.levels.items())])
            for row in rows
        ]
        guessed = chance(study.scoreboard.levels)
        for level in against:
            drawn[SCORES[level]] = figures.against_wer(
                shown["remember"],
                shown[level],
                f"{SCORES[level].capitalize()}, %",
                [row.label for row in rows],
                [bool(row.identity.control) for row in rows],
                all_levels,
                guessed.get(level),
            )
        drawn["clips-wer"] = figures.clips_against_wer()
    return {name: figures.as_json(figure) for name, figure in drawn.items()}


def against_wer(study: Study) -> list[str]:
    """Return the levels that charts show against the word error rate; none without it."""
    return [level for level in study.levels if level != "remember"] if "remember" in study.levels else []


def browser_data(study: Study, rows: Sequence[Standing]) -> dict[str, Any]:
    """All clips with all texts and answers, compact; lists follow the rank of the systems.

    Returns:
        `{"systems": [{"name", "label", "control"}], "clips": [...]}`. A clip has `id`, `set`, `seconds`, `text`,
        `words`, `transcripts` (one per system, null if it has none), `ops`, `coverage`, `repetition`, `wer`, `sim`,
        `acc` (per cent; null if the level is not scored), `weight` (share of the SIQ, per cent) and `questions` (`id`,
        `text`, `options`, `answer`, and `votes`: the vote and then the letters).
    """
    names = [row.name for row in rows]
    order = [study.names.index(name) for name in names]
    measured = {
        level: dict(zip(study.scoreboard.pool.clips[level], _columns(study, level, order), strict=True))
        for level in study.levels
    }
    questions: dict[str, list[dict[str, Any]]] = {}
    for item, question in study.answers.questions.items():
        questions.setdefault(item[0], []).append(
            {
                "id": item[1],
                "text": question.question,
                "options": question.options,
                "answer": question.answer,
                "votes": ["".join(study.answers.votes[name][item]) for name in names],
            }
        )
    weight = _weights(study) if study.has_siq else {}
    clips = []
    for clip in study.clips:
        transcripts = [clip.transcripts.get(name) for name in names]
        clips.append(
            {
                "id": clip.id,
                "set": clip.dataset,
                "seconds": known(clip.seconds, 1),
                "text": clip.text,
                "words": clip.words,
                "transcripts": [one.text if one else None for one in transcripts],
                "ops": [one.ops if one else None for one in transcripts],
                "coverage": [known(one.coverage, 3) if one else None for one in transcripts],
                "repetition": [known(one.repetition, 3) if one else None for one in transcripts],
                "wer": measured.get("remember", {}).get(clip.id),
                "sim": measured.get("understand", {}).get(clip.id),
                "acc": measured.get("apply", {}).get(clip.id),
                "weight": known(weight.get(clip.id, math.nan), 3),
                "questions": questions.get(clip.id, []),
            }
        )
    systems = [{"name": row.name, "label": row.label, "control": row.identity.control} for row in rows]
    return {"systems": systems, "clips": clips}


def clip_columns(study: Study) -> list[str]:
    """Return the columns of the table of clips, as `browser_data` names them."""
    scores = {"remember": "wer", "understand": "sim", "apply": "acc"}
    return ["id", "seconds", *(scores[level] for level in study.levels), *["weight"] * study.has_siq]


def sounds(study: Study) -> dict[str, str]:
    """Return clip -> address of its audio, for the clips whose file is on this machine."""
    return find_sounds({clip.id: clip.audio for clip in study.clips})


def known(value: float | None, digits: int = 6) -> float | None:
    """Return a rounded number; None if it is missing or not finite.

    >>> known(float("nan")), known(0.25)
    (None, 0.25)
    """
    return None if value is None or not math.isfinite(value) else round(value, digits)


def _interval(level: str, measure: Measure, bars: Bars, row: int) -> tuple[float, float]:
    """Return the interval of a level's raw mean, per cent, low end first."""
    raw = bars.intervals[level]
    low, high = sorted(measure.show(float(end[row])) for end in (raw.low, raw.high))
    return low, high


def _likely(probabilities: np.ndarray) -> tuple[int, int]:
    """Return the lowest and the highest rank of the middle 95 % of the draws."""
    low, high = np.searchsorted(np.cumsum(probabilities), TAILS) + 1
    return int(low), int(min(high, len(probabilities)))


def _columns(study: Study, level: str, order: Sequence[int]) -> list[list[float]]:
    """Return a list per clip: the values of all systems, per cent, in the order of the ranks."""
    values = study.scoreboard.levels[level].show(study.scoreboard.pool.raw[level][order].T)
    shown: list[list[float]] = (np.round(values, 2) + 0.0).tolist()
    return shown


def _weights(study: Study) -> Mapping[str, float]:
    """Return each clip's share of the SIQ: level weight times the clip's share of the level, summed; per cent."""
    scale = study.scale
    total: dict[str, float] = {}
    for level, of in scale.levels.items():
        for clip, share in zip(study.scoreboard.pool.clips[level], shares(scale, level).tolist(), strict=True):
            total[clip] = total.get(clip, 0.0) + 100 * of.weight * share
    return total
