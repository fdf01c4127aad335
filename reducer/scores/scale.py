"""Compute SIQ from raw scores: equations 3 to 8 of the paper's section 3.4.

A pool of systems sets a scale (`calibrate`: eqs. 3, 6 and the moments of eq. 5), on which systems are then
scored (`score`: eqs. 4, 5, 7, 8). In the paper both are the same systems. All moments are population
moments (ddof 0). Functions of arrays take any leading axes.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.score_matrix import ScoreMatrix

#: Of SIQ: its mean over systems, and points for a standard deviation.
MEAN, POINTS = 100, 15
EPSILON = 1e-6
#: Share of the largest score below which their spread is rounding, and a difference of two weights that is.
NEGLIGIBLE = 1e-12
#: Systems below which correlations between levels say little.
FEWEST_CORRELATED = 5

Spread = TypeVar("Spread", float, np.ndarray)


class NoSpread(SpeechIQError):
    """Report a level on which all systems tie, so that eq. 5 cannot be computed."""


DEFAULT_RULE, CORRELATION = "inverse-std", "correlation"
#: Rule -> level weights before they are scaled to sum to 1, from the standard deviation of a level's raw scores and
#: from its mean correlation with the other levels (`correlate_levels`).
RULES: dict[str, Callable[[Any, Any], Any]] = {
    DEFAULT_RULE: lambda std, agreement: 1 / (std + EPSILON),
    "inverse-variance": lambda std, agreement: 1 / (std**2 + EPSILON),
    CORRELATION: lambda std, agreement: np.maximum(agreement, 0) + EPSILON,
    "equal": lambda std, agreement: std**0,
}


def discrimination(raw: np.ndarray) -> np.ndarray:
    """Return how much each clip separates the systems (eq. 3): X_raw, shape (..., systems, clips), to V, (..., clips).

    Deviations are taken from the first system, which does not change the variance and makes it exactly 0
    if all systems agree.

    >>> discrimination(np.array([[0.0, 0.1], [1.0, 0.1]])).tolist()
    [0.25, 0.0]
    """
    return np.asarray((raw - raw[..., :1, :]).var(axis=-2))


VARIANCE, EQUAL = "variance", "equal"
#: Rule -> weights of clips, from raw scores: those of eq. 3, or none (SIQ_rm of Table 3).
CLIP_RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    VARIANCE: discrimination,
    EQUAL: lambda raw: np.ones_like(raw[..., 0, :]),
}


class Weighting(NamedTuple):
    """Hold the rules of a scale.

    Attributes:
        levels: Rule of the level weights, as for `share_out`.
        clips: Rule of the clip weights, a key of `CLIP_RULES`.
    """

    levels: str = DEFAULT_RULE
    clips: str = VARIANCE

    @classmethod
    def read(cls, levels: str | None, clips: str | None) -> Self:
        """Return the rules that a user gave, None for the default of each; refuse invalid ones.

        >>> Weighting.read("equal", None)
        Weighting(levels='equal', clips='variance')
        """
        rules = cls(levels or DEFAULT_RULE, clips or VARIANCE)
        share_out(dict.fromkeys(LEVELS, 1.0), rules.levels, dict.fromkeys(LEVELS, 1.0))
        if rules.clips not in CLIP_RULES:
            near = did_you_mean(rules.clips, CLIP_RULES)
            raise SpeechIQError(
                f"unknown rule of clip weights {clips!r}", fix=f"{near}choose {' or '.join(CLIP_RULES)}"
            )
        return rules

    @property
    def label(self) -> str:
        """Return the rule of the levels, with that of the clips unless it is the usual one.

        >>> Weighting().label, Weighting(clips=EQUAL).label
        ('inverse-std', 'inverse-std, equal clip weights')
        """
        return self.levels if self.clips == VARIANCE else f"{self.levels}, {self.clips} clip weights"


#: The rules of the paper: eqs. 3 and 6.
PAPER = Weighting()
#: The rules of a scale that changes nothing.
FLAT = Weighting("flat", EQUAL)


class LevelScale(NamedTuple):
    """Hold the scale of one level, from a pool of systems.

    Attributes:
        discrimination: V_i of eq. 3, or other clip weights (`CLIP_RULES`), shape (clips,).
        mean: Mean of X_j over the pool's systems.
        std: Standard deviation of X_j over the pool's systems, above 0.
        weight: w_f of eq. 6; the levels' weights sum to 1.
        spread: Standard deviation of all raw scores of the pool's systems, which eq. 6 divides by.
        agreement: Mean correlation of X_j with the other levels, from -1 to 1 (`correlate_levels`); NaN if not known.
    """

    discrimination: np.ndarray
    mean: float
    std: float
    weight: float
    spread: float
    agreement: float = math.nan

    @property
    def shares(self) -> np.ndarray:
        """Return V_i / sum V: each clip's share of the level's weight, shape (clips,)."""
        return np.asarray(self.discrimination / self.discrimination.sum())


class Scale(NamedTuple):
    """Hold the scale of a pool: the rules of its weights, and level -> its scale."""

    rule: Weighting
    levels: dict[str, LevelScale]

    @property
    def weights(self) -> dict[str, float]:
        """Return level -> its weight."""
        return {level: level_scale.weight for level, level_scale in self.levels.items()}

    def share_out(self, rule: str) -> dict[str, float]:
        """Return the weights that the levels have by a rule (`share_out`)."""
        spread = {level: level_scale.spread for level, level_scale in self.levels.items()}
        agreement = {level: level_scale.agreement for level, level_scale in self.levels.items()}
        return share_out(spread, rule, agreement)


class LevelScores(NamedTuple):
    """Hold the scores of all systems at one level: the mean raw score, X_j of eq. 4 (fractions), and Z_j of eq. 5."""

    raw: np.ndarray
    weighted: np.ndarray
    z: np.ndarray


class Scores(NamedTuple):
    """Hold all systems on one scale; `siq` has shape (systems,)."""

    scale: Scale
    levels: dict[str, LevelScores]
    siq: np.ndarray


def weighted_score(raw: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return each system's mean over clips, weighted by discrimination (eq. 4): X, shape (..., systems).

    A system's score does not depend on the other systems, to the last bit; `einsum` would sum in blocks that depend on
    them. Weights that are all zero give NaN.

    >>> weighted_score(np.array([[0.0, 0.5], [1.0, 0.5]]), np.array([0.25, 0.0])).tolist()
    [0.0, 1.0]
    """
    with np.errstate(invalid="ignore"):
        return np.asarray((raw * weights[..., None, :]).sum(axis=-1) / weights.sum(axis=-1)[..., None])


