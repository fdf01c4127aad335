"""A model behind an OpenAI-compatible endpoint: what the engines that call one share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Annotated, Any, TypeVar

import numpy as np
import soundfile
from msgspec import Meta

from speechiq.core.advice import Advice
from speechiq.core.batches import OnResult, drop, run_concurrently
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.endpoint import RETRIES, TIMEOUT, Endpoint
from speechiq.core.errors import SpeechIQError
from speechiq.core.progress import progress_bar
from speechiq.engines._shared.windows import split
from speechiq.engines.options import DAY_S, UNIT, ChunkSeconds, Count, Options

CONCURRENT = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


class Calling(Options, frozen=True, kw_only=True):
    """Define the options of every engine that calls an endpoint; see `Endpoint`."""

    base_url: Annotated[
        str | None, Meta(description="URL of the API; without it the one in OPENAI_BASE_URL, or OpenAI.")
    ] = None
    key_variable: Annotated[
        str | None, Meta(description="Environment variable that contains the key; without it OPENAI_API_KEY.")
    ] = None
    num_concurrent: Annotated[Count, Meta(description="Most calls at the same time.")] = CONCURRENT
    timeout: Annotated[
        float,
        Meta(
            ge=0.01,
            le=DAY_S,
            extra={UNIT: "seconds"},
            description="Limit of one call, from the connection to the last byte of the reply.",
        ),
    ] = TIMEOUT
    max_retries: Annotated[int, Meta(ge=0, description="Most new tries of a call that failed.")] = RETRIES


class CallingWithAudio(Calling, frozen=True, kw_only=True):
    """Define the options of an engine that sends audio to an endpoint."""

    longest: Annotated[
        ChunkSeconds | None,
        Meta(description="Longest chunk that the model takes; without it no clip is split and coverage is unknown."),
    ] = None


class Remote:
    """The model, asked by several threads; somebody answers there, or it cannot be built.

    Args:
        model: as the endpoint calls it.
        calling: how it is called.
        prefix: what the names of the stage's options begin with, for the errors.
        longest: seconds of audio that the model takes in one piece; without it clips are sent whole.

    Attributes:
        length: the option that sets the most tokens of an answer, for the errors.

    Raises:
        SpeechIQError: no key, or nobody at the address.
    """

    def __init__(self, model: str, calling: Calling, prefix: str, longest: float | None = None) -> None:
        if not model:
            raise SpeechIQError("pretrained=openai: no model; write openai:MODEL, as the endpoint calls it")
        self.model, self.prefix, self.workers, self.longest = model, prefix, calling.num_concurrent, longest
        self.length = "ger_max_gen_toks" if prefix == "ger_" else "--gen_kwargs max_gen_toks"
        self.endpoint = Endpoint(
            model,
            calling.base_url,
            key_variable=calling.key_variable,
            timeout=calling.timeout,
            max_retries=calling.max_retries,
            advice=Advice(
                f"{prefix}base_url",
                f"a larger {prefix}timeout or a smaller {prefix}num_concurrent",
                f"pieces of audio that are shorter, {prefix}longest=SECONDS",
                self.length,
            ),
        )
        self.endpoint.check()

    def run(
        self, items: Sequence[Item], ask: Callable[[Item], Result], verb: str, unit: str, on_result: OnResult = drop
    ) -> list[Result]:
        """`ask` of each item, several at a time."""
        with progress_bar(total=len(items), verb=f"{self.endpoint.name} {verb}", unit=unit) as progress:
            return run_concurrently(items, ask, workers=self.workers, progress=progress, on_result=on_result)

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
