"""Predict the quality of speech, as people rate it: a mean opinion score from 1 (bad) to 5 (excellent).

Networks that cannot work are refused before any system runs. Scores are cached on disk by the network's weights and the
content of the clip. The network is loaded only for new clips, and freed when they are rated. It predicts how speech
sounds, not whether its words are right.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import cached
from speechiq.core.checkpoints.names import resolve
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.console import progress_bar
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, hash_file, is_file
from speechiq.core.suggestions import did_you_mean
from speechiq.core.usage import measured, usage
from speechiq.metrics.models import open_cache

KEY, SHA256 = "speech_quality", "speech_quality_sha256"
DEFAULT, OFF = "distillmos", "off"
#: What can be written, for errors.
KNOWN = "distillmos, utmos:FILE, off"
DISTILLMOS = "demo:distillmos"
#: Length (s) below which nothing can be rated.
SHORTEST_S = 0.1
UTMOS_FILE = "utmos22_strong_step7459_v1.pt"
UTMOS_PAGE = "https://github.com/tarepan/SpeechMOS/releases/tag/v1.0.0"


class Network(Protocol):
    """Define a network that rates speech."""

    def rate(self, samples: np.ndarray) -> float:
        """Return the opinion score of one sound: float32, shape (samples,), mono, 16 kHz."""


class Rater(NamedTuple):
    """Describe a network that rates speech, not yet loaded; scores depend on name and sha256 of the file of weights."""

    name: str
    weights: Path
    sha256: str

    def load(self) -> Network:
        """Return the network on the CPU."""
        if self.name == "utmos":
            from speechiq.engines._shared.utmos import load as load_utmos

            return load_utmos(self.weights)
        from speechiq.engines._shared.distillmos import load

        return load(self.weights)


def read_rater(setting: Any) -> Rater | None:
    """Return what rates speech: `distillmos`, `utmos:FILE`, or None for `off`; refuse missing or damaged weights."""
    if setting == OFF:
        return None
    name, _, place = str(setting).partition(":")
    if name not in _FINDERS:
        raise SpeechIQError(
            f"{KEY}={setting!s:.80}", "unknown", f"{did_you_mean(name, [*_FINDERS, OFF])}known are {KNOWN}"
        )
    weights = _FINDERS[name](place)
    state = weights.stat()
    return Rater(name, weights, _hash(weights, state.st_size, state.st_mtime_ns))


def rater_of(doc: Mapping[str, Any]) -> Rater | None:
    """Return what rates the reply to a doc; refuse weights that changed since the doc was made."""
    rater = read_rater(doc["reply"][KEY])
    if rater is not None and rater.sha256 != doc[SHA256]:
        raise SpeechIQError(f"{KEY}={doc['reply'][KEY]}", "the file was changed during the run", "run it again")
    return rater


def speech_quality(clips: Sequence[Clip], rater: Rater) -> list[float]:
    """Return the predicted opinion score of each clip: 1 to 5, NaN for silence and for less than 0.1 s."""

    def compute(new: list[Clip], on_result: OnResult) -> None:
        network = rater.load()
        seconds = sum(clip.duration for clip in new)
        bar = progress_bar(total=len(new), verb=f"{rater.name} rating speech", unit="clip")
        with bar, measured("rating replies", seconds):
            for place, clip in enumerate(new):
                on_result([place], [rate(clip.samples, network)])
                usage["speech_ratings"] += 1
                bar.update()

    stage = {"stage": "speech quality", "model": rater.name, "weights_sha256": rater.sha256}
    rows = cached(open_cache(stage), clips, lambda clip: clip.key, compute, float | None)
    return [math.nan if row is None else float(row) for row in rows]


def rate(samples: np.ndarray, network: Network) -> float | None:
    """Return the score of samples (float32, mono, 16 kHz); None for silence, too few, or not finite values."""
    if len(samples) < SHORTEST_S * SAMPLING_RATE or not np.isfinite(samples).all() or not samples.any():
        return None
    score = network.rate(samples)
    return score if math.isfinite(score) else None


@cache
def _hash(file: Path, size: int, changed: int) -> str:
    """Return the sha256 of a file; it is read again if its size or time of change differs."""
    return hash_file(file)


def _find_distillmos(place: str) -> Path:
    if place:
        raise SpeechIQError(f"{KEY}=distillmos:{place}", "takes no file", f"write {KEY}=distillmos")
    file = Path(resolve(DISTILLMOS), "model.safetensors")
    if not is_file(file):
        raise SpeechIQError(KEY, f"{DISTILLMOS} was not fetched", "run `siq demo fetch distillmos` (16 MB)")
    return file


def _find_utmos(place: str) -> Path:
    if not place:
        raise SpeechIQError(
            f"{KEY}=utmos",
            "names no weights",
            f"download {UTMOS_FILE} from {UTMOS_PAGE} and write {KEY}=utmos:FOLDER/{UTMOS_FILE}",
        )
    from speechiq.engines._shared.utmos import check

    file = expand(place)
    check(file)
    return file


#: Name of a network -> what finds and checks the file of its weights.
_FINDERS: dict[str, Callable[[str], Path]] = {"distillmos": _find_distillmos, "utmos": _find_utmos}
