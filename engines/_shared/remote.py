"""Call a model behind an OpenAI-compatible endpoint; the engines that do so share this code."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import soundfile
from msgspec import Meta

from speechiq.core.batches import OnResult, drop, run_concurrently
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.console import progress_bar
from speechiq.core.endpoint.client import RETRIES, TIMEOUT, Advice, Endpoint
from speechiq.core.endpoint.replies import NoAnswer
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import decode
from speechiq.core.recordings.inspection import SHORTEST_S, inspect, warn_once
from speechiq.engines._shared.chunking import read_chunks
from speechiq.engines.options import DAY_S, UNIT, ChunkSeconds, Count, Options

CONCURRENT = 8
Voice = Annotated[str, Meta(description="Voice of the model.")]
AudioFormat = Annotated[
    Literal["wav", "flac", "mp3", "opus"], Meta(description="Format of the audio that the endpoint sends.")
]
#: Prefix of a stage -> its own option for the most tokens of an answer.
LENGTHS = {"ger_": "ger_max_gen_toks", "judge_": "judge_max_gen_toks", "reader_": "reader_max_gen_toks"}

Item = TypeVar("Item")
Result = TypeVar("Result")


class EndpointOptions(Options, frozen=True, kw_only=True):
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


class AudioEndpointOptions(EndpointOptions, frozen=True, kw_only=True):
    """Define the options of an engine that sends audio to an endpoint."""

    max_audio_s: Annotated[
        ChunkSeconds | None,
        Meta(description="Longest chunk that the model takes; without it no clip is split and coverage is unknown."),
    ] = None


class RemoteModel:
    """Call a model from several threads, after a first check; chunks of audio have at most `max_audio_s` seconds."""

    def __init__(self, model: str, options: EndpointOptions, prefix: str, max_audio_s: float | None = None) -> None:
        if not model:
            raise SpeechIQError("system openai", "no model", "write openai:MODEL, with its name at the endpoint")
        self.model, self.prefix, self.workers, self.max_audio_s = model, prefix, options.num_concurrent, max_audio_s
        self.endpoint = Endpoint(
            model,
            options.base_url,
            key_variable=options.key_variable,
            timeout=options.timeout,
            max_retries=options.max_retries,
            advice=Advice(
                f"{prefix}base_url",
                f"a larger {prefix}timeout or a smaller {prefix}num_concurrent",
                f"shorter chunks of audio, {prefix}max_audio_s=SECONDS",
                LENGTHS.get(prefix, "--gen_kwargs max_gen_toks"),
            ),
        )
        self.endpoint.check()

    def run(
        self, items: Sequence[Item], ask: Callable[[Item], Result], verb: str, unit: str, on_result: OnResult = drop
    ) -> list[Result]:
        """Return the result of `ask` for each item, several at a time; `verb` and `unit` are for the progress bar."""
        with progress_bar(total=len(items), verb=f"{self.endpoint.name} {verb}", unit=unit) as progress:
            return run_concurrently(items, ask, workers=self.workers, progress=progress, on_result=on_result)

    def encode(self, clip: Clip, container: str) -> Iterator[bytes]:
        """Yield the clip as files, split at pauses if it is longer than `max_audio_s`; it is decoded block by block."""
        if self.max_audio_s is None:
            yield encode(clip.blocks(), container)
        else:
            for chunk in read_chunks(clip, self.max_audio_s):
                yield encode([chunk], container)

    @property
    def coverage(self) -> float:
        """Return the share of a clip that the model processes; unknown (NaN) if clips are sent undivided."""
        return math.nan if self.max_audio_s is None else 1.0

    def describe(self) -> dict[str, Any]:
        """Return the model, the address and the longest chunk, if clips are split."""
        limit = {"max_audio_s": self.max_audio_s} if self.max_audio_s else {}
        return {"model": self.model, "base_url": self.endpoint.address, **limit}


def encode(blocks: Iterable[np.ndarray], container: str) -> bytes:
    """Return audio (parts of float32, mono, 16 kHz) as the bytes of a file, `WAV` or `FLAC`, of 16 bits per sample."""
    file = BytesIO()
    with soundfile.SoundFile(file, "w", SAMPLING_RATE, channels=1, format=container, subtype="PCM_16") as sound:
        for block in blocks:
            sound.write(block)
    return file.getvalue()


def read_audio(content: bytes, name: str) -> np.ndarray:
    """Return the samples in an audio file that a server sent: float32, shape (samples,), mono, 16 kHz.

    Raises:
        NoAnswer: the file is empty, or shorter than any speech.
        ValueError: it is not readable as audio.
    """
    if not content:
        raise NoAnswer("sent no audio (an empty reply)")
    try:
        found = inspect(content, "its reply")
        samples = decode(content, 0.0, found.duration)
    except SpeechIQError as error:
        raise ValueError(str(error).partition(";")[0]) from error
    if found.duration < SHORTEST_S:
        raise NoAnswer(f"sent no speech (its audio has {found.duration:g} s)")
    for warning in found.warnings:
        warn_once(name, warning)
    return samples
