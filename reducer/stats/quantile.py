"""Give quantiles as a statistic of the bootstrap."""

from collections.abc import Sequence

import numpy as np

from speechiq.reducer.stats.bootstrap import Statistic

#: What rounding of a share of counts may add to it.
ROUNDING = 1e-9


def quantiles(values: np.ndarray, shares: Sequence[float]) -> Statistic:
    """Return the statistic of the smallest values that at least these shares of the items do not exceed.

    >>> quantiles(np.array([3.0, 1.0, 2.0, 4.0]), [0.5, 0.95])(np.array([[1, 1, 1, 1], [0, 4, 0, 0]])).tolist()
    [[2.0, 4.0], [1.0, 1.0]]
    """
    order = np.argsort(values)
    ranked = values[order]

    def statistic(counts: np.ndarray) -> np.ndarray:
        below = counts[:, order].cumsum(axis=1)
        places = [(below < share * below[:, -1:] - ROUNDING).sum(axis=1) for share in shares]
        drawn: np.ndarray = ranked[np.stack(places, axis=1)]
        return drawn

    return statistic
