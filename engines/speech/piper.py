"""Run Piper, which speaks with small neural voices, as a program: its license (GPL) is not that of this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file
from speechiq.engines.options import UNIT
from speechiq.engines.speech.program import ProgramOptions, ProgramSpeech


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
    """Speak with a voice file `VOICE.onnx`, which has its settings in `VOICE.onnx.json` next to it."""

    program = "piper"
    record = PiperOptions
    options: PiperOptions
    advice = "with the path of a voice file VOICE.onnx, such as one of the Hub's rhasspy/piper-voices"

    def check(self) -> None:
        """Refuse a voice file that is missing."""
        for file in self.list_files():
            if not is_file(file):
                raise SpeechIQError(f"{self.name}: no file {file}; write piper:VOICE, {self.advice}")

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

    def version(self) -> str:
        """Return the name; Piper does not state its version."""
        return self.program
