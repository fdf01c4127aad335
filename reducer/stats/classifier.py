"""Predict a binary outcome from numbers: AUC on draws, logistic regression, and fits to other clusters."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

FOLDS = 10
#: Log-odds of which the probability rounds to 1.
CERTAIN = 1000.0
#: Distance from the separating plane, in standard deviations, below which an item is on it.
ON_PLANE = 1e-7


class Fit(NamedTuple):
    """Hold a logistic regression on some items.

    Attributes:
        coefficients, intercept: NaN if they do not exist because a threshold separates the items.
        separated: Share of the items that a threshold separates; 0 for an ordinary fit, 1 if all are separated.
    """

    probability: np.ndarray
    coefficients: np.ndarray
    intercept: float
    separated: float


def auc(risk: np.ndarray, failed: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Return the probability that a failure has a higher risk than a success, shape (draws,); ties count half.

    With counts this is scikit-learn's `roc_auc_score` for each draw, in one pass over all draws. It is NaN for a draw
    without failures or without successes.

    Args:
        risk, failed: A number of each item, and whether it failed, shape (items,).
        counts: How often each item counts, shape (draws, items); None counts each once.

    >>> auc(np.array([0.0, 0.5, 0.5, 1.0]), np.array([False, True, False, True])).tolist()
    [0.875]
    """
    counts = np.ones((1, len(risk))) if counts is None else counts
    order = np.argsort(risk, kind="stable")
    starts = np.unique(risk[order], return_index=True)[1]
    ordered = counts[:, order]
    failures = np.add.reduceat(ordered * failed[order], starts, axis=1)
    successes = np.add.reduceat(ordered * ~failed[order], starts, axis=1)
    below = np.cumsum(successes, axis=1) - successes / 2
    pairs = failures.sum(axis=1) * successes.sum(axis=1)
    right = (failures * below).sum(axis=1)
    return np.asarray(np.divide(right, pairs, out=np.full(len(counts), np.nan), where=pairs > 0))


def fit(covariates: np.ndarray, failed: np.ndarray) -> Fit:
    """Fit by maximum likelihood, without regularization.

    If a plane separates failures from successes, the likelihood grows without limit as the coefficients do. The
    probabilities then go to 0 and 1 off the plane, and to the fit of the items that are on it; these limits are
    returned.

    Args:
        covariates: Shape (items, covariates).
        failed: Whether each item failed, shape (items,); both outcomes occur.

    >>> done = fit(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([False, False, True, True]))
    >>> done.separated, done.probability.tolist()
    (1.0, [0.0, 0.0, 1.0, 1.0])
    """
    certain = _separate(covariates, failed)
    if certain.any():
        probability, rest, left = failed.astype(float), ~certain, 0.0
        if 0 < failed[rest].sum() < rest.sum():
            tied = fit(covariates[rest], failed[rest])
            probability[rest], left = tied.probability, (1 - tied.separated) * float(rest.mean())
        return Fit(probability, np.full(covariates.shape[1], np.nan), math.nan, 1 - left)
    model = _model(tolerance=1e-12).fit(covariates, failed)
    scaler, regression = model[0], model[-1]
    coefficients = regression.coef_[0] / scaler.scale_
    intercept = float(regression.intercept_[0] - scaler.mean_ @ coefficients)
    return Fit(model.predict_proba(covariates)[:, 1], coefficients, intercept, 0.0)


def efron(failed: np.ndarray, probability: np.ndarray) -> float:
    """Return Efron's R2: 1 minus the squared error of the probabilities by that of the share of failures."""
    from sklearn.metrics import r2_score

    return float(r2_score(failed, probability))


def mcfadden(failed: np.ndarray, probability: np.ndarray) -> float:
    """Return McFadden's R2: 1 minus the log-likelihood by that of a model with only an intercept."""
    from sklearn.metrics import d2_log_loss_score

    return float(d2_log_loss_score(failed, probability))


def validate(covariates: np.ndarray, failed: np.ndarray, clusters: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    """Return the probability of failure of each item by a regression on the other folds, and the AUC of such fits.

    A cluster, such as a clip with all its items, is in one fold; `seed` is that of the folds.

    The AUC is over all pairs of a failure and a success, each by a regression on neither's fold. Probabilities of two
    fits are never compared: if a fold with many failures is left out, the fit to the others predicts fewer, so that
    over all folds a metric without any relation to failure has an AUC below 0.5. NaN without pairs.
    """
    from scipy.special import expit

    folds = _assign_folds(clusters, seed)
    log_odds = np.empty(len(failed))
    right = pairs = 0.0
    for one, other in combinations_with_replacement(range(folds.max() + 1), 2):
        out = (folds == one) | (folds == other)
        if out.all():
            continue
        risk = _predict(covariates[~out], failed[~out], covariates[out])
        if one == other:
            log_odds[out] = risk
        for fold_of_failures, fold_of_successes in {(one, other), (other, one)}:
            chosen = np.where(failed, folds == fold_of_failures, folds == fold_of_successes)[out]
            if count := int((chosen & failed[out]).sum() * (chosen & ~failed[out]).sum()):
                right += count * float(auc(risk[chosen], failed[out][chosen])[0])
                pairs += count
    return np.asarray(expit(log_odds)), right / pairs if pairs else math.nan


def _separate(covariates: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return which items lie off a plane that has no failure on its one side and no success on its other side.

    The plane is found by a linear program: no item may be on the wrong side, and the sum of distances is largest. If
    there is one, a coefficient is at its bound; smaller coefficients are rounding of the solver.
    """
    from scipy.optimize import linprog
    from sklearn.preprocessing import StandardScaler

    design = np.insert(StandardScaler().fit_transform(covariates), 0, 1.0, axis=1) * np.where(failed, 1, -1)[:, None]
    found = linprog(-design.sum(axis=0), A_ub=-design, b_ub=np.zeros(len(design)), bounds=(-1, 1), method="highs")
    plane = np.asarray(found.x, float)
    return np.asarray((design @ plane > ON_PLANE) & (np.abs(plane).max() > 0.5))


def _model(tolerance: float) -> Pipeline:
    """Return a regression that is not fitted, with the tolerance of its gradient."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), LogisticRegression(C=np.inf, solver="newton-cg", tol=tolerance, max_iter=1000)
    )


def _predict(covariates: np.ndarray, failed: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Fit on some items and return the log-odds of failure of others; all are certain if all items have one outcome."""
    if failed.all() or not failed.any():
        return np.full(len(others), CERTAIN if failed[0] else -CERTAIN)
    # Items of a fold may be separated: there the gradient is near 0 long before the coefficients are at an end.
    return np.asarray(_model(tolerance=1e-8).fit(covariates, failed).decision_function(others))


def _assign_folds(clusters: np.ndarray, seed: int) -> np.ndarray:
    """Return the fold of each item, from 0."""
    from sklearn.model_selection import GroupKFold

    folds = np.empty(len(clusters), int)
    splitter = GroupKFold(min(FOLDS, len(np.unique(clusters))), shuffle=True, random_state=seed)
    for fold, (_, items) in enumerate(splitter.split(folds, groups=clusters)):
        folds[items] = fold
    return folds
