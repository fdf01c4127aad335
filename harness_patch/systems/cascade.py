"""Combine stages: ASR + LLM, which reads the transcript alone (paper, section 2.2), and ASR + GER as one recognizer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored, TextPrompt
from speechiq.core.response import Response
from speechiq.core.usage import counted_as
from speechiq.engines._shared.checkpoint import ModelLifetime
from speechiq.engines.base import ASREngine, AudioEngine, Engine, Seeds, TextEngine
from speechiq.engines.options import Count, Options
from speechiq.harness_patch.systems.correction import PROMPT, PROMPT_VERSION, correction_prompt, read_correction
from speechiq.siq_tasks.loaders.audio import transcription_prompt


class Cascade(AudioEngine):
    """Run a recognizer, then a language model, one of them in memory at a time; each clip is transcribed once."""

    def __init__(self, asr: ASREngine, llm: TextEngine) -> None:
        self.asr, self.llm, self.streams = asr, llm, llm.streams
        self.hears = asr.hears
        self._known: dict[Clip, Response] = {}
        self._lifetime = ModelLifetime(self._remember_transcripts)

    def keep_loaded(self) -> AbstractContextManager[None]:
        """Return a block inside which each clip of a prompt is transcribed once; it keeps no model loaded."""
        return self._lifetime.keep_loaded()

    @contextmanager
    def _remember_transcripts(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._known.clear()

    def transcribe(self, prompts: Sequence[Prompt], on_result: OnResult = drop) -> list[Response]:
        """Transcribe the clip of each prompt; see `AudioEngine.transcribe`."""
        return self.asr.transcribe([prompt.clip for prompt in prompts], on_result=on_result)

    def coverage(self, prompts: Sequence[Prompt]) -> list[float]:
        """Return the share of the audio in the transcripts of each prompt; see `AudioEngine.coverage`."""
        shares = {clip: response.coverage for clip, response in self._transcripts(prompts).items()}
        return [prompt.coverage(list(map(shares.__getitem__, prompt.clips))) for prompt in prompts]

    def generate(
        self, prompts: Sequence[Prompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[str]]:
        """Let the language model answer each prompt once per seed; see `AudioEngine.generate`."""
        return self.llm.generate(self._as_text(prompts), seeds, settings, on_result=on_result)

    def has_loglikelihood(self) -> bool:
        """Return whether the language model has log-likelihoods; see `Writer.has_loglikelihood`."""
        return self.llm.has_loglikelihood()

    def check_sampling(self, settings: Mapping[str, Any]) -> None:
        """Refuse a language model that does not sample; see `Writer.check_sampling`."""
        self.llm.check_sampling(settings)

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Describe how the language model samples; see `Writer.sampling`."""
        return self.llm.sampling(settings)

    def loglikelihood(
        self, prompts: Sequence[Prompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Score continuations by the language model; see `AudioEngine.loglikelihood`."""
        return self.llm.loglikelihood(self._as_text(prompts), continuations, on_result=on_result)

    def _as_text(self, prompts: Sequence[Prompt]) -> list[TextPrompt]:
        """Return each prompt with its clips replaced by their transcripts."""
        known, texts = self._transcripts(prompts), []
        for prompt in prompts:
            text, shared = "", 0
            for part in prompt.content:
                if isinstance(part, Clip):
                    text += known[part].text.strip()
                    shared = len(text)
                else:
                    text += part
            names = ", ".join(clip.name for clip in prompt.clips)
            texts.append(TextPrompt(text, shared, names, prompt.seconds))
        return texts

    def _transcripts(self, prompts: Sequence[Prompt]) -> Mapping[Clip, Response]:
        with self._lifetime.loaded():
            clips = dict.fromkeys(clip for prompt in prompts for clip in prompt.clips)
            new = [clip for clip in clips if clip not in self._known]
            self._known.update(zip(new, self.asr.transcribe(new) if new else [], strict=True))
            return {clip: self._known[clip] for clip in clips}

    def count_parameters(self) -> int | None:
        """Return the number of parameters of both stages; see `Engine.count_parameters`."""
        return sum_parameters(self.asr, self.llm)

    def describe(self) -> dict[str, Any]:
        """Describe both stages; see `Engine.describe`."""
        return {"kind": "cascade", "asr": self.asr.describe(), "llm": self.llm.describe()}


def sum_parameters(*stages: Engine) -> int | None:
    """Return the number of parameters of all stages; None if that of one is not known."""
    counts = [stage.count_parameters() for stage in stages]
    return None if None in counts else sum(count for count in counts if count)


class Instructed(ASREngine):
    """Transcribe with an audio model, always with one prompt, so that a clip has one transcript.

    It is that of the level Remember, or `request`, the user's own; empty for none.
    """

    def __init__(self, engine: AudioEngine, request: str = "") -> None:
        self.engine, self.request = engine, request or transcription_prompt()

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip; see `ASREngine.transcribe`."""
        prompts = [Prompt.about(self.request, [clip]) for clip in clips]
        return self.engine.transcribe(prompts, on_result=on_result)

    def count_parameters(self) -> int | None:
        """Return the number of parameters of the audio model; see `Engine.count_parameters`."""
        return self.engine.count_parameters()

    def describe(self) -> dict[str, Any]:
        """Describe the audio model; see `Engine.describe`."""
        return self.engine.describe()


NBEST = 5
#: An answer may have `EXTRA` + `SLACK` * (tokens of the transcript) tokens, rounded up to a power of two.
EXTRA, SLACK = 64, 1.5


class CorrectionOptions(Options, frozen=True, kw_only=True):
    """Define the options of a corrector in addition to those of its engine."""

    max_gen_toks: Annotated[
        Count | None,
        Meta(description="Maximum number of tokens of an answer; by default by the length of the transcript"),
    ] = None


class CorrectedRecognizer(ASREngine):
    """Replace the recognizer's first text by the corrector's text for all later stages.

    If the recognizer has no n-best list, its one text is corrected. If its texts have no words, the corrector is not
    called. The recognizer and the corrector load and free their models themselves; the corrector decodes greedily.
    `prompt` is the user's own prompt of the corrector; empty for none.
    """

    def __init__(self, asr: ASREngine, ger: TextEngine, *, max_gen_toks: int | None = None, prompt: str = "") -> None:
        self.asr, self.ger, self.hears = asr, ger, asr.hears
        self.max_gen_toks, self.prompt = max_gen_toks, prompt

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Return transcripts with the recognizer's coverage, its hypotheses, and their provenance."""
        responses = self.asr.transcribe(clips)
        hypotheses = [tuple(dict.fromkeys(response.hypotheses or (response.text,))) for response in responses]
        with_words = [i for i, texts in enumerate(hypotheses) if any(map(str.split, texts))]
        limits = {i: self._limit(clips[i], max(hypotheses[i], key=len)) for i in with_words}
        prompts = {
            i: TextPrompt(
                correction_prompt(hypotheses[i], self.prompt or PROMPT), about=clips[i].name, seconds=clips[i].duration
            )
            for i in with_words
        }
        found = {i: read_correction(answer, hypotheses[i]) for i, answer in self._ask(prompts, limits).items()}
        corrected = []
        for i, (response, texts) in enumerate(zip(responses, hypotheses, strict=True)):
            text, provenance = found.get(i, (texts[0], "skipped"))
            corrected.append(replace(response, text=text, hypotheses=texts, provenance=provenance))
        on_result(range(len(corrected)), corrected)
        return corrected

    def _ask(self, prompts: Mapping[int, TextPrompt], limits: Mapping[int, int]) -> dict[int, str]:
        """Return the corrector's answer to each prompt; prompts with the same limit share a call."""
        answers: dict[int, str] = {}
        with self.ger.keep_loaded(), counted_as("correcting"):
            for limit in sorted(set(limits.values())):
                places = [i for i in prompts if limits[i] == limit]
                settings = {"do_sample": False, "max_gen_toks": limit}
                found = self.ger.generate([prompts[i] for i in places], [[0]] * len(places), settings)
                answers.update((i, answer) for i, (answer,) in zip(places, found, strict=True))
        return answers

    def _limit(self, clip: Clip, text: str) -> int:
        """Return the maximum number of tokens of a correction."""
        tokens = self.ger.count(text)
        if self.max_gen_toks is None:
            return int(2 ** math.ceil(math.log2(EXTRA + SLACK * tokens)))
        if tokens > self.max_gen_toks:
            raise SpeechIQError(
                f"ger_max_gen_toks={self.max_gen_toks}",
                f"the correction of {clip.name}, a transcript of {len(text)} characters, might be cut off",
                "give a higher number or leave it out",
            )
        return self.max_gen_toks

    def count_parameters(self) -> int | None:
        """Return the number of parameters of both stages; see `Engine.count_parameters`."""
        return sum_parameters(self.asr, self.ger)

    def describe(self) -> dict[str, Any]:
        """Describe both stages and the limits of the corrector; see `Engine.describe`."""
        by_length = {"tokens_beside": EXTRA, "tokens_per_token": SLACK}
        limit = {"max_gen_toks": self.max_gen_toks} if self.max_gen_toks else by_length
        asked = {"prompt": self.prompt} if self.prompt else {"prompt_version": PROMPT_VERSION}
        corrector = {**self.ger.describe(), **asked, "do_sample": False, **limit}
        return {**self.asr.describe(), "corrector": corrector}
