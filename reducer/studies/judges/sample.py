"""Choose the judged answers that a person scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from speechiq.reducer.runs.judged import JudgedRow


def choose(answers: Sequence[JudgedRow], count: int, seed: int) -> list[JudgedRow]:
    """Return some answers in random order, every answer with the same chance to be among them.

    They are spread evenly over systems, tasks and scores of the judge: every k-th answer in that order. With equal
    chances no weights are needed: the mean difference of person and judge in the sample estimates that of all answers.

    Args:
        answers: Answers with a score of the judge.
        count: How many; all of them if there are fewer.
        seed: Equal seeds choose equal answers.
    """
    random = np.random.default_rng(seed)
    ties = random.random(len(answers))
    by_id = sorted(answers, key=lambda answer: answer.id)
    order = sorted(
        range(len(by_id)), key=lambda i: (by_id[i].task.system, by_id[i].task.task, by_id[i].stored.points, ties[i])
    )
    count = min(count, len(order))
    places = (np.arange(count) + random.random()) * len(order) / max(count, 1)
    chosen = [by_id[order[int(place)]] for place in places]
    return [chosen[i] for i in random.permutation(count)]
