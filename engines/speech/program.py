"""Share what all voices that are programs have in common: find the program, and run it once per text."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import soundfile
from msgspec import Meta

from speechiq.core.batches import OnResult, drop, run_concurrently
from speechiq.core.clip import Clip
from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import PROGRAMS
from speechiq.core.progress import progress_bar
from speechiq.core.recordings.audio_file import file_sha256
from speechiq.engines._shared.speech import as_speech, speak_line
from speechiq.engines.base import Setup, SpeechEngine
from speechiq.engines.options import Options

#: Seconds after which a program that speaks one text is stopped.
PATIENCE_S = 600.0
#: The text that a voice speaks before a run, to find out whether it works.
TRIAL = "one"
SHOWN, SHOWN_TEXT = 200, 40


class ProgramOptions(Options, frozen=True, kw_only=True):
    """Define the options of every voice that is a program."""

    program: Annotated[str | None, Meta(description="Path of the program; without it the one that PATH has.")] = None


class ProgramSpeech(SpeechEngine):
    """Run a program once per text, as many at the same time as there are processors."""

    program: ClassVar[str]
    record = ProgramOptions

    def __init__(self, model: str, options: Any, setup: Setup) -> None:
        self.model, self.options = model, options
        self.name = f"{self.program}:{model}"
        self.path = find_program(options.program or self.program, self.program, f"{setup.prefix}program")
        if not model:
            raise SpeechIQError(self.program, "no voice", f"write {self.program}:VOICE, {self.advice}")
        self.check()
        self._run(TRIAL)

    @property
    @abstractmethod
    def advice(self) -> str:
        """Return how to find the voices that there are, for the errors."""

    @abstractmethod
    def check(self) -> None:
        """Refuse a voice that the program does not have."""

    @abstractmethod
    def command(self, text: Path, wav: Path) -> list[str]:
        """Return the arguments with which the program speaks a file of text into a WAV file."""

    def version(self) -> str:
        """Return the name of the program and its version, if it states one."""
        return self.program

    def list_files(self) -> list[Path]:
        """Return the files of the voice, if the model names files; by default none."""
        return []

    def speak(self, texts: Sequence[str], seeds: Sequence[int], on_result: OnResult = drop) -> list[Clip]:
        """Speak each text; see `SpeechEngine.speak`."""
        with progress_bar(total=len(texts), verb=f"{self.name} speaking", unit="text") as progress:
            return run_concurrently(
                texts,
                lambda text: speak_line(text, self._run),
                workers=os.cpu_count() or 1,
                progress=progress,
                on_result=on_result,
            )

    def _run(self, line: str) -> Clip:
        with tempfile.TemporaryDirectory() as folder:
            text, wav = Path(folder, "text.txt"), Path(folder, "speech.wav")
            text.write_text(f"{line}\n", encoding="utf-8")
            fault = run_program([self.path, *self.command(text, wav)], self.name)
            spoken = None if fault else _read_audio(wav)
        if spoken is None:
            raise SpeechIQError(
                self.name,
                f"cannot speak {line[:SHOWN_TEXT]!r} ({fault or 'it wrote no audio'})",
                f"try another voice, {self.advice}",
            )
        samples, rate = spoken
        return as_speech(samples.T, rate, self.name)

    def describe(self) -> dict[str, Any]:
        """Return the voice, the program's version and the options that change the speech; see `Engine.describe`."""
        fields = {name: getattr(self.options, name) for name in self.record.__struct_fields__}
        fields.pop("program")
        return {"model": self.model, "engine": self.version(), **fields}

    def identity(self) -> dict[str, Any]:
        """Return the description and the digest of the voice's files; see `Engine.identity`."""
        digests = "".join(map(file_sha256, self.list_files()))
        files = {"files": hashlib.sha256(digests.encode()).hexdigest()} if digests else {}
        return {"stage": "speech", **self.describe(), **files}


def _read_audio(wav: Path) -> tuple[np.ndarray, int] | None:
    """Return the samples, shape (samples, channels), and the rate of a file; None if it is missing or not audio."""
    try:
        samples, rate = soundfile.read(wav, dtype="float32", always_2d=True)
    except (OSError, soundfile.LibsndfileError):
        return None
    return samples, rate


def find_program(path: str, name: str, option: str) -> str:
    """Return the path of a program; `name` and `option`, which gives its path, are for the error."""
    found = shutil.which(Path(path).expanduser())
    if found is None:
        raise SpeechIQError(name, f"no program {path!r}", f"`{PROGRAMS[name]}`, or give its path with {option}=PATH")
    return found


def run_program(command: list[str], name: str) -> str | None:
    """Run a program that speaks, and return its last line if it fails; refuse one that does not start or end."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired as error:
        raise SpeechIQError(name, f"no speech in {PATIENCE_S:g} s", "try a shorter text or another voice") from error
    except OSError as error:
        raise SpeechIQError(name, f"{command[0]} cannot be started ({error.strerror})", "install it again") from error
    if not done.returncode:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
    return printable(lines[-1].strip()[:SHOWN])


def read_output(*command: str) -> str:
    """Return what a program prints, such as the list of its voices; it may fail."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace").stdout
