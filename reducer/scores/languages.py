"""Compare the languages of a suite: the score in each, their mean, and the gap to English on the same passages.

Each language is a suite of its own (`runs.tasks.part_languages`), since its errors have a unit and its similarities a
scale that other languages need not have. What languages share are passages: clips with equal ids, as in
Belebele-FLEURS, are translations of one text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from speechiq.core.ids import drop_dataset
from speechiq.engines.languages import ENGLISH
from speechiq.metrics.measure import Category
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.bootstrap import mean_of_defined, resample
from speechiq.reducer.stats.contrast import contrast
from speechiq.reducer.stats.estimate import Difference, Estimate

#: Settings of categories whose scores are similarities on a scale of the language, so that they have no mean or gap.
OWN_SCALE = {"embedder", "assistant"}


class LanguageScores(NamedTuple):
    """Hold the scores of one category in the languages that count it in one unit; as people read them, not as raw.

    Attributes:
        scores: Language -> the score of each system.
        means: Mean over the languages, for each system; empty for a category whose scores are on a scale of the
            language.
        gaps: Language -> the score minus that in English of each system, on the passages of both.
        shared: Language -> number of passages that English has as well.
    """

    category: Category
    systems: Sequence[str]
    scores: Mapping[str, Sequence[Estimate]]
    means: Sequence[Estimate]
    gaps: Mapping[str, Sequence[Difference]]
    shared: Mapping[str, int]

    def worst(self, system: int) -> str:
        """Return the language in which a system, by its number, scores worst; empty if all scores are equal."""
        scores = {language: self.category.measure.sign * each[system].value for language, each in self.scores.items()}
        return min(scores, key=scores.__getitem__) if len({*scores.values()}) > 1 else ""


def compare_languages(boards: Mapping[str, Scoreboard]) -> list[LanguageScores]:
    """Compare languages by each category, and by each unit of a category that several of them have.

    Args:
        boards: Language -> the scores of its systems, with their draws; systems that miss a language are left out.
    """
    first = next(iter(boards.values()))
    common = set(first.pool.systems).intersection(*(board.pool.systems for board in boards.values()))
    systems = [name for name in first.pool.systems if name in common]
    groups: dict[tuple[str, str], list[str]] = {}
    for language, board in boards.items():
        for level, category in board.levels.items():
            groups.setdefault((level, category.unit), []).append(language)
    compared = []
    for (level, _), languages in groups.items():
        if len(languages) > 1 and systems:
            compared.append(_compare(level, {language: boards[language] for language in languages}, systems))
    return compared


def _list_passages(board: Scoreboard, level: str, systems: Sequence[str]) -> ScoreMatrix:
    """Return the scores of systems in a category; names are without the data set, so that translations share them.

    Every passage has a cluster, if only its own.
    """
    pool, names = board.pool, board.pool.clips[level]
    passages = tuple(map(drop_dataset, names))
    clusters = (drop_dataset(pool.clusters.get(name, name)) for name in names)
    raw = pool.raw[level][[pool.systems.index(system) for system in systems]]
    by_passage = dict(zip(passages, clusters, strict=True))
    return ScoreMatrix(tuple(systems), {level: passages}, {level: raw}, clusters=by_passage)


def _compare(level: str, boards: Mapping[str, Scoreboard], systems: Sequence[str]) -> LanguageScores:
    category, bars = next((board.levels[level], board.bars) for board in boards.values())
    how = {"draws": bars.draws, "seed": bars.seed} if bars else {"draws": 0}
    has_mean, sign = OWN_SCALE.isdisjoint(category.settings), category.measure.sign
    clips = {language: _list_passages(board, level, systems) for language, board in boards.items()}
    pairs = {
        language: sorted({*own.clips[level]} & {*clips[ENGLISH].clips[level]})
        for language, own in clips.items()
        if has_mean and ENGLISH in clips and language != ENGLISH
    }
    gaps = {}
    for language, shared in pairs.items():
        if shared:
            measured = _measure_gaps(level, clips[language], clips[ENGLISH], shared, **how)
            gaps[language] = [gap.map(sign) for gap in measured]
    means = [mean.map(sign) for mean in _average(level, [*clips.values()], **how)] if has_mean else []
    scores = {}
    for language, board in boards.items():
        scores[language] = [board.estimate(level, board.pool.systems.index(name)) for name in systems]
    return LanguageScores(category, systems, scores, means, gaps, {name: len(shared) for name, shared in pairs.items()})


def _measure_gaps(
    level: str, own: ScoreMatrix, english: ScoreMatrix, shared: Sequence[str], *, draws: int, seed: int = 0
) -> list[Difference]:
    """Return the raw score of each system minus that in English, over shared passages; p is of paired permutations."""
    raw = np.concatenate([side.raw[level][:, [*map(side.clips[level].index, shared)]] for side in (own, english)])
    systems = len(own.systems)
    defined = np.tile(~np.isnan(raw[:systems] + raw[systems:]), (2, 1))
    pairs = [(system, systems + system) for system in range(systems)]
    values = np.where(defined, raw, np.nan)
    differences = contrast(values, pairs, shared, english.clusters, draws=draws, seed=seed).differences
    return differences if draws else [difference._replace(p=np.nan) for difference in differences]


def _average(level: str, languages: Sequence[ScoreMatrix], *, draws: int, seed: int = 0) -> list[Estimate]:
    """Return the mean over languages of each system's raw score; a draw takes a passage in all its languages."""
    clips, clusters = [], {}
    for number, own in enumerate(languages):
        for passage in own.clips[level]:
            clips.append(f"{number}/{passage}")
            clusters[clips[-1]] = own.clusters[passage]
    ends = np.cumsum([len(own.clips[level]) for own in languages])[:-1]
    means = [mean_of_defined(own.raw[level]) for own in languages]

    def average(counts: np.ndarray) -> np.ndarray:
        parts = zip(np.split(counts, ends, axis=1), means, strict=True)
        return np.asarray(np.mean([mean(part) for part, mean in parts], axis=0))

    return resample(average, clips, clusters, draws=draws, seed=seed).estimates
