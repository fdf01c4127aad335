"""Count expensive work in this process, which makes work done twice visible, and measure its speed."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

#: Clips transcribed by a recognizer (`asr_clips`) or encoded by an audio encoder (`encoded_clips`), texts spoken
#: (`spoken_texts`), speech rated (`speech_ratings`), prompts prefilled (`prefills`), tokens generated
#: (`generated_tokens`), texts embedded (`embeddings`), draws of a judge (`judgments`), calls to endpoints (`calls`).
usage: Counter[str] = Counter()
#: Kind of work (`transcribing`, ...) -> seconds of audio, and seconds of work on them, without loading of models.
audio_seconds: Counter[str] = Counter()
work_seconds: Counter[str] = Counter()
_purpose: ContextVar[str | None] = ContextVar("_purpose", default=None)


@contextmanager
def counted_as(purpose: str) -> Iterator[None]:
    """Count the work inside the block as another kind (`judging`): an engine does not know what it works for."""
    token = _purpose.set(purpose)
    try:
        yield
    finally:
        _purpose.reset(token)


@contextmanager
def measured(kind: str, seconds: float = 0.0) -> Iterator[None]:
    """Measure the work inside the block on `seconds` of audio; work that fails is not counted.

    `kind` is that of the work, such as `transcribing`, unless it is `counted_as` another one.
    """
    kind = _purpose.get() or kind
    start = time.perf_counter()
    yield
    work_seconds[kind] += time.perf_counter() - start  # type: ignore[assignment] # a Counter of seconds
    audio_seconds[kind] += seconds  # type: ignore[assignment] # a Counter of seconds


class Work(NamedTuple):
    """Hold the work of processes: counts as in `usage`, and seconds of audio and of work per kind of work."""

    usage: Counter[str]
    audio: Counter[str]
    work: Counter[str]

    def speeds(self) -> dict[str, dict[str, float | None]]:
        """Return per kind of work its seconds and `rtfx`, seconds of audio per second of work; None without audio."""
        return {
            kind: {"audio_seconds": audio, "work_seconds": work, "rtfx": audio / work if audio else None}
            for kind, work in sorted(self.work.items())
            for audio in [self.audio[kind]]
            if work > 0
        }


def snapshot() -> Work:
    """Return the work of this process so far."""
    return Work(Counter(usage), Counter(audio_seconds), Counter(work_seconds))


def since(before: Work) -> Work:
    """Return the work of this process since a snapshot."""
    return Work(*(now - then for now, then in zip(snapshot(), before, strict=True)))


def total(parts: Iterable[Work]) -> Work:
    """Return the work of several processes together."""
    return Work(*(sum(counters, Counter()) for counters in zip(*parts, strict=True)))
