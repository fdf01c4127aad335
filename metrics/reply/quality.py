"""Predict the quality of speech, as people rate it: a mean opinion score from 1 (bad) to 5 (excellent).

Scores are cached on disk by the rater's weights and the content of the clip. The network is loaded only for new clips,
and freed when they are rated. It predicts how speech sounds, not whether its words are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.cache.store import store_folder
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.progress import progress_bar
from speechiq.core.usage import measured, usage
from speechiq.metrics.reply.rater import Network, Rater

#: Length (s) below which nothing can be rated.
SHORTEST_S = 0.1


def speech_quality(clips: Sequence[Clip], rater: Rater) -> list[float]:
    """Return the predicted opinion score of each clip: 1 to 5, NaN for silence and for less than 0.1 s.

    Args:
        clips: Spoken replies, or any speech.
        rater: From `read_rater`.

    Raises:
        SpeechIQError: The file of the rater's weights has changed.
    """

    def compute(new: list[Clip], on_result: OnResult) -> None:
        network = rater.load()
        seconds = sum(clip.duration for clip in new)
        bar = progress_bar(total=len(new), verb=f"{rater.name} rating speech", unit="clip")
        with bar, measured("rating replies", seconds):
            for place, clip in enumerate(new):
                on_result([place], [rate(clip.samples, network)])
                usage["speech_ratings"] += 1
                bar.update()

    stage_cache = _stage_cache(rater.name, rater.sha256, store_folder())
    rows = cached(stage_cache, clips, lambda clip: clip.key, compute, float | None)
    return [math.nan if row is None else float(row) for row in rows]


@cache
def _stage_cache(name: str, sha256: str, folder: Path | None) -> StageCache:
    return StageCache({"stage": "speech quality", "model": name, "weights_sha256": sha256}, folder)


def rate(samples: np.ndarray, network: Network) -> float | None:
    """Return the score of a sound; None for silence, for less than `SHORTEST_S`, and for values that are not finite.

    Args:
        samples: float32, shape (samples,), mono, 16 kHz.
        network: From `Rater.load`.
    """
    if len(samples) < SHORTEST_S * SAMPLING_RATE or not np.isfinite(samples).all() or not samples.any():
        return None
    score = network.rate(samples)
    return score if math.isfinite(score) else None
