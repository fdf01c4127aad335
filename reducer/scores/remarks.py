"""Collect the remarks on a ranking: why SIQ is missing, how much was asked, and which numbers mean little.

Also say what the clip weights of eq. 4 do to a level: a clip that decides it, an order that is not that of means.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import LevelScores, NoSpread, Scale, Scores, scale_level, score_level
from speechiq.reducer.scores.score_matrix import ScoreMatrix, find_identical
from speechiq.reducer.stats.contrast import separates
from speechiq.reducer.stats.estimate import ROUNDING
from speechiq.reducer.stats.grid import Important, count_units

FEWEST_FOR_SIQ = 3
FEW = 5
#: Share of the full score from which on a floor is high.
HIGH_FLOOR = 0.5
#: Letters up to which the first word of a category is taken for initials, such as asr or pf.
INITIALS = 3
#: Names that are written otherwise.
TITLES = {"speech_text_wer": "Speech-text WER", "web_of_lies": "Web of Lies"}
ONE_SYSTEM = (
    "no SIQ and no Z: one system alone has no scale; score it on that of others: --norms demo for the demo set, or "
    "--norms FILE; or give the runs of three systems or more"
)
TWO_SYSTEMS = (
    "no SIQ and no Z: of two systems, one always has Z +1 and the other Z -1; "
    "use `siq compare A B`, or score on a scale: --norms FILE, or runs of more systems"
)
#: Failures that scores hide -> heading, meaning.
FLAGS = {
    "unparsed": ("Unreadable", "answers without a letter"),
    "none_of_the_above": ("None of the above", "questions answered with (E)"),
    "incomplete_audio": ("Audio cut", "clips with incomplete audio"),
    "repetition": ("Repetition", "transcripts that repeat one phrase many times"),
    "wrong_language": ("Wrong language", "transcripts in another language"),
}
MEANINGS = {
    "remember": "how well speech is written down",
    "understand": "how well its meaning is kept",
    "apply": "whether questions about it are answered",
}
WAYS = {"apply": "; run the data set's apply task as well, which needs a question file (`siq data questions`)"}
#: Share of a level's weight above which a line names a clip, if it is more than twice that of equal weights.
HEAVY = 0.2
#: Decimals of Z in tables: numbers that are equal there contradict nothing.
DECIMALS_OF_Z = 2


class Count(NamedTuple):
    """Hold the size of a level.

    Attributes:
        clusters: Number of clusters of the scored clips, which is that of clips if no two clips share one.
        items: Number of items: the clips, or at Apply their questions.
        noun: Name of one item: `clip`, or the last field that names it, such as `question`.
        evaluated, available: Numbers of docs that were run, and that its tasks have; None if the runs do not record it.
    """

    clips: int
    clusters: int
    items: int
    noun: str = "clip"
    evaluated: int | None = None
    available: int | None = None

    @property
    def several(self) -> bool:
        """Return whether a clip may have several items."""
        return self.noun != "clip"

    @property
    def units(self) -> str:
        """Return the number of clips in words, with that of clusters if clips share one."""
        return count_units(self.clips, self.clusters)

    @property
    def limited(self) -> bool:
        """Return whether only a part of the tasks was asked, as with `--limit`."""
        return self.evaluated is not None and self.available is not None and self.evaluated < self.available


class Remarks(NamedTuple):
    """Hold the remarks on a ranking.

    Attributes:
        no_siq: Why SIQ is missing, and what to do; None if there is one.
        few: Why the scale is weak; None if it is not.
        counts: level -> its size.
        separates: level -> whether some two systems differ on it beyond chance by their means.
        separates_by_z: The same by their weighted scores; empty without Z.
        weights: level -> its share of the SIQ.
        identical: Groups of systems that have the same scores everywhere.
        floors: Name of each `silence` control, which receives no audio -> level -> its mean raw score.
        ceilings: Lines on levels on which a control `gold`, which receives the references, is beaten.
        above_floor: Lines on levels with a high floor: the place of the best system between floor and ceiling.
        weighting: Lines on what the weights of clips do to a level (`describe_weights`).
        predictive: Lines on levels that predict wrong answers better than the heaviest one (`level_weights`).
    """

    no_siq: str | None = None
    few: str | None = None
    counts: Mapping[str, Count] = MappingProxyType({})
    same_clips: bool = True
    separates: Mapping[str, bool] = MappingProxyType({})
    separates_by_z: Mapping[str, bool] = MappingProxyType({})
    weights: Mapping[str, float] = MappingProxyType({})
    pairs: int = 0
    identical: tuple[tuple[str, ...], ...] = ()
    floors: Mapping[str, Mapping[str, float]] = MappingProxyType({})
    ceilings: tuple[str, ...] = ()
    above_floor: tuple[str, ...] = ()
    weighting: tuple[str, ...] = ()
    predictive: tuple[str, ...] = ()

    def readings(self) -> Iterator[str]:
        """Yield how scores are read that controls or answers put in another light, a line each."""
        yield from (*self.above_floor, *self.ceilings, *self.predictive)

    def lines(self, levels: Mapping[str, Category]) -> Iterator[str]:
        """Yield the other remarks in words, a line each; `warnings` are not among them."""
        yield from (Important(line) for line in (self.no_siq, self.few) if line)
        yield from self.counted()
        yield from self.weighting
        for level, separated in self.separates.items():
            by = [] if separated else ["mean"]
            if not self.separates_by_z.get(level, True):
                by.append("Z")
            if by:
                moves = f", but the level still moves SIQ with weight {self.weights[level]:.3f}" if self.weights else ""
                yield Important(
                    f"{title(level)}: no two systems differ beyond chance by {' or by '.join(by)} (paired 95 % "
                    f"intervals, widened for {count_of(self.pairs, 'pair')}){moves}"
                )
        for name, floor in filter(itemgetter(1), self.floors.items()):
            shown = (_score(levels[level], raw) for level, raw in floor.items())
            yield f"floor: without any audio, {name} has {', '.join(shown)}"

    def warnings(self, effect: str = ", since each moves all SIQ") -> Iterator[str]:
        """Yield possible mistakes of the user, a line each; `effect` says what they do to the scores."""
        for names in self.identical:
            yield (
                f"systems {' and '.join(map(repr, names))} have the same score on every clip of every level; "
                f"if they are one system under several names, give one of them{effect}"
            )

    def counted(self) -> Iterator[str]:
        """Yield the size of each level, and whether that is a part of its tasks."""
        if not self.counts:
            return
        if self.same_clips:
            yield next(iter(self.counts.values())).units + "".join(
                f", {count_of(count.items, count.noun)}" for count in self.counts.values() if count.several
            )
        else:
            shown = []
            for level, count in self.counts.items():
                items = f" ({count_of(count.items, count.noun)})" if count.several else ""
                shown.append(f"{title(level)} {count.units}{items}")
            yield f"the levels have different clips: {', '.join(shown)}"
        limited = [
            f"{title(level)} {count.evaluated} of {count.available} {count.noun}s"
            for level, count in self.counts.items()
            if count.limited
        ]
        if limited:
            yield Important(f"a part of the tasks was asked (--limit): {', '.join(limited)}")


NO_REMARKS = Remarks()


def remark(pool: ScoreMatrix, systems: Sequence[System], norms: Norms | None = None) -> Remarks:
    """Return the remarks on SIQ; systems are in the order of the pool, with the items that are scored."""
    return observe(pool, systems)._replace(no_siq=explain_no_siq(pool, norms), few=explain_few(pool, norms))


def observe(pool: ScoreMatrix, systems: Sequence[System]) -> Remarks:
    """Return the remarks that apply to any suite; arguments as for `remark`."""
    clips, means = [set(names) for names in pool.clips.values()], pool.means
    return Remarks(
        counts={level: _count(level, pool, systems) for level in pool.raw},
        same_clips=all(names == clips[0] for names in clips),
        separates={level: separates(raw, pool.number_clusters(level)) for level, raw in pool.raw.items()}
        if len(pool.systems) > 1
        else {},
        pairs=len(pool.systems) * (len(pool.systems) - 1) // 2,
        identical=tuple(find_identical(pool)),
        floors={
            system.name: _known_means(means, row) for row, system in enumerate(systems) if system.control == "silence"
        },
        ceilings=tuple(
            _describe_gap(pool, systems, level, row, better)
            for row in _rows_of(systems, "gold")
            for level, scores in means.items()
            if (better := _find_better(scores, row, systems))
        ),
        above_floor=tuple(_describe_floors(pool, systems)),
    )


def _rows_of(systems: Sequence[System], control: str) -> list[int]:
    return [row for row, system in enumerate(systems) if system.control == control]


def _find_better(means: np.ndarray, row: int, systems: Sequence[System]) -> list[int]:
    """Return the rows of the systems above a row, best first; controls `gold` are left out."""
    better = [
        (-mean, system.name, place)
        for place, (system, mean) in enumerate(zip(systems, means, strict=True))
        if mean > means[row] + ROUNDING and system.control != "gold"
    ]
    return [place for *_, place in sorted(better)]


def _describe_gap(pool: ScoreMatrix, systems: Sequence[System], level: str, row: int, better: Sequence[int]) -> str:
    """Return in words how far a control is below better systems: in items if each is right or wrong, else in points."""
    control, best = systems[row], systems[better[0]]
    own, others = (system.by_level[level]["score"] for system in (control, best))
    count = _count(level, pool, systems)
    if np.isin([own, others], (0, 1)).all():
        gap = f"{round(others.sum() - own.sum())} of {count_of(count.items, count.noun)}"
    else:
        gap = f"{pool.levels[level].show(pool.means[level][better[0]] - pool.means[level][row]):.2f} points"
    beyond_chance = separates(pool.raw[level][[row, better[0]]], pool.number_clusters(level))
    reason = "beyond the 95 % interval of this pair" if beyond_chance else "which may be chance"
    models = {systems[place].name.split("+")[-1] for place in better}
    model = "" if models == {control.name.split("+")[-1]} else "; their language models differ"
    names = best.name
    if len(better) > 1:
        names += f" and {count_of(len(better) - 1, 'other')}"
    return f"{title(level)}: {control.name} is {gap} below {names}, {reason}{model}"


def _describe_floors(pool: ScoreMatrix, systems: Sequence[System]) -> Iterator[str]:
    """Yield which share of the way from `silence` to `gold`, or else to 1, the best system has covered at a level.

    Only levels count on which a system without audio has more than half of the full score.
    """
    silent, gold = _rows_of(systems, "silence"), _rows_of(systems, "gold")
    listening = _rows_of(systems, "")
    for level, means in pool.means.items():
        measure = pool.levels[level].measure
        if silent and listening and measure.in_per_cent and measure.direction == "higher":
            floor, best = float(means[silent].max()), float(means[listening].max())
            if HIGH_FLOOR < floor < best:
                end, ceiling = ("gold", float(means[gold].max()) or 1.0) if gold else ("100 %", 1.0)
                yield (
                    f"{title(level)}: silence has {100 * floor:.1f} %; from there to {end}, {100 * best:.1f} % is "
                    f"{100 * (best - floor) / (ceiling - floor):.0f} % of the way"
                )


def explain_no_siq(pool: ScoreMatrix, norms: Norms | None = None) -> str | None:
    """Return why a pool has no SIQ and what to do, in one line; None if it has one."""
    if (missing := explain_missing(pool)) is not None or has_scale(pool, norms):
        return missing
    return ONE_SYSTEM if len(pool.systems) == 1 else TWO_SYSTEMS


def explain_missing(pool: ScoreMatrix) -> str | None:
    """Return which levels of SIQ are missing in a pool and what to do, in one line; None if it has all."""
    missing = [level for level in LEVELS if level not in pool.raw]
    if not missing:
        return None
    here, there = (" and ".join(map(title, levels)) for levels in (pool.raw, missing))
    meaning = "; ".join(f"{title(level)} shows {MEANINGS[level]}" for level in pool.raw)
    ways = "".join(WAYS.get(level, f"; run the data set's {level} task as well") for level in missing)
    return f"no SIQ: it needs {there} as well as {here}; {meaning}{ways}"


def has_scale(pool: ScoreMatrix, norms: Norms | None = None) -> bool:
    """Return whether Z means anything: on norms, or among three systems or more."""
    return norms is not None or len(pool.systems) >= FEWEST_FOR_SIQ


def explain_few(pool: ScoreMatrix, norms: Norms | None = None) -> str | None:
    """Return why a scale is weak, in one line; None if it is not, or if there is none."""
    count = len(norms.systems if norms else pool.systems)
    if count >= FEW or not has_scale(pool, norms):
        return None
    whose = f"norms of only {count_of(count, 'system')}" if norms else f"only {count_of(count, 'system')}"
    advice = f"build norms from {FEW} or more" if norms else f"score {FEW} or more together, or use --norms"
    return f"{whose}: each result depends strongly on which systems they are; {advice}"


def _known_means(means: Mapping[str, np.ndarray], row: int) -> dict[str, float]:
    """Return level -> mean raw score of the system of a row, for the levels on which it has one."""
    return {level: float(scores[row]) for level, scores in means.items() if not np.isnan(scores[row])}


def _count(level: str, pool: ScoreMatrix, systems: Sequence[System]) -> Count:
    totals = []
    for system in systems:
        counts = [task.docs for task in system.tasks_at(level) if task.docs]
        if counts:
            totals.append(tuple(map(sum, zip(*counts, strict=True))))
    evaluated, available = min(totals, key=lambda total: total[0] - total[1], default=(None, None))
    fields = pool.levels[level].item
    noun = fields[-1].removesuffix("_id") if len(fields) > 1 else "clip"
    clips, clusters = len(pool.clips[level]), pool.count_clusters(level)
    return Count(clips, clusters, len(systems[0].by_level[level]), noun, evaluated, available)


def title(level: str) -> str:
    """Return the name of a category or column as people read it; a first word of up to three letters is initials.

    >>> title("remember"), title("pf_pause"), title("speech_text_wer")
    ('Remember', 'PF Pause', 'Speech-text WER')
    """
    if level in TITLES:
        return TITLES[level]
    first, *others = level.split("_")
    return " ".join([first.upper() if len(first) <= INITIALS else first.title(), *map(str.title, others)])


def _score(category: Category, raw: float) -> str:
    """Return a raw score with its unit as people read it, such as `WER 12.5 %`."""
    text = f"{category.unit.removesuffix('%').strip()} {category.show(raw):.1f}"
    return f"{text} %" if category.measure.in_per_cent else text


class HeavyClip(NamedTuple):
    """Hold the clip with the largest weight of a level, and its share of the sum of weights."""

    clip: str
    share: float


def find_heaviest(pool: ScoreMatrix, scale: Scale) -> dict[str, HeavyClip]:
    """Return level -> its heaviest clip."""
    heaviest = {}
    for level, clips in pool.clips.items():
        shares = scale.levels[level].shares
        place = int(shares.argmax())
        heaviest[level] = HeavyClip(clips[place], float(shares[place]))
    return heaviest


def separates_by_z(pool: ScoreMatrix, scale: Scale) -> dict[str, bool]:
    """Return level -> whether some two systems differ on it beyond chance by their weighted scores."""
    return {level: _separates_by_z(pool, scale, level, range(len(pool.systems))) for level in pool.raw}


def describe_weights(pool: ScoreMatrix, scores: Scores, ranked: Sequence[int], own_scale: bool) -> Iterator[str]:
    """Yield a line for each level that one clip decides, or on which Z and the mean order systems differently.

    Args:
        ranked: The rows of the systems whose order counts.
        own_scale: Whether the pool sets its scale, so that leaving a clip out sets another.
    """
    heaviest, pairs = find_heaviest(pool, scores.scale), math.comb(len(ranked), 2)
    for level, clips in pool.clips.items():
        parts = []
        reordered = _list_reordered(scores.levels[level], ranked)
        if reordered:
            shown = _describe_order(pool, scores, level, reordered)
            parts.append(f"Z orders {len(reordered)} of {pairs} pairs of systems otherwise than the mean: {shown}")
        if heaviest[level].share > max(HEAVY, 2 / len(clips)):
            effect = _describe_effect(pool, scores, level) if own_scale else ""
            share = f"{100 * heaviest[level].share:.0f} %"
            parts.append(f"clip {heaviest[level].clip!r} has {share} of the weight{effect}; check its reference")
        if parts:
            yield Important(f"{title(level)}: {'; '.join(parts)}")


def _separates_by_z(pool: ScoreMatrix, scale: Scale, level: str, rows: Sequence[int]) -> bool:
    weighted = pool.raw[level][[*rows]] * scale.levels[level].shares * len(pool.clips[level])
    return separates(weighted, pool.number_clusters(level))


def _list_reordered(scores: LevelScores, ranked: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of systems of which the mean and Z have another one better; a tie has no better one."""
    rows = np.array(ranked, dtype=int)
    raw, z = scores.raw[rows], np.round(scores.z[rows], DECIMALS_OF_Z)
    by_mean, by_z = np.subtract.outer(raw, raw), np.subtract.outer(z, z)
    tied = abs(by_mean) <= ROUNDING
    otherwise = (by_z != 0) & (tied | (by_mean * by_z < 0))
    first, second = np.nonzero(np.triu(otherwise, 1))
    return list(zip(rows[first].tolist(), rows[second].tolist(), strict=True))


