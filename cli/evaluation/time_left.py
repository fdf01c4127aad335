"""Estimate how long the rest of an evaluation takes, from the systems that are finished."""

import time
from collections.abc import Sequence

from speechiq.harness_patch.inventory import SystemWork


class TimeLeft:
    """Estimate the seconds that the systems of an evaluation, in their order, still take; the first of them has begun.

    A system takes the time of its start and of its rows. The first is that of finished systems that had nothing to
    compute, such as controls; the second is that of the others, in proportion to the share of rows to compute.
    """

    def __init__(self, work: Sequence[SystemWork]) -> None:
        self.shares = [_share_to_compute(system) for system in work]
        self.seconds: list[float] = []
        self.begun = time.monotonic()

    def end(self, *, failed: bool = False) -> str:
        """Note that a system has ended, and return its seconds and the estimate in words; a failure shows no time."""
        seconds = time.monotonic() - self.begun
        if failed:
            self.shares.pop(len(self.seconds))
        else:
            self.seconds.append(seconds)
        self.begun = time.monotonic()
        return "; ".join(filter(None, [f"{seconds:.0f} s", self.describe()]))

    def estimate(self) -> float | None:
        """Return the seconds to the end; None if no finished system shows how long the others take."""
        rest = [self._estimate_one(share) for share in self.shares[len(self.seconds) :]]
        known = [seconds for seconds in rest if seconds is not None]
        if not known or len(known) < len(rest):
            return None
        running = max(known[0] - (time.monotonic() - self.begun), 0)
        return running + sum(known[1:])

    def describe(self) -> str:
        """Return the estimate in words; empty if there is none."""
        seconds = self.estimate()
        return "" if seconds is None else f"about {in_words(seconds)} left"

    def _estimate_one(self, share: float) -> float | None:
        finished = list(zip(self.shares, self.seconds, strict=False))
        starts = [seconds for done, seconds in finished if not done]
        start = sum(starts) / len(starts) if starts else 0.0
        computed = sum(done for done, _ in finished)
        if not (computed if share else finished):
            return None
        computing = sum(max(seconds - start, 0) for done, seconds in finished if done)
        return start + (computing / computed * share if share else 0.0)


def in_words(seconds: float) -> str:
    """Return a time with the digits that an estimate deserves.

    >>> in_words(3), in_words(47), in_words(200), in_words(9000)
    ('10 s', '50 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(10 * round(seconds / 10), 10)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _share_to_compute(work: SystemWork) -> float:
    """Return which share of its rows a system has to compute; of later stages nothing is known before the first."""
    if work.complete or not work.stages:
        return 0.0
    stage = work.stages[-1]
    return (stage.rows - stage.cached) / stage.rows
