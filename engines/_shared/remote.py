"""A model behind an OpenAI-compatible endpoint: what the engines that call one share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from io import BytesIO
from typing import Any, TypeVar

import numpy as np
import soundfile

from speechiq.core.batches import Keep, drop, run_concurrently
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.endpoints import RETRIES, TIMEOUT, Endpoint, Mends
from speechiq.core.errors import SpeechIQError
from speechiq.core.progress import progress_bar
from speechiq.engines._shared.windows import split

CONCURRENT = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Calling:
    """The options that an engine takes as `**calling`.

    Attributes:
        base_url, key_variable, timeout, max_retries: see `Endpoint`.
        num_concurrent: the most calls under way at a time.
        prefix: what these options begin with, for the errors.
    """

    base_url: str | None = None
    key_variable: str | None = None
    num_concurrent: int = CONCURRENT
    timeout: float = TIMEOUT
    max_retries: int = RETRIES
    prefix: str = ""

    @property
    def length(self) -> str:
        """What sets the most tokens of an answer."""
        return "ger_max_gen_toks" if self.prefix == "ger_" else "--gen_kwargs max_gen_toks"


OPTIONS = frozenset(field.name for field in fields(Calling)) - {"prefix"}
LEAST = {"num_concurrent": 1, "timeout": 0.01, "max_retries": 0, "longest": 1}


def check_numbers(prefix: str, options: Mapping[str, Any]) -> None:
    """Raise a `SpeechIQError` if one of the options of a call is not a number, or less than makes sense."""
    for name, least in LEAST.items():
        value = options.get(name, least)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
            raise SpeechIQError(f"{prefix}{name}={value}: not a number of {least} or more; give one")


class Remote:
    """The model, asked by several threads; somebody answers there, or it cannot be built.

    Args:
        model: as the endpoint calls it.
        calling: how it is called.
        longest: seconds of audio that the model takes in one piece; without it clips are sent whole.

    Raises:
        SpeechIQError: an option that is no such number, no key, or nobody at the address.
    """

    def __init__(self, model: str, calling: Calling, longest: float | None = None) -> None:
        prefix = calling.prefix
        if not model:
            raise SpeechIQError("pretrained=openai: no model; write openai:MODEL, as the endpoint calls it")
        named = {name: getattr(calling, name) for name in LEAST if name != "longest"}
        check_numbers(prefix, named | ({} if longest is None else {"longest": longest}))
        self.model, self.calling, self.workers, self.longest = model, calling, int(calling.num_concurrent), longest
        self.endpoint = Endpoint(
            model,
            calling.base_url,
            key_variable=calling.key_variable,
            timeout=calling.timeout,
            max_retries=int(calling.max_retries),
            mends=Mends(
                f"{prefix}base_url",
                f"a larger {prefix}timeout or a smaller {prefix}num_concurrent",
                f"pieces of audio that are shorter, {prefix}longest=SECONDS",
            ),
        )
        self.endpoint.check()

    def run(
        self, items: Sequence[Item], ask: Callable[[Item], Result], verb: str, unit: str, keep: Keep = drop
    ) -> list[Result]:
        """`ask` of each item, several at a time."""
        with progress_bar(total=len(items), verb=f"{self.endpoint.name} {verb}", unit=unit) as progress:
            return run_concurrently(items, ask, workers=self.workers, progress=progress, keep=keep)

    def pieces(self, clip: Clip) -> list[np.ndarray]:
        """The clip's samples, parted where it is longer than the model takes."""
        samples = clip.samples
        if self.longest is None:
            return [samples]
        return [samples[start:stop] for start, stop in split(samples, self.longest)]

    @property
    def coverage(self) -> float:
        """Return the share of a clip that the model is fed; unknown (NaN) if clips are sent whole."""
        return math.nan if self.longest is None else 1.0

    def describe(self) -> dict[str, Any]:
        return {"model": self.model, "base_url": self.endpoint.address, "longest": self.longest}


def encode(samples: np.ndarray, container: str) -> bytes:
    """Samples (mono, 16 kHz) as a file of 16-bit audio.

    Args:
        samples: shape (samples,).
        container: `WAV` or `FLAC`.
    """
    file = BytesIO()
    soundfile.write(file, samples, SAMPLING_RATE, format=container, subtype="PCM_16")
    return file.getvalue()