def correlate_levels(ability: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return each level's mean correlation with the other levels over systems: X_j, (..., systems), to (..., 1).

    It is the level's sum in the correlation matrix without the diagonal, to which the loadings on the first factor of
    the centroid method are proportional (Thurstone, Multiple Factor Analysis, 1931). NaN for fewer than
    `FEWEST_CORRELATED` systems, and if all systems tie; 0 for a level without others.

    >>> ranks = {"remember": np.arange(5.0), "apply": np.arange(5.0) ** 0.5, "understand": -np.arange(5.0)}
    >>> {level: round(float(mean[0]), 3) + 0.0 for level, mean in correlate_levels(ranks).items()}
    {'remember': -0.021, 'apply': 0.0, 'understand': -0.979}
    """
    units: dict[str, np.ndarray] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for level, scores in ability.items():
            far = scores - scores.mean(axis=-1, keepdims=True)
            units[level] = far / np.sqrt((far**2).sum(axis=-1, keepdims=True))
    total, others = sum(units.values()), max(len(units) - 1, 1)
    means = {}
    for level, unit in units.items():
        known = unit.shape[-1] >= FEWEST_CORRELATED
        means[level] = (unit * (total - unit)).sum(axis=-1, keepdims=True) / others * (1 if known else math.nan)
    return means


def share_out(
    spread: Mapping[str, Spread], rule: str, agreement: Mapping[str, Spread] = MappingProxyType({})
) -> dict[str, Spread]:
    """Return each level's weight from given standard deviations (eq. 6), and from correlations for `CORRELATION`.

    Args:
        spread: level -> standard deviation of all its raw scores, a number or an array of them.
        rule: A key of `RULES`: `inverse-std` is the rule of the paper's text, `inverse-variance` that of its tables; or
            the weights themselves, one number per level in the order of `spread`: `0.04,0.75,0.21`.
        agreement: level -> its mean correlation with the other levels, in the form of `spread`.

    Raises:
        SpeechIQError: The rule is unknown, or its numbers are not valid weights.

    >>> share_out({"remember": 0.5, "understand": 0.1, "apply": 0.2}, "1,2,1")["understand"]
    0.5
    >>> share_out({"remember": np.array([0.0, 1.0]), "apply": np.array([0.0, 1.0])}, "inverse-std")["apply"].tolist()
    [0.5, 0.5]
    """
    if rule in RULES:
        weights = {level: RULES[rule](std, agreement.get(level, math.nan)) for level, std in spread.items()}
    else:
        given = _read_weights(rule, list(spread))
        weights = {level: given[level] * std**0 for level, std in spread.items()}
    return {level: weight / sum(weights.values()) for level, weight in weights.items()}


def _read_weights(rule: str, levels: list[str]) -> dict[str, float]:
    choices = f"{', '.join(RULES)}, or one number each for {', '.join(levels)}, such as 0.04,0.75,0.21"
    try:
        weights = dict(zip(levels, map(float, rule.split(",")), strict=True))
    except ValueError as error:
        raise SpeechIQError(
            f"unknown rule of level weights {rule!r}", f"{did_you_mean(rule, RULES)}choose {choices}"
        ) from error
    if not (min(weights.values()) >= 0 < sum(weights.values()) < math.inf):
        raise SpeechIQError(
            f"level weights {rule!r}", "give finite numbers that are not negative, at least one of them above 0"
        )
    return weights


def combine(z: Mapping[str, np.ndarray], weights: Mapping[str, float | np.ndarray]) -> np.ndarray:
    """Return SIQ, shape (..., systems), from each level's Z and the level weights (eqs. 7 and 8).

    >>> combine({"remember": np.array([-1.0, 1.0])}, {"remember": 1.0}).tolist()
    [85.0, 115.0]
    """
    return np.asarray(MEAN + POINTS * sum(weights[level] * z[level] for level in z))


def competition_ranks(siq: np.ndarray) -> np.ndarray:
    """Return ranks from 1, shape (..., systems); equal systems share the best rank of their group.

    SIQ is compared to 9 decimals: smaller differences are rounding.

    >>> competition_ranks(np.array([90.0, 110.0, 110.0, 80.0])).tolist()
    [3, 1, 1, 4]
    """
    falling = -np.round(siq, 9)
    order = np.argsort(falling, axis=-1)
    ordered = np.take_along_axis(falling, order, axis=-1)
    is_new = np.ones(ordered.shape, bool)
    is_new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    places = np.maximum.accumulate(np.where(is_new, np.arange(ordered.shape[-1]), 0), axis=-1)
    ranks = np.empty_like(places)
    np.put_along_axis(ranks, order, 1 + places, axis=-1)
    return ranks


def calibrate(pool: ScoreMatrix, rule: Weighting = PAPER) -> Scale:
    """Return the scale that a pool of systems sets."""
    if len(pool.systems) < 2:
        raise SpeechIQError(
            "SIQ compares systems",
            f"a scale needs at least two, got {len(pool.systems)} ({', '.join(map(repr, pool.systems))})",
            "give the runs of other systems as well, or norms: --norms demo, or --norms FILE",
        )
    levels: dict[str, LevelScale] = {}
    ability: dict[str, np.ndarray] = {}
    for level, raw in pool.raw.items():
        levels[level], ability[level] = scale_level(level, raw, rule.clips)
    agreement = {level: float(mean[0]) for level, mean in correlate_levels(ability).items()}
    if rule.levels == CORRELATION and len(levels) > 1:
        _refuse_unrelated(agreement, len(pool.systems))
    weights = share_out({level: level_scale.spread for level, level_scale in levels.items()}, rule.levels, agreement)
    weighed = {}
    for level, level_scale in levels.items():
        weighed[level] = level_scale._replace(weight=float(weights[level]), agreement=agreement[level])
    return Scale(rule, weighed)


def _refuse_unrelated(agreement: Mapping[str, float], systems: int) -> None:
    """Raise a `SpeechIQError` if the levels of a pool have no weights by correlation."""
    fix = "give more systems, or choose another rule"
    if systems < FEWEST_CORRELATED:
        raise SpeechIQError(
            f"level weights by {CORRELATION}", f"{systems} systems, fewer than {FEWEST_CORRELATED}", fix
        )
    if max(agreement.values()) <= 0:
        shown = ", ".join(f"{level} {mean:.2f}" for level, mean in agreement.items())
        raise SpeechIQError(f"level weights by {CORRELATION}", f"no level correlates with the others ({shown})", fix)


def score(pool: ScoreMatrix, scale: Scale) -> Scores:
    """Score a pool's systems on a scale of the same clips."""
    levels = {level: score_level(pool.raw[level], level_scale) for level, level_scale in scale.levels.items()}
    siq = combine({level: scores.z for level, scores in levels.items()}, scale.weights)
    return Scores(scale, levels, siq)


def score_level(raw: np.ndarray, level_scale: LevelScale) -> LevelScores:
    """Score the systems of one level on its scale: X_raw, shape (systems, clips)."""
    weighted = weighted_score(raw, level_scale.discrimination)
    return LevelScores(raw.mean(axis=-1), weighted, (weighted - level_scale.mean) / level_scale.std)


def flat(pool: ScoreMatrix) -> Scale:
    """Return a scale that does not change raw scores: all clips and levels have equal weights."""
    even = 1 / len(pool.raw)
    levels = {level: LevelScale(np.ones(raw.shape[1]), 0.0, 1.0, even, 1.0) for level, raw in pool.raw.items()}
    return Scale(FLAT, levels)


def scale_level(level: str, raw: np.ndarray, rule: str) -> tuple[LevelScale, np.ndarray]:
    """Return the scale that the systems of one level set, without a weight, and X_j; raise `NoSpread` if all tie.

    `rule` is that of the clip weights.
    """
    clip_weights = CLIP_RULES[rule](raw)
    weighted = weighted_score(raw, clip_weights)
    if not np.ptp(weighted) > NEGLIGIBLE * np.abs(raw).max():
        raise NoSpread(
            f"level {level}",
            f"all {len(raw)} systems have the same score, so that eq. 5 divides 0 by 0 "
            "and the level does not separate them",
            "add a system that differs",
        )
    level_scale = LevelScale(clip_weights, float(weighted.mean()), float(weighted.std()), 0.0, float(raw.std()))
    return level_scale, weighted
