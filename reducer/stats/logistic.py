"""Fit logistic regressions, also where failures and successes are separated and no coefficient exists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

STEPS, HALVINGS = 100, 30
TOLERANCE, ROUNDING = 1e-11, 1e-10
#: Distance from the separating plane, in standard deviations, below which an item is on it.
ON_PLANE = 1e-7


class Fit(NamedTuple):
    """A fitted regression.

    Attributes:
        probability: Probability of failure of each item.
        coefficients: One per covariate; NaN if they do not exist because a threshold separates the items.
        intercept: NaN in the same case.
        separated: Share of the items that a threshold separates; 0 for an ordinary fit, 1 if all are separated.
    """

    probability: np.ndarray
    coefficients: np.ndarray
    intercept: float
    separated: float


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
    spread = covariates.std(axis=0)
    varying = spread > 0
    scaled = (covariates - covariates.mean(axis=0))[:, varying] / spread[varying]
    off_plane = _separated(scaled, failed)
    if off_plane.any():
        probability, rest, left = failed.astype(float), ~off_plane, 0.0
        if 0 < failed[rest].sum() < rest.sum():
            on_plane = fit(covariates[rest], failed[rest])
            probability[rest], left = on_plane.probability, (1 - on_plane.separated) * float(rest.mean())
        return Fit(probability, np.full(len(spread), np.nan), np.nan, 1 - left)
    solution = _newton(scaled, failed)
    coefficients = np.zeros(len(spread))
    coefficients[varying] = solution[1:] / spread[varying]
    intercept = float(solution[0] - covariates.mean(axis=0) @ coefficients)
    return Fit(_probabilities(_with_ones(scaled), solution), coefficients, intercept, 0.0)


def predict(fitted: np.ndarray, failed: np.ndarray, covariates: np.ndarray) -> np.ndarray:
    """Fit on some items and return the probability of failure of others; for separated items, of the last step.

    Args:
        fitted: Covariates of the items of the fit, shape (items, covariates).
        failed: Whether these failed.
        covariates: Those of the other items, shape (others, covariates).
    """
    from scipy.special import expit

    if failed.all() or not failed.any():
        return np.full(len(covariates), float(failed[0]))
    return np.asarray(expit(predict_log_odds(fitted, failed, covariates)))


def predict_log_odds(fitted: np.ndarray, failed: np.ndarray, covariates: np.ndarray) -> np.ndarray:
    """Fit on some items and return the log-odds of failure of others, which do not round to equal values as `predict`.

    Args:
        fitted: As for `predict`.
        failed: As for `predict`; if all items have one outcome, others differ in nothing and have 0.
        covariates: As for `predict`.
    """
    if failed.all() or not failed.any():
        return np.zeros(len(covariates))
    mean, spread = fitted.mean(axis=0), fitted.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    solution = _newton((fitted - mean) / spread, failed)
    return np.asarray(_with_ones((covariates - mean) / spread) @ solution)


def efron(failed: np.ndarray, probability: np.ndarray) -> float:
    """Return Efron's R2: 1 minus the squared error of the probabilities by that of the share of failures."""
    error = ((failed - probability) ** 2).sum()
    return float(1 - error / ((failed - failed.mean()) ** 2).sum())


def mcfadden(failed: np.ndarray, probability: np.ndarray) -> float:
    """Return McFadden's R2: 1 minus the log-likelihood by that of a model with only an intercept."""
    share = np.full(len(failed), failed.mean())
    return float(1 - _log_likelihood(failed, probability) / _log_likelihood(failed, share))


def _log_likelihood(failed: np.ndarray, probability: np.ndarray) -> float:
    from scipy.special import xlog1py, xlogy

    return float((xlogy(failed, probability) + xlog1py(~failed, -probability)).sum())


def _probabilities(design: np.ndarray, solution: np.ndarray) -> np.ndarray:
    """Return the probability of failure of each item; scipy is imported when it is needed, as `siq` needs it rarely."""
    from scipy.special import expit

    return np.asarray(expit(design @ solution))


def _with_ones(covariates: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(covariates)), covariates])


def _newton(covariates: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return intercept and coefficients after Newton's steps, each halved until the likelihood does not fall."""
    design = _with_ones(covariates)
    solution = np.zeros(design.shape[1])
    likelihood = _log_likelihood(failed, _probabilities(design, solution))
    for _ in range(STEPS):
        probability = _probabilities(design, solution)
        gradient = design.T @ (failed - probability)
        hessian = (design * (probability * (1 - probability))[:, None]).T @ design
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        for _ in range(HALVINGS):
            value = _log_likelihood(failed, _probabilities(design, solution + step))
            if value >= likelihood - ROUNDING:
                break
            step /= 2
        solution, likelihood = solution + step, value
        if np.abs(step).max() < TOLERANCE:
            break
    return solution


def _separated(covariates: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return which items lie off a plane that has no failure on its one side and no success on its other side.

    The plane is found by a linear program: no item may be on the wrong side, and the sum of distances is largest. If
    there is one, a coefficient is at its bound; smaller coefficients are rounding of the solver.
    """
    from scipy.optimize import linprog

    design = _with_ones(covariates) * np.where(failed, 1.0, -1.0)[:, None]
    found = linprog(-design.sum(axis=0), A_ub=-design, b_ub=np.zeros(len(design)), bounds=(-1, 1), method="highs")
    plane = np.asarray(found.x, float)
    return np.asarray((design @ plane > ON_PLANE) & (np.abs(plane).max() > 0.5))
