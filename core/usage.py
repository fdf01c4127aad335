"""Count expensive work in this process, which makes work done twice visible, and measure its speed.

Runs that ask for it also time single answers, from their request to the first token, the first audio and the end: a
system opens `recording`, inside which engines run one prompt or one call inside `timed`, and mark what arrives.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

#: Clips transcribed by a recognizer (`asr_clips`) or encoded by an audio encoder (`encoded_clips`), texts spoken
#: (`spoken_texts`), speech rated (`speech_ratings`), prompts prefilled (`prefills`), tokens generated
#: (`generated_tokens`), texts embedded (`embeddings`), draws of a judge (`judgments`), calls to endpoints (`calls`),
#: tokens that endpoints charge the system for (`prompt_tokens`, `completion_tokens`), and their replies that do not
#: state both (`replies_without_tokens`).
usage: Counter[str] = Counter()
#: Answers in the system's own words (`written`), those from the response cache included, and those among them that
#: ended at the limit of their tokens (`at_limit`); likewise `transcripts` and `transcripts_at_limit`.
replies: Counter[str] = Counter()
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


#: Kinds of work of a system itself; the rest, such as judging, measures it.
OWN_WORK = (None, "correcting")
#: Tokens -> their name in the usage of newer parts of the API, such as transcriptions.
TOKENS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
WITHOUT_TOKENS = "replies_without_tokens"


def count_tokens(reply: Any) -> None:
    """Count the tokens that a reply of an endpoint states, unless a judge or another measure asked."""
    if _purpose.get() not in OWN_WORK:
        return
    given = reply.get("usage") if isinstance(reply, dict) else None
    stated = given if isinstance(given, dict) else {}
    counts = {name: stated.get(name, stated.get(newer)) for name, newer in TOKENS.items()}
    known = {name: count for name, count in counts.items() if type(count) is int and count >= 0}
    usage.update(known)
    usage[WITHOUT_TOKENS] += len(known) < len(TOKENS)


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


class WorkDone(NamedTuple):
    """Hold the work of processes: counts as in `usage` and `replies`, seconds of audio and of work per kind of work."""

    usage: Counter[str]
    replies: Counter[str]
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


def snapshot() -> WorkDone:
    """Return the work of this process so far."""
    return WorkDone(Counter(usage), Counter(replies), Counter(audio_seconds), Counter(work_seconds))


def since(before: WorkDone) -> WorkDone:
    """Return the work of this process since a snapshot."""
    return WorkDone(*(now - then for now, then in zip(snapshot(), before, strict=True)))


def total(parts: Iterable[WorkDone]) -> WorkDone:
    """Return the work of several processes together."""
    return WorkDone(*(sum(counters, Counter()) for counters in zip(*parts, strict=True)))


class Latency(NamedTuple):
    """Hold the times of an answer, in seconds from its request; NaN for what it did not have.

    Attributes:
        first_token, first_audio, total: Until its first text, its first audio and its end.
        is_warm_up: Whether it was requested before the first answer had ended, when nothing may be warm.
        at_once: Number of requests that were under way when it was made, itself included.
    """

    is_warm_up: bool
    at_once: int
    first_token: float = math.nan
    first_audio: float = math.nan
    total: float = math.nan


class Clock:
    """Time one answer: name of a time in `Latency` -> seconds."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin, also again: an answer that failed and is requested anew is timed from its last request on."""
        self._start, self.times = time.perf_counter(), dict[str, float]()

    def mark(self, name: str) -> None:
        """Note that something has arrived; the first mark of a name counts."""
        self.times.setdefault(name, time.perf_counter() - self._start)


class Recorder:
    """Collect the times of answers by their seeds, which no two questions share; threads may share it."""

    def __init__(self) -> None:
        self.latencies: dict[int, Latency] = {}
        self.under_way: set[int] = set()


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
#: The clock of the answer that is being made; None while nothing is timed.
current_clock: ContextVar[Clock | None] = ContextVar("current_clock", default=None)


@contextmanager
def recording(is_on: bool = True) -> Iterator[Recorder]:
    """Record the times of answers inside the block, unless it is switched off."""
    recorder = Recorder()
    token = _recorder.set(recorder if is_on else None)
    try:
        yield recorder
    finally:
        _recorder.reset(token)


def is_recording() -> bool:
    """Return whether engines are to time their answers."""
    return _recorder.get() is not None


@contextmanager
def timed(seed: int) -> Iterator[None]:
    """Time the answers that are made inside the block, under the seed of the first, if times are recorded."""
    recorder = _recorder.get()
    if recorder is None:
        yield
        return
    recorder.under_way.add(seed)
    is_warm_up, at_once, clock = not recorder.latencies, len(recorder.under_way), Clock()
    token = current_clock.set(clock)
    try:
        yield
        clock.mark("total")
        recorder.latencies[seed] = Latency(is_warm_up, at_once, **clock.times)
    finally:
        current_clock.reset(token)
        recorder.under_way.discard(seed)
