"""Sum values over clusters, the units that a sample has drawn: calls, speakers or passages, or else single clips."""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

#: Clip -> its cluster, for clips of which none is in one.
NO_CLUSTERS: Mapping[Any, str] = MappingProxyType({})


def number_clusters(clips: Sequence[Hashable], clusters: Mapping[Any, str] = NO_CLUSTERS) -> np.ndarray:
    """Return the number of the cluster of each item, from 0.

    Args:
        clips: The clip of each item.
        clusters: Clip -> its cluster; a clip without one is a cluster of its own.

    Clusters are in the order of their first clips, so that clusters of one clip have the numbers of their clips.

    >>> number_clusters(["c", "b", "a", "c"], {"a": "call", "c": "call"}).tolist()
    [0, 1, 0, 0]
    """
    names, place = np.unique(np.asarray(clips), return_inverse=True)
    if not clusters:
        return np.asarray(place)
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(clusters.get(clip, (clip,)), len(numbers)) for clip in names.tolist()]
    return np.array(places)[place]


def sum_clusters(values: np.ndarray, clusters: np.ndarray, count: int | None = None) -> np.ndarray:
    """Return the sums over clusters, shape (..., clusters), of values of shape (..., items).

    Args:
        values: The values; those of items that share no cluster are returned to the last bit.
        count: Number of clusters, also those without an item; None means that the last has an item.

    >>> sum_clusters(np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1])).tolist()
    [2.0, 5.0]
    """
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    sums = np.zeros((*values.shape[:-1], int(clusters.max()) + 1 if count is None else count))
    sums[..., clusters[order][starts]] = np.add.reduceat(values[..., order], starts, axis=-1)
    return sums
