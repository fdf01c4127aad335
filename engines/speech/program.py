"""Speak with programs, such as espeak-ng: `programs.yaml` says how each is called; it is run once per text.

Piper is called as a program because its license (GPL) is not that of this package.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
import soundfile
from msgspec import Meta, Struct

from speechiq.core.batches import OnResult, count_cores, drop, run_concurrently
from speechiq.core.clip import Clip
from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file
from speechiq.core.files.yaml_text import load_yaml
from speechiq.core.recordings.audio_file import file_sha256
from speechiq.core.suggestions import PROGRAMS, did_you_mean, suggest
from speechiq.engines._shared.speech import as_speech, speak_line
from speechiq.engines.base import Setup, SpeechEngine
from speechiq.engines.options import UNIT, Options, only_given

#: Seconds after which a program that speaks one text is stopped.
PATIENCE_S = 600.0
#: The text that a voice speaks before a run, to find out whether it works.
TRIAL = "one"
LONGEST_REASON, LONGEST_TEXT = 200, 40


class Listing(Struct, frozen=True, forbid_unknown_fields=True):
    """Define how names are found in what a program prints: its arguments, and a pattern whose group is a name."""

    command: list[str]
    pattern: str

    def read(self, program: str) -> list[str]:
        """Return the names that a program prints; none if it fails."""
        done = subprocess.run(
            [program, *self.command], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        return sorted(set(re.findall(self.pattern, done.stdout)))


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """Define an option of a program, a number with its limits."""

    type: Literal["int", "float"]
    default: int | float
    description: str
    ge: int | float
    le: int | float | None = None
    unit: str | None = None

    @property
    def annotation(self) -> Any:
        """Return the type of a field of a record of options."""
        extra = only_given(**{UNIT: self.unit})
        meta = Meta(ge=self.ge, le=self.le, description=self.description, extra=extra or None)
        return Annotated[int if self.type == "int" else float, meta]


class Program(Struct, frozen=True, forbid_unknown_fields=True):
    """Define a program that speaks, an entry of `programs.yaml`.

    Attributes:
        summary: What it speaks, and what its voices are.
        advice: How to find the voices that there are, for the errors.
        command: Arguments with which it speaks a file of text into a WAV file.
        options: The options of the engine, which `command` names.
        voices: Lists the voices that the program contains.
        must_be_listed: Whether a voice that is not in the list is refused, unless it is a file.
        variants: Lists what may follow a voice behind `+`.
        version: Finds its name and version.
        voice_file: Ending of files that are voices.
        needs_files: What is added to the voice in the names of the files that it consists of.
        replace: Replacements in a text before it is spoken.
    """

    summary: str
    advice: str
    command: list[str]
    options: dict[str, Option]
    voices: Listing | None = None
    must_be_listed: bool = False
    variants: Listing | None = None
    version: Listing | None = None
    voice_file: str | None = None
    needs_files: list[str] = []
    replace: dict[str, str] = {}


class ProgramOptions(Options, frozen=True, kw_only=True):
    """Define the options of every voice that is a program."""

    program: Annotated[str | None, Meta(description="Path of the program; without it the one that PATH has.")] = None


class ProgramSpeech(SpeechEngine):
    """Run a program once per text, as many at the same time as there are processors."""

    program: ClassVar[str]
    row: ClassVar[Program]
    record = ProgramOptions

    def __init__(self, model: str, options: Any, setup: Setup) -> None:
        self.model, self.options = model, options
        self.name = f"{self.program}:{model}"
        self.path = find_program(options.program or self.program, self.program, f"{setup.prefix}program")
        if not model:
            raise SpeechIQError(self.program, "no voice", f"write {self.program}:VOICE, {self.row.advice}")
        self._check()
        self._run(TRIAL)

    @classmethod
    def list_voices(cls) -> list[str]:
        """Return the voices that the program contains; see `SpeechEngine.list_voices`."""
        return cls.row.voices.read(cls.program) if cls.row.voices else []

    def _check(self) -> None:
        """Refuse a voice that the program does not have, as far as it tells."""
        for file in self._list_files():
            if not is_file(file):
                raise SpeechIQError(self.name, f"no file {file}", f"write {self.program}:VOICE, {self.row.advice}")
        if self.row.must_be_listed and self.row.voices and not self._list_files():
            known = self.row.voices.read(self.path)
            if self.model not in known:
                files = f", or give a file {self.row.voice_file}" if self.row.voice_file else ""
                fix = f"{suggest(self.model, known)}{files}"
                raise SpeechIQError(self.name, "no such voice", fix)
        _, plus, variant = self.model.partition("+")
        if plus and self.row.variants:
            known = self.row.variants.read(self.path)
            if variant not in known:
                lists = " ".join([self.program, *self.row.variants.command])
                fix = f"{did_you_mean(variant, known)}`{lists}` lists them"
                raise SpeechIQError(self.name, f"no variant {variant!r}", fix)

    def _list_files(self) -> list[Path]:
        """Return the files of the voice, if the model names files."""
        voice = expand(self.model)
        if self.row.voice_file and voice.suffix == self.row.voice_file and is_file(voice):
            return [voice]
        return [voice.with_name(f"{voice.name}{ending}") for ending in self.row.needs_files]

    def _version(self) -> str:
        """Return the name of the program and its version, if it states one."""
        found = self.row.version.read(self.path) if self.row.version else []
        return found[0] if found else self.program

    def speak(self, texts: Sequence[str], seeds: Sequence[int], on_result: OnResult = drop) -> list[Clip]:
        """Speak each text; see `SpeechEngine.speak`."""
        return run_concurrently(
            texts,
            lambda text: speak_line(text, self._run),
            workers=count_cores(),
            label=(f"{self.name} speaking", "text"),
            on_result=on_result,
        )

    def _run(self, line: str) -> Clip:
        with tempfile.TemporaryDirectory() as folder:
            text, wav = Path(folder, "text.txt"), Path(folder, "speech.wav")
            for wrong, right in self.row.replace.items():
                line = line.replace(wrong, right)
            text.write_text(f"{line}\n", encoding="utf-8")
            voice = next(iter(self._list_files()), self.model)
            values = {**msgspec.structs.asdict(self.options), "voice": voice, "text": text, "wav": wav}
            fault = run_program([self.path, *(part.format_map(values) for part in self.row.command)], self.name)
            spoken = None if fault else _read_audio(wav)
        if spoken is None:
            raise SpeechIQError(
                self.name,
                f"cannot speak {line[:LONGEST_TEXT]!r} ({fault or 'it wrote no audio'})",
                f"try another voice, {self.row.advice}",
            )
        samples, rate = spoken
        return as_speech(samples.T, rate, self.name)

    def describe(self) -> dict[str, Any]:
        """Return the voice, the program's version and the options that change the speech; see `Engine.describe`."""
        fields = {name: getattr(self.options, name) for name in self.record.__struct_fields__}
        fields.pop("program")
        return {"model": self.model, "engine": self._version(), **fields}

    def identity(self) -> dict[str, Any]:
        """Return the description and the digest of the voice's files; see `Engine.identity`."""
        identity = {"stage": "speech", **self.describe()}
        if digests := "".join(map(file_sha256, self._list_files())):
            identity["files"] = hashlib.sha256(digests.encode()).hexdigest()
        return identity


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
    return printable(lines[-1].strip()[:LONGEST_REASON])


def _make_engine(name: str) -> type[ProgramSpeech]:
    """Return the engine of a program of `programs.yaml`."""
    row = PROGRAM_TABLE[name]
    fields = [(option, declared.annotation, declared.default) for option, declared in row.options.items()]
    record = msgspec.defstruct(f"{name}Options", fields, bases=(ProgramOptions,), frozen=True, kw_only=True)
    return type(name, (ProgramSpeech,), {"program": name, "row": row, "record": record, "__doc__": row.summary})


PROGRAM_TABLE = msgspec.convert(load_yaml(Path(__file__).with_name("programs.yaml").read_bytes()), dict[str, Program])
Espeak, Flite, Piper = map(_make_engine, ("espeak-ng", "flite", "piper"))
