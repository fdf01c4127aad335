"""Speak with programs: espeak-ng, flite, and Piper, whose license (GPL) is not that of this package."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.options import UNIT
from speechiq.engines.speech.program import ProgramOptions, ProgramSpeech, read_output

VOICE_FILE = ".flitevox"


class EspeakOptions(ProgramOptions, frozen=True, kw_only=True):
    """Define the options of `Espeak`."""

    speed: Annotated[int, Meta(ge=80, le=450, description="Words per minute.")] = 175
    pitch: Annotated[int, Meta(ge=0, le=99, description="Pitch of the voice.")] = 50


class Espeak(ProgramSpeech):
    """Speak by rules in about 100 languages; a voice is one of them, such as `en-gb`, and may add a variant: `+f3`."""

    program = "espeak-ng"
    record = EspeakOptions
    options: EspeakOptions
    advice = "one of `siq list systems espeak-ng`, with or without a variant such as +f3"

    @classmethod
    def list_voices(cls) -> list[str]:
        """Return the languages; see `SpeechEngine.list_voices`."""
        return sorted({line.split()[1] for line in read_output(cls.program, "--voices").splitlines()[1:]})

    def check(self) -> None:
        """Refuse a variant that is missing, which espeak-ng would ignore; a missing language fails in the trial."""
        _, plus, variant = self.model.partition("+")
        lines = read_output(self.path, "--voices=variant").splitlines()[1:]
        known = {line.partition("!v/")[2].strip() for line in lines}
        if plus and variant not in known:
            raise SpeechIQError(
                self.name,
                f"no variant {variant!r}",
                f"{did_you_mean(variant, sorted(known))}`espeak-ng --voices=variant` lists them",
            )

    def command(self, text: Path, wav: Path) -> list[str]:
        """Return the arguments; see `ProgramSpeech.command`."""
        # Text in double brackets would be read as phonemes.
        text.write_text(text.read_text(encoding="utf-8").replace("[[", "[ ["), encoding="utf-8")
        settings = ["-s", str(self.options.speed), "-p", str(self.options.pitch)]
        return ["-v", self.model, *settings, "-f", str(text), "-w", str(wav)]

    def version(self) -> str:
        """Return the version; see `ProgramSpeech.version`."""
        return read_output(self.path, "--version").partition("  ")[0].strip() or self.program


class FliteOptions(ProgramOptions, frozen=True, kw_only=True):
    """Define the options of `Flite`."""

    duration_stretch: Annotated[
        float, Meta(ge=0.2, le=5, description="Length of the speech relative to the voice's own; 2 is half as fast.")
    ] = 1.0


class Flite(ProgramSpeech):
    """Speak English with a voice that flite contains, such as `slt`, or with a file `VOICE.flitevox`."""

    program = "flite"
    record = FliteOptions
    options: FliteOptions
    advice = f"one of `siq list systems flite`, or a file {VOICE_FILE}"

    @classmethod
    def list_voices(cls) -> list[str]:
        """Return the voices that the program contains; see `SpeechEngine.list_voices`."""
        return cls._read_voices(cls.program)

    @staticmethod
    def _read_voices(program: str) -> list[str]:
        return sorted(set(read_output(program, "-lv").partition(":")[2].split()))

    def check(self) -> None:
        """Refuse a voice that is missing: flite would take another one, or fetch an address."""
        known = self._read_voices(self.path)
        if self.model not in known and not self.list_files():
            raise SpeechIQError(
                self.name,
                "no such voice",
                f"{did_you_mean(self.model, known)}there are {', '.join(known)}, or give a file {VOICE_FILE}",
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


class PiperOptions(ProgramOptions, frozen=True, kw_only=True):
    """Define the options of `Piper`."""

    speaker: Annotated[int, Meta(ge=0, description="Number of the speaker, for voices with several.")] = 0
    length_scale: Annotated[
        float, Meta(ge=0.2, le=5, description="Length of the speech relative to the voice's own; 2 is half as fast.")
    ] = 1.0
    noise_scale: Annotated[
        float, Meta(ge=0, le=2, description="Random variation of the sound; Piper takes no seed, so 0 repeats exactly.")
    ] = 0.0
    noise_w_scale: Annotated[
        float, Meta(ge=0, le=2, description="Random variation of the lengths of phonemes; see noise_scale.")
    ] = 0.0
    sentence_silence: Annotated[
        float, Meta(ge=0, le=10, extra={UNIT: "seconds"}, description="Silence after each sentence.")
    ] = 0.3


class Piper(ProgramSpeech):
    """Speak with a small neural voice: a file `VOICE.onnx`, which has its settings in `VOICE.onnx.json` next to it."""

    program = "piper"
    record = PiperOptions
    options: PiperOptions
    advice = "with the path of a voice file VOICE.onnx, such as one of the Hub's rhasspy/piper-voices"

    def check(self) -> None:
        """Refuse a voice file that is missing."""
        for file in self.list_files():
            if not is_file(file):
                raise SpeechIQError(self.name, f"no file {file}", f"write piper:VOICE, {self.advice}")

    def list_files(self) -> list[Path]:
        """Return the voice and its settings; see `ProgramSpeech.list_files`."""
        voice = expand(self.model)
        return [voice, voice.with_name(f"{voice.name}.json")]

    def command(self, text: Path, wav: Path) -> list[str]:
        """Return the arguments; see `ProgramSpeech.command`."""
        names = ("speaker", "length_scale", "noise_scale", "noise_w_scale", "sentence_silence")
        settings = [
            part for name in names for part in (f"--{name.replace('_', '-')}", f"{getattr(self.options, name)}")
        ]
        return ["-m", str(self.list_files()[0]), *settings, "-i", str(text), "-f", str(wav)]
