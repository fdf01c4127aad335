"""Run espeak-ng, which speaks about 100 languages and makes its speech by rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.speech.program import ProgramOptions, ProgramSpeech, read_output


class EspeakOptions(ProgramOptions, frozen=True, kw_only=True):
    """Define the options of `Espeak`."""

    speed: Annotated[int, Meta(ge=80, le=450, description="Words per minute.")] = 175
    pitch: Annotated[int, Meta(ge=0, le=99, description="Pitch of the voice.")] = 50


class Espeak(ProgramSpeech):
    """Speak with a voice of espeak-ng: a language such as `en-gb`, with or without a variant such as `+f3`."""

    program = "espeak-ng"
    record = EspeakOptions
    options: EspeakOptions
    advice = "one of `siq list systems espeak-ng`, with or without a variant such as +f3"

    @classmethod
    def list_voices(cls) -> list[str]:
        """Return the languages; see `SpeechEngine.list_voices`."""
        return sorted({line.split()[1] for line in _list_lines(cls.program, "--voices")})

    def check(self) -> None:
        """Refuse a variant that is missing, which espeak-ng would ignore; a missing language fails in the trial."""
        _, plus, variant = self.model.partition("+")
        known = {line.partition("!v/")[2].strip() for line in _list_lines(self.path, "--voices=variant")}
        if plus and variant not in known:
            raise SpeechIQError(
                f"{self.name}: no variant {variant!r}; {did_you_mean(variant, sorted(known))}"
                f"`espeak-ng --voices=variant` lists them"
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


def _list_lines(program: str, which: str) -> list[str]:
    """Return the lines of a list of voices, without its header."""
    return read_output(program, which).splitlines()[1:]
