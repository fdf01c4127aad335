"""Run flite, a small speech synthesizer of Carnegie Mellon University for English."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.speech.program import ProgramOptions, ProgramSpeech, read_output

VOICE_FILE = ".flitevox"


class FliteOptions(ProgramOptions, frozen=True, kw_only=True):
    """Define the options of `Flite`."""

    duration_stretch: Annotated[
        float, Meta(ge=0.2, le=5, description="Length of the speech relative to the voice's own; 2 is half as fast.")
    ] = 1.0


class Flite(ProgramSpeech):
    """Speak with a voice that flite contains, such as `slt`, or with a file `VOICE.flitevox`."""

    program = "flite"
    record = FliteOptions
    options: FliteOptions
    advice = f"one of `siq list systems flite`, or a file {VOICE_FILE}"

    @classmethod
    def list_voices(cls) -> list[str]:
        """Return the voices that the program contains; see `SpeechEngine.list_voices`."""
        return _list_voices(cls.program)

    def check(self) -> None:
        """Refuse a voice that is missing: flite would take another one, or fetch an address."""
        known = _list_voices(self.path)
        if self.model not in known and not self.list_files():
            raise SpeechIQError(
                f"{self.name}: no such voice; {did_you_mean(self.model, known)}there are {', '.join(known)}, or give "
                f"a file {VOICE_FILE}"
            )

    def list_files(self) -> list[Path]:
        """Return the file of the voice, if there is one; see `ProgramSpeech.list_files`."""
        file = expand(self.model)
        return [file] if file.suffix == VOICE_FILE and is_file(file) else []

    def command(self, text: Path, wav: Path) -> list[str]:
        """Return the arguments; see `ProgramSpeech.command`."""
        voice = next(map(str, self.list_files()), self.model)
        stretch = f"duration_stretch={self.options.duration_stretch:g}"
        return ["-voice", voice, "--setf", stretch, "-f", str(text), "-o", str(wav)]

    def version(self) -> str:
        """Return the version; see `ProgramSpeech.version`."""
        return next(
            (part for part in read_output(self.path, "--version").split() if part.startswith("flite-")), self.program
        )


def _list_voices(program: str) -> list[str]:
    return sorted(set(read_output(program, "-lv").partition(":")[2].split()))