def _describe_order(pool: ScoreMatrix, scores: Scores, level: str, reordered: Sequence[tuple[int, int]]) -> str:
    """Return in words the pair whose Z differs most, and whether that is beyond chance."""
    category, scored = pool.levels[level], scores.levels[level]
    a, b = max(reordered, key=lambda pair: abs(scored.z[pair[0]] - scored.z[pair[1]]))
    beyond = "beyond" if _separates_by_z(pool, scores.scale, level, (a, b)) else "within"
    first, second = (
        f"{pool.systems[row]} has {category.show(scored.raw[row]):.2f} {category.unit} and Z {scored.z[row]:+.2f}"
        for row in (a, b)
    )
    return f"{first}, {second}, {beyond} chance by Z"


def _describe_effect(pool: ScoreMatrix, scores: Scores, level: str) -> str:
    """Describe the largest change of Z without the heaviest clip: its system, and Z before and after."""
    z, shares = scores.levels[level].z, scores.scale.levels[level].shares
    without = np.delete(pool.raw[level], shares.argmax(), axis=1)
    try:
        level_scale, _ = scale_level(level, without, scores.scale.rule.clips)
    except NoSpread:
        return ", and without it the systems tie"
    changed = score_level(without, level_scale).z
    row = int(np.abs(changed - z).argmax())
    return f", and without it {pool.systems[row]} has Z {changed[row]:+.2f} instead of {z[row]:+.2f}"
