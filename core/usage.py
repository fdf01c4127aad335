"""Count expensive work in this process, which makes work done twice visible, and measure its speed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

#: Clips transcribed by a recognizer (`asr_clips`) or encoded by an audio encoder (`encoded_clips`), texts spoken
#: (`spoken_texts`), speech rated (`speech_ratings`), prompts prefilled (`prefills`), tokens generated
#: (`generated_tokens`), texts embedded (`embeddings`), draws of a judge (`judgments`), calls to endpoints (`calls`).
usage: Counter[str] = Counter()
#: Kind of work (`transcribing`, ...) -> seconds of audio, and seconds of work on them, without loading of models.
audio_seconds: Counter[str] = Counter()
work_seconds: Counter[str] = Counter()


@contextmanager
def measured(kind: str, seconds: float) -> Iterator[None]:
    """Measure the work inside the block; work that fails is not counted.

    Args:
        kind: Kind of work, such as `transcribing`.
        seconds: Seconds of audio that are processed inside the block.
    """
    start = time.perf_counter()
    yield
    work_seconds[kind] += time.perf_counter() - start  # type: ignore[assignment] # a Counter of seconds
    audio_seconds[kind] += seconds  # type: ignore[assignment] # a Counter of seconds


class Work(NamedTuple):
    """The work of one or several processes.

    Attributes:
        usage: Counts, as in `usage`.
        audio: Kind of work -> seconds of audio.
        work: Kind of work -> seconds of work, of all processes together.
    """

    usage: Counter[str]
    audio: Counter[str]
    work: Counter[str]

    def speeds(self) -> dict[str, dict[str, float]]:
        """Return per kind of work its seconds and `rtfx`, seconds of audio per second of work."""
        return {
            kind: {"audio_seconds": self.audio[kind], "work_seconds": work, "rtfx": self.audio[kind] / work}
            for kind, work in sorted(self.work.items())
            if work > 0 and self.audio[kind] > 0
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
