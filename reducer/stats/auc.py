"""Measure how well a number separates failures from successes: the area under the ROC curve, also on draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from speechiq.reducer.scores.draws import count_clips

#: Cells of the largest array of weights.
BLOCK_CELLS = 2**21


def auc(risk: np.ndarray, failed: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the probability that a failure has a higher risk than a success; ties count half.

    Args:
        risk: One number per item, shape (items,).
        failed: Whether each item failed, shape (items,).
        weights: How often each item counts, shape (draws, items); None counts each once.

    Returns:
        Shape (draws,); NaN for a draw without failures or without successes.

    >>> auc(np.array([0.0, 0.5, 0.5, 1.0]), np.array([False, True, False, True])).tolist()
    [0.875]
    """
    weights = np.ones((1, len(risk))) if weights is None else weights
    order = np.argsort(risk, kind="stable")
    starts = np.flatnonzero(np.diff(risk[order], prepend=np.nan) != 0)
    ordered = weights[:, order]
    failures = np.add.reduceat(ordered * failed[order], starts, axis=1)
    successes = np.add.reduceat(ordered * ~failed[order], starts, axis=1)
    below = np.cumsum(successes, axis=1) - successes / 2
    pairs = failures.sum(axis=1) * successes.sum(axis=1)
    right = (failures * below).sum(axis=1)
    return np.asarray(np.divide(right, pairs, out=np.full(len(weights), np.nan), where=pairs > 0))


def roc(risk: np.ndarray, failed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of successes and of failures at or above each threshold, from the strictest threshold on.

    >>> [share.tolist() for share in roc(np.array([0.0, 1.0, 2.0]), np.array([False, False, True]))]
    [[0.0, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0]]
    """
    order = np.argsort(-risk, kind="stable")
    last = np.flatnonzero(np.diff(risk[order], append=np.nan) != 0)
    shares = [np.append(0.0, np.cumsum(part[order])[last] / part.sum()) for part in (~failed, failed)]
    return shares[0], shares[1]


def draw_weights(groups: np.ndarray, draws: int, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each item is in each draw of groups with replacement, shape (some draws, items).

    Args:
        groups: Number of each item's group, from 0, such as its clip; items of a group are drawn together.
        draws: Number of draws.
        seed: Equal seeds give equal draws.
    """
    rows = max(1, BLOCK_CELLS // len(groups))
    for counts in count_clips(int(groups.max()) + 1, draws, seed):
        for start in range(0, len(counts), rows):
            yield counts[start : start + rows][:, groups]


def draw_aucs(
    risks: Iterable[np.ndarray], failed: np.ndarray, groups: np.ndarray, draws: int, seed: int = 0
) -> np.ndarray:
    """Return the AUC of several risks on the same draws of groups, shape (draws, risks); NaN as for `auc`.

    Args:
        risks: Each of shape (items,).
        failed: Whether each item failed.
        groups: As for `draw_weights`.
        draws: Number of draws.
        seed: Equal seeds give equal draws.
    """
    risks = list(risks)
    blocks = [
        np.column_stack([auc(risk, failed, weights) for risk in risks]) for weights in draw_weights(groups, draws, seed)
    ]
    return np.concatenate(blocks)


def p_value(differences: np.ndarray) -> float:
    """Return the two-sided p-value of a difference from its draws: how often they are on the rarer side of 0, twice.

    >>> p_value(np.array([0.1] * 38 + [-0.1])), p_value(np.zeros(9))
    (0.1, 1.0)
    """
    rarer = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(differences) + 1))
