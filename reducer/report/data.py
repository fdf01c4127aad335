"""What the page shows, as plain data: rows for its tables and the clips for the browser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.reducer.levels import LEVELS, per_cent
from speechiq.reducer.report import figures
from speechiq.reducer.report.audio import find_source
from speechiq.reducer.report.identity import Identity
from speechiq.reducer.report.items import shares
from speechiq.reducer.report.study import Study, ranks_by_rule

TAILS = (0.025, 0.975)
MEAN = 100.0


class Cell(NamedTuple):
    """One level of one system: per cent as people read it, and Z."""

    shown: float
    z: float


class Standing(NamedTuple):
    """One row of the leaderboard; None is what is not known."""

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
    """How firm a system's place is.

    Attributes:
        ranks: rule of the level weights -> rank.
        best: Probability of rank 1; None without error bars.
        shift: The largest move of its SIQ when another system leaves the pool, and that system's label; None where
            no system can leave.
    """

    name: str
    label: str
    identity: Identity
    ranks: dict[str, int]
    best: float | None
    shift: tuple[float, str] | None


def standings(study: Study) -> list[Standing]:
    """The leaderboard, best system first; without SIQ by name, SIQ NaN."""
    scores, context = study.ranking.scores, study.ranking.context
    bootstrap = None if context.remarks.no_siq else context.bootstrap
    rows = [
        Standing(
            rank=int(scores.ranks[row]),
            ranks=_likely(bootstrap.ranks[row]) if bootstrap else None,
            name=name,
            label=study.labels[row],
            identity=study.identities[row],
            siq=float(scores.siq[row]),
            interval=(float(bootstrap.siq.low[row]), float(bootstrap.siq.high[row])) if bootstrap else None,
            levels={
                level: Cell(per_cent(level, float(of.raw[row])), float(of.z[row]))
                for level, of in scores.levels.items()
            },
            flags=context.systems[row].flags._asdict(),
            mismatched=any(of.system == name for of in context.mismatches),
        )
        for row, name in enumerate(scores.systems)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.name))


def reach(rows: Sequence[Standing]) -> tuple[float, float]:
    """The lowest and the highest SIQ that an interval of the leaderboard reaches."""
    ends = [end for row in rows for end in (*(row.interval or ()), row.siq) if not math.isnan(end)]
    return (min(ends), max(ends)) if ends else (MEAN, MEAN)


def firmness(study: Study, rows: Sequence[Standing]) -> list[Firm]:
    """How firm each place of the leaderboard is."""
    context = study.ranking.context
    bootstrap, shifts = None if context.remarks.no_siq else context.bootstrap, context.shifts
    ranks = ranks_by_rule(study.ranking)
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
                float(bootstrap.ranks[at, 0]) if bootstrap else None,
                None if furthest is None else (float(moves[furthest]), study.labels[furthest]),
            )
        )
    return found


def chance() -> float:
    """Accuracy of guessing, per cent."""
    return per_cent("apply", LEVELS["apply"].chance)


def charts(study: Study, rows: Sequence[Standing]) -> dict[str, Any]:
    """The plotly figures by the id of their place in the page."""
    labels = [row.label for row in rows]
    controls = [bool(row.identity.control) for row in rows]
    shown = {level: np.array([row.levels[level].shown for row in rows]) for level in LEVELS}
    z = {level: np.array([row.levels[level].z for row in rows]) for level in LEVELS}
    points = np.array([row.siq for row in rows])
    hover = [f"{row.name}\nSpeech IQ {row.siq:.1f}" for row in rows]
    placed, profiled = ([row for row in range(len(rows)) if not math.isnan(of[row])] for of in (points, z["remember"]))
    both = [
        f"{row.name}\nWER {row.levels['remember'].shown:.1f} %\nsimilarity {row.levels['understand'].shown:.1f} %\n"
        f"accuracy {row.levels['apply'].shown:.1f} %"
        for row in rows
    ]
    by_level = {
        level: [
            f"{row.label}: {level.title()} {row.levels[level].z:+.2f} ({LEVELS[level].unit.rstrip(' %')} "
            f"{row.levels[level].shown:.1f} %)"
            for row in rows
        ]
        for level in LEVELS
    }
    wer = shown["remember"]
    drawn = {
        "bell": figures.bell_curve(
            [labels[row] for row in placed],
            points[placed],
            [controls[row] for row in placed],
            [hover[row] for row in placed],
        ),
        "profiles": figures.profiles(
            [labels[row] for row in profiled],
            {level: of[profiled] for level, of in z.items()},
            {level: [of[row] for row in profiled] for level, of in by_level.items()},
        ),
        "similarity": figures.against_wer(wer, shown["understand"], "Similarity, %", labels, controls, both),
        "accuracy": figures.against_wer(wer, shown["apply"], "Accuracy, %", labels, controls, both, chance()),
        "clips-wer": figures.clips_against_wer(),
    }
    return {name: figures.as_json(figure) for name, figure in drawn.items()}


def browser_data(study: Study, rows: Sequence[Standing]) -> dict[str, Any]:
    """All clips with all texts and answers, compact; lists follow the rank of the systems.

    Returns:
        `{"systems": [{"name", "label", "control"}], "clips": [...]}`. A clip has `id`, `set`, `seconds`, `text`,
        `words`, `heard` (a text a system, null where it has none), `ops`, `share`, `loop`, `wer`, `sim`, `acc` (per
        cent), `weight` (share of the SIQ, per cent) and `questions` (`id`, `text`, `options`, `answer`, and `votes`:
        the vote and then the letters).
    """
    names = [row.name for row in rows]
    order = [study.names.index(name) for name in names]
    measured = {
        level: dict(zip(study.ranking.pool.clips[level], _columns(study, level, order), strict=True))
        for level in LEVELS
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
    weight = _weights(study)
    clips = []
    for clip in study.clips:
        heard = [clip.heard.get(name) for name in names]
        clips.append(
            {
                "id": clip.id,
                "set": clip.dataset,
                "seconds": known(clip.seconds, 1),
                "text": clip.text,
                "words": clip.words,
                "heard": [one.text if one else None for one in heard],
                "ops": [one.ops if one else None for one in heard],
                "share": [known(one.share, 3) if one else None for one in heard],
                "loop": [known(one.loop, 3) if one else None for one in heard],
                "wer": measured["remember"].get(clip.id),
                "sim": measured["understand"].get(clip.id),
                "acc": measured["apply"].get(clip.id),
                "weight": known(weight.get(clip.id, math.nan), 3),
                "questions": questions.get(clip.id, []),
            }
        )
    systems = [{"name": row.name, "label": row.label, "control": row.identity.control} for row in rows]
    return {"systems": systems, "clips": clips}


def sounds(study: Study) -> dict[str, str]:
    """clip -> address of its sound, for the clips that are at hand."""
    found = {clip.id: find_source(clip.audio) for clip in study.clips}
    return {clip: source for clip, source in found.items() if source}


def known(value: float | None, digits: int = 6) -> float | None:
    """A number, rounded; None where there is none.

    >>> known(float("nan")), known(0.25)
    (None, 0.25)
    """
    return None if value is None or not math.isfinite(value) else round(value, digits)


def _likely(probabilities: np.ndarray) -> tuple[int, int]:
    """The ranks between which 95 % of the draws fall."""
    low, high = np.searchsorted(np.cumsum(probabilities), TAILS) + 1
    return int(low), int(min(high, len(probabilities)))


def _columns(study: Study, level: str, order: Sequence[int]) -> list[list[float]]:
    """A clip's values a list, per cent, in the order of the ranks."""
    values = per_cent(level, study.ranking.pool.raw[level][order].T)
    return (np.round(values, 2) + 0.0).tolist()


def _weights(study: Study) -> Mapping[str, float]:
    """Each clip's share of the SIQ: the level's weight times the clip's share of the level, summed; per cent."""
    scale = study.ranking.scores.scale
    total: dict[str, float] = {}
    for level, of in scale.levels.items():
        for clip, share in zip(study.ranking.pool.clips[level], shares(scale, level).tolist(), strict=True):
            total[clip] = total.get(clip, 0.0) + 100 * of.weight * share
    return total
