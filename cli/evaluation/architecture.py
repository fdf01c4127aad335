"""Name the four systems that show whether a cascade or an end-to-end model is better, for `siq eval --architecture`."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from speechiq.core.errors import SpeechIQError
from speechiq.engines.registry import AS_RECOGNIZER, replace_engine

GOLD = "gold"
#: Options of the last stage of a system alone.
OF_LAST = ("answer", "speaks")


class Quartet(NamedTuple):
    """Hold an audio model, its base language model and a recognizer, and the options of each, without a prefix."""

    audio_model: str
    llm: str
    recognizer: str
    options: tuple[Sequence[str], Sequence[str], Sequence[str]]

    @classmethod
    def of(cls, audio_model: str, llm: str, recognizer: str) -> Self:
        """Return the quartet of three stages, each with its options after commas."""
        stages = [_read_stage(text) for text in (audio_model, llm, recognizer)]
        (ears, *_), (reader, *_), (other, *_) = stages
        of_ears, of_reader, of_other = (options for _, *options in stages)
        return cls(ears, reader, other, (of_ears, of_reader, of_other))

    @property
    def systems(self) -> list[str]:
        """Return the four systems, as `siq eval` takes them.

        >>> for system in Quartet.of("org/audio,dtype=bfloat16", "org/text", "org/asr,num_beams=5").systems:
        ...     print(system)
        org/audio,dtype=bfloat16
        org/audio+org/text,asr_dtype=bfloat16
        org/asr+org/text,asr_num_beams=5
        gold+org/text
        """
        ears, reader, other = self.options
        hearing = [option for option in ears if not option.startswith(OF_LAST)]
        reading = [f"llm_{option}" for option in reader]
        cascades = []
        own_ears = replace_engine(self.audio_model, AS_RECOGNIZER)
        for stage, options in ((own_ears, hearing), (self.recognizer, other), (GOLD, ())):
            cascades.append([f"{stage}+{self.llm}", *(f"asr_{option}" for option in options), *reading])
        return [",".join(words) for words in ([self.audio_model, *ears], *cascades)]

    def study_command(self, runs: str) -> list[str]:
        """Return the words of the command that compares the four systems."""
        names = ["--base", f"{self.audio_model}={self.llm}", "--recognizer", self.recognizer]
        return ["siq", "study", "architecture", runs, *names]


def _read_stage(text: str) -> list[str]:
    """Return a stage and its options; refuse a whole cascade."""
    stage, *options = text.split(",")
    if "+" in stage or not stage:
        fault = "not one stage" if stage else "begins with no stage"
        raise SpeechIQError(f"--architecture {text!r}", fault, "give MODEL LLM ASR, each [ENGINE:]MODEL")
    return [stage, *options]
