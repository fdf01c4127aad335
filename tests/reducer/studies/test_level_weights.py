"""Where the heaviest level predicts wrong answers worse than another one."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.ranking import rank
from speechiq.reducer.studies.prediction.predictors import compare_weights

CLIPS = 40


def made_systems(clips: int = CLIPS) -> list[System]:
    """Return systems whose answers follow their word errors; the similarity of a clip is noise of small spread."""
    rng = np.random.default_rng(0)
    systems = []
    for number, skill in enumerate((0.9, 0.6, 0.3)):
        errors = np.clip(1 - skill + rng.normal(0, 0.2, clips), 0, 1)
        scores = {
            "remember": {(f"c{i}",): -float(error) for i, error in enumerate(errors)},
            "understand": {(f"c{i}",): 0.9 + float(noise) for i, noise in enumerate(rng.normal(0, 0.01, clips))},
            "apply": {(f"c{i}", "q"): float(rng.random() > error) for i, error in enumerate(errors)},
        }
        systems.append(System.of_scores(f"s{number}", scores, levels=LEVELS))
    return systems


def test_a_level_that_counts_most_and_predicts_worst_is_named():
    systems = made_systems()
    scoreboard = rank(systems, draws=200)
    weights = {level: scale.weight for level, scale in scoreboard.scale.levels.items()}
    line, figures = compare_weights(scoreboard)
    assert max(weights, key=weights.get) == "understand"
    assert line == f"Understand is {100 * weights['understand']:.0f} % of SIQ; WER predicts wrong answers better"
    answers = [(system, clip, score) for system in systems for (clip, _), score in system.scores["apply"].items()]
    for level, name in (("remember", "WER"), ("understand", "sim.")):
        risks = [-system.scores[level][clip,] for system, clip, _ in answers]
        assert f"{name} {roc_auc_score([score < 0.5 for *_, score in answers], risks):.3f}" in figures


def test_copies_of_a_clip_in_one_cluster_say_no_more_than_the_clip():
    once = made_systems(clips=8)
    copies = [
        System.of_scores(
            system.name,
            {
                level: {(f"{clip}/{i}", *rest): score for (clip, *rest), score in scores.items() for i in range(8)}
                for level, scores in system.scores.items()
            },
            levels=LEVELS,
            clusters={f"c{clip}/{i}": f"c{clip}" for clip in range(8) for i in range(8)},
        )
        for system in once
    ]
    assert not [*compare_weights(rank(once, draws=200))]
    assert not [*compare_weights(rank(copies, draws=200))]
    assert [*compare_weights(rank([system.cluster_by({}) for system in copies], draws=200))]


def test_nothing_is_said_without_intervals_failures_or_a_scale():
    systems = made_systems()
    assert not [*compare_weights(rank(systems, draws=0))]
    assert not [*compare_weights(rank(systems[:2], draws=200))]
    right = [
        System.of_scores(
            system.name, system.scores | {"apply": dict.fromkeys(system.scores["apply"], 1.0)}, levels=LEVELS
        )
        for system in systems
    ]
    assert not [*compare_weights(rank(right, draws=200))]
