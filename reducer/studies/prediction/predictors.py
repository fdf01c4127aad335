"""Measure how well one number predicts failure: AUC, fit, calibration, and thresholds that catch failures.

The number is a metric, or a linear form of metrics such as `llm_semdist_eowl + 0.1*entity_wer`; nothing is evaluated.
The levels of SIQ are such numbers as well: does the one that counts most predict wrong answers worse than another?
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.bootstrap import Bars
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats import classifier
from speechiq.reducer.stats.bootstrap import Resampled, resample
from speechiq.reducer.stats.classifier import auc
from speechiq.reducer.stats.estimate import Estimate

#: AUC of a number that says nothing about failure.
CHANCE = 0.5
#: Shares of failures to catch.
CAUGHT = (0.8, 0.9, 0.95)
#: Fewest items of a bin of the calibration curve, and most bins.
BIN, BINS = 15, 10
FIX_FORM = "write metrics and numbers, such as 'llm_semdist_eowl + 0.1*entity_wer'"
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TERM = re.compile(rf"\s*(?P<sign>[+-]?)\s*(?:(?P<weight>{_NUMBER})\s*\*\s*)?(?P<name>[A-Za-z_]\w*)\s*")
OUTCOME = "apply"
#: Answers up to which 1000 bootstrap samples take less than half a second.
MOST_ANSWERS = 5_000


class Quality(NamedTuple):
    """Describe how well probabilities of failure agree with failures: ROC AUC, Efron's R2 and McFadden's R2."""

    auc: float
    efron: float
    mcfadden: float


class Threshold(NamedTuple):
    """Hold the strictest threshold that catches a share of the failures.

    Attributes:
        aim: The share of failures to catch.
        value: The threshold, in the unit of the metric; items that are as bad or worse are flagged.
        caught, false_alarms: Share of the failures and of the successes that are flagged.
    """

    aim: float
    value: float
    caught: float
    false_alarms: float


class Bin(NamedTuple):
    """Hold items of similar probability of failure: its mean by fits to other clips, share of failures, and count."""

    predicted: float
    observed: float
    items: int


class Predictor(NamedTuple):
    """Describe how well one number, a metric or a linear form, predicts failure.

    Attributes:
        direction: Which values are better, as the runs record it.
        auc: Area under the ROC curve, with its interval from draws of clips.
        in_sample: On the items that were fitted.
        validated: By fits to other clips.
        slope, intercept: Of the log-odds of failure by the value; NaN if separated.
        separated: Share of the items that a threshold separates without error.
        undefined: Of how many items the metric is undefined.
        by_system: System -> the AUC among its items; NaN if all fail or all succeed.
        thresholds: One per share of `CAUGHT`.
    """

    metric: str
    direction: Literal["higher", "lower"]
    auc: Estimate
    in_sample: Quality
    validated: Quality
    slope: float
    intercept: float
    separated: float
    undefined: int
    by_system: dict[str, float]
    calibration: list[Bin]
    thresholds: list[Threshold]

    @property
    def opposite(self) -> bool:
        """Return whether failures have better values than successes, by the interval of the AUC if there is one."""
        return (self.auc.value if math.isnan(self.auc.high) else self.auc.high) < CHANCE

    @property
    def remark(self) -> str:
        """Return that it points the other way or separates failures from successes; empty for an ordinary one."""
        found = []
        if self.opposite:
            found.append("opposite direction")
        if self.separated:
            share = "" if self.separated == 1 else f"{100 * self.separated:.0f} % "
            found.append(f"{share}separated")
        return ", ".join(found)

    def show(self, threshold: Threshold) -> str:
        """Return a threshold as a rule, such as `>= 0.25`."""
        return f"{'<=' if self.direction == 'higher' else '>='} {threshold.value:.4g}"


def judge_quality(failed: np.ndarray, probability: np.ndarray, area: float | None = None) -> Quality:
    """Return how well probabilities of failure agree with failures; without an area, the AUC is theirs."""
    area = float(classifier.auc(probability, failed)[0]) if area is None else area
    return Quality(area, classifier.efron(failed, probability), classifier.mcfadden(failed, probability))


def find_thresholds(values: np.ndarray, sign: float, failed: np.ndarray) -> list[Threshold]:
    """Return the strictest threshold for each share of `CAUGHT`.

    >>> thresholds = find_thresholds(np.array([0.0, 0.1, 0.2, 0.4]), -1.0, np.array([False, False, True, True]))
    >>> thresholds[0]
    Threshold(aim=0.8, value=0.2, caught=1.0, false_alarms=0.0)
    """
    from sklearn.metrics import roc_curve

    false_alarms, caught, risks = roc_curve(failed, -sign * values, drop_intermediate=False)
    places = [int(np.argmax(np.round(caught, 9) >= aim)) for aim in CAUGHT]
    return [
        Threshold(aim, float(-sign * risks[place]) + 0.0, float(caught[place]), float(false_alarms[place]))
        for aim, place in zip(CAUGHT, places, strict=True)
    ]


def list_bins(probability: np.ndarray, failed: np.ndarray) -> list[Bin]:
    """Return bins of about equally many items, from the lowest probability to the highest."""
    count = max(2, min(BINS, len(failed) // BIN))
    order = np.argsort(probability, kind="stable")
    return [
        Bin(float(probability[part].mean()), float(failed[part].mean()), len(part))
        for part in np.array_split(order, count)
        if len(part)
    ]


def read_form(text: str, known: Collection[str]) -> dict[str, float]:
    """Return metric -> its weight, for terms `METRIC` or `NUMBER*METRIC` of known metrics, joined by `+` and `-`.

    >>> read_form("eowl - 0.5*wer", ["eowl", "wer"])
    {'eowl': 1.0, 'wer': -0.5}
    """
    weights: dict[str, float] = {}
    place = 0
    while place < len(text) or not weights:
        term = _TERM.match(text, place)
        if term is None or (weights and not term["sign"]):
            raise SpeechIQError(f"--combine {text!r}", f"{text[place:].strip()!r} is not a term", FIX_FORM)
        name, weight = term["name"], float(term["sign"] + (term["weight"] or "1"))
        if name not in known:
            near = did_you_mean(name, known)
            raise SpeechIQError(f"--combine {text!r}", f"no metric {name!r}", f"{near}choose from {', '.join(known)}")
        if name in weights:
            raise SpeechIQError(f"--combine {text!r}", f"{name!r} is named twice", "add up its weights")
        if not 0 < abs(weight) < float("inf"):
            raise SpeechIQError(f"--combine {text!r}", f"the weight of {name!r} is {weight:g}", "write another number")
        weights[name] = weight
        place = term.end()
    if len(weights) < 2:
        raise SpeechIQError(f"--combine {text!r}", "one metric is not a combination", FIX_FORM)
    return weights


def show_form(weights: dict[str, float]) -> str:
    """Return a form as text; a weight of 1 is not written.

    >>> show_form({"eowl": 1.0, "wer": -0.5})
    'eowl - 0.5*wer'
    """
    terms = [
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):.3g}*'}{name}"
        for name, weight in weights.items()
    ]
    first, *others = terms
    return " ".join([first.replace("+ ", "").replace("- ", "-"), *others])


def add_predictive(scoreboard: Scoreboard) -> Scoreboard:
    """Return a scoreboard whose remarks have the lines of `compare_weights`."""
    return scoreboard._replace(remarks=scoreboard.remarks._replace(predictive=tuple(compare_weights(scoreboard))))


def compare_weights(scoreboard: Scoreboard) -> Iterator[str]:
    """Yield a line, and one with the figures, if the heaviest level predicts wrong answers worse beyond chance.

    An item is an answer of a system other than a control; a level predicts by the score of its clip. The AUCs are those
    of `siq study predict`, on the bootstrap samples of the scoreboard.
    """
    systems = [system for system in scoreboard.systems if not system.control]
    if not (scoreboard.has_siq and scoreboard.scale and scoreboard.bars and systems):
        return
    weights = scoreboard.scale.weights
    heaviest, *levels = sorted(weights, key=lambda level: -weights[level])
    if heaviest == OUTCOME:
        return
    levels = [heaviest, *(level for level in levels if level != OUTCOME)]
    sampled = _draw_aucs(systems, levels, scoreboard.pool.clusters, scoreboard.bars)
    names = [scoreboard.levels[level].unit.removesuffix("%").strip() for level in levels]
    places = range(1, len(levels)) if sampled else ()
    better = [names[place] for place in places if sampled and sampled.difference(place, 0).side == 1]
    if sampled and better:
        verb = "predicts" if len(better) == 1 else "predict"
        share = f"{title(heaviest)} is {100 * weights[heaviest]:.0f} % of SIQ"
        yield f"{share}; {' and '.join(better)} {verb} wrong answers better"
        shown = ", ".join(f"{name} {value:.3f}" for name, value in zip(names, sampled.values[0], strict=True))
        yield f"AUC of wrong answers (0.5 is chance): {shown}; siq study predict tests all metrics"


def _draw_aucs(
    systems: Sequence[System], levels: Sequence[str], clusters: Mapping[str, str], bars: Bars
) -> Resampled | None:
    """Return the AUC of each level in bootstrap samples; None if there is none, or too much to draw."""
    columns: dict[str, list[float]] = {level: [] for level in (OUTCOME, *levels)}
    names: list[str] = []
    for system in systems:
        asked = [item[:1] for item in system.scores[OUTCOME]]
        names += [clip for (clip,) in asked]
        columns[OUTCOME] += system.scores[OUTCOME].values()
        for level in levels:
            columns[level] += [system.scores[level].get(clip, np.nan) for clip in asked]
    rows, clips = np.array([*columns.values()]), np.array(names)
    known = ~np.isnan(rows).any(axis=0)
    answers, risks = rows[0, known], -rows[1:, known]
    failed = answers < 0.5
    if not 0 < failed.sum() < len(failed) <= MOST_ANSWERS:
        return None
    return resample(
        lambda counts: np.stack([auc(risk, failed, counts) for risk in risks], axis=1),
        clips[known],
        clusters,
        draws=bars.draws,
        seed=bars.seed,
    )
