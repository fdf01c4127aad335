"""Predict the quality of speech, as people rate it: a mean opinion score from 1 (bad) to 5 (excellent) by DistillMOS.

Scores are cached on disk by the content of the clip; the model is loaded only for new clips. It was trained on voices
in calls, and it predicts how speech sounds, not whether its words are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from speechiq.core.batches import OnResult
from speechiq.core.checkpoints import resolve
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.identity import identity
from speechiq.core.progress import progress_bar
from speechiq.core.stage_cache import StageCache, cached
from speechiq.core.store import store_folder
from speechiq.core.usage import usage

if TYPE_CHECKING:
    from speechiq.engines._shared.distillmos import DistillMOS

MODEL = "demo:distillmos"
WEIGHTS = "model.safetensors"
#: Windows of a clip that are computed at once.
BATCH = 8
#: Length (s) below which nothing can be rated.
SHORTEST_S = 0.1


def speech_quality(clips: Sequence[Clip]) -> list[float]:
    """Return the predicted opinion score of each clip: 1 to 5, NaN for silence and for less than 0.1 s.

    Raises:
        SpeechIQError: The model was not fetched.
    """

    def compute(new: list[Clip], on_result: OnResult) -> None:
        model = load_model()
        with progress_bar(total=len(new), verb="rating speech", unit="clip") as bar:
            for place, clip in enumerate(new):
                on_result([place], [rate(clip.samples, model)])
                usage["speech_ratings"] += 1
                bar.update()

    rows = cached(_stage_cache(store_folder()), clips, lambda clip: clip.key, compute, float | None)
    return [math.nan if row is None else float(row) for row in rows]


@cache
def _stage_cache(folder: Path | None) -> StageCache:
    return StageCache({"stage": "speech quality", "model": MODEL, **identity(MODEL)}, folder)


def check_model() -> None:
    """Refuse to rate speech without the model, before a system runs.

    Raises:
        SpeechIQError: The model was not fetched.
    """
    if not Path(resolve(MODEL), WEIGHTS).is_file():
        raise SpeechIQError(f"speech quality: {MODEL} was not fetched; run `siq demo fetch distillmos` (16 MB)")


@lru_cache(maxsize=1)
def load_model() -> DistillMOS:
    """Return the model on the CPU.

    Raises:
        SpeechIQError: It was not fetched.
    """
    from safetensors.torch import load_file

    from speechiq.engines._shared.distillmos import DistillMOS

    check_model()
    model = DistillMOS()
    model.load_state_dict(load_file(Path(resolve(MODEL), WEIGHTS)))
    return model.eval()


def rate(samples: np.ndarray, model: DistillMOS) -> float | None:
    """Return the mean score of the windows of a sound; None for silence and for less than `SHORTEST_S`.

    Args:
        samples: float32, shape (samples,), mono, 16 kHz.
        model: From `load_model`.
    """
    import torch

    from speechiq.engines._shared.distillmos import cut_windows

    if len(samples) < SHORTEST_S * 16_000 or not np.isfinite(samples).all() or not samples.any():
        return None
    with torch.inference_mode():
        scores = [model(windows) for windows in torch.split(cut_windows(samples), BATCH)]
    return float(torch.cat(scores).mean())
