"""Read how fast the systems of some runs processed audio, from the results files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode
from speechiq.core.files.plain import read_plain
from speechiq.reducer.runs.results_file import TaskRun


class Speed(NamedTuple):
    """The speed of one kind of work in one run.

    Attributes:
        system: Name of the system.
        work: Kind of work, such as `transcribing`, `answering by likelihood`, `embedding` or `judging`.
        rtfx: Seconds of audio per second of work, without the loading of models; None for work on texts alone.
        audio_seconds: Seconds of audio; what came from the response cache does not count.
        work_seconds: Seconds of work, of all processes together.
        device: Device of the run; empty if not recorded.
        batch_size: Batch size of the run; empty if not recorded.
    """

    system: str
    work: str
    rtfx: float | None
    audio_seconds: float
    work_seconds: float
    device: str
    batch_size: str


class _Measured(msgspec.Struct):
    audio_seconds: float
    work_seconds: float
    rtfx: float | None


class _Recorded(msgspec.Struct):
    speed: dict[str, _Measured] = {}
    device: Any = None


class _Config(msgspec.Struct):
    batch_size: Any = None
    siq: _Recorded = msgspec.field(default_factory=_Recorded)


class _Results(msgspec.Struct):
    config: _Config = msgspec.field(default_factory=_Config)


_RESULTS = msgspec.json.Decoder(_Results)


def read_speeds(tasks: Iterable[TaskRun]) -> list[Speed]:
    """Return the speeds of the runs of some tasks, by system; runs that recorded none have none.

    Raises:
        SpeechIQError: A results file cannot be read, or a speed is not a number.
    """
    runs = dict.fromkeys((task.results, task.system) for task in tasks)
    return [speed for file, system in sorted(runs) for speed in _read(Path(file), system)]


def _read(file: Path, system: str) -> list[Speed]:
    try:
        config = decode(read_plain(file), _RESULTS).config
    except OSError as error:
        raise SpeechIQError(f"{str(file)!r} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SpeechIQError(f"{str(file)!r}: the recorded speed is invalid ({error}); rerun the evaluation") from error
    device, batch_size = (
        "" if value is None else printable(str(value)) for value in (config.siq.device, config.batch_size)
    )
    return [
        Speed(system, printable(work), of.rtfx, of.audio_seconds, of.work_seconds, device, batch_size)
        for work, of in sorted(config.siq.speed.items())
    ]
