"""Run text-to-speech models of `transformers`, every class of `AutoModelForTextToWaveform`, by its pipeline."""

from collections.abc import Sequence
from functools import partial
from inspect import signature
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from transformers import (
    MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING,
    AutoModelForTextToWaveform,
    AutoProcessor,
    AutoTokenizer,
    PreTrainedModel,
    TextToAudioPipeline,
)

from speechiq.core.batches import Advance, OnResult, drop, run_in_batches
from speechiq.core.checkpoints.opening import describe_error
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint import Checkpoint, CheckpointEngine, Loading
from speechiq.engines._shared.sampling import seeded
from speechiq.engines._shared.speech import as_speech, speak_line
from speechiq.engines.base import Setup, SpeechEngine


class VoiceOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `TransformersSpeech`."""

    settings: Annotated[
        dict[str, Any] | None,
        Meta(
            description="Settings of the model's own forward or generate, such as speaker_id, tgt_lang, max_new_tokens."
        ),
    ] = None


class TransformersSpeech(CheckpointEngine, SpeechEngine):
    """Speak one text at a time, because the random numbers of a batch depend on all its texts."""

    record = VoiceOptions

    def __init__(self, model: str, options: VoiceOptions, setup: Setup) -> None:
        self.checkpoint = Checkpoint(
            model,
            AutoModelForTextToWaveform,
            lambda config: type(config) in MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING,
            "a voice",
            options,
            setup,
            fix="give a model that `AutoModelForTextToWaveform` of transformers loads, such as one of type vits",
            instead="name the voice of a program, such as flite:slt (`siq list systems`), which needs no hub",
        )
        self.settings = options.settings or {}
        self.tools = self._load_tools()

    def _load_tools(self) -> dict[str, Any]:
        """Return the tokenizer, and the processor if the checkpoint has one, by their names in the pipeline."""
        tokenizer = self.checkpoint.load_processor(AutoTokenizer)
        try:
            processor = self.checkpoint.load_processor(AutoProcessor)
        except SpeechIQError:  # VITS and others have a tokenizer alone.
            return {"tokenizer": tokenizer}
        return {"tokenizer": tokenizer, "processor": processor}

    def speak(self, texts: Sequence[str], seeds: Sequence[int], on_result: OnResult = drop) -> list[Clip]:
        """Speak each text with the random numbers of its seed; see `SpeechEngine.speak`."""
        with self.checkpoint.loaded() as model:
            self._check_settings(model)
            pipeline = TextToAudioPipeline(model=model, device=model.device, **self.tools)

            def run(batch: list[tuple[str, int]], _: Advance) -> list[Clip]:
                return [speak_line(text, partial(self._speak, pipeline, seed)) for text, seed in batch]

            return run_in_batches(
                list(zip(texts, seeds, strict=True)),
                run,
                length=lambda item: len(item[0]),
                batch_size=1,
                label=(f"{self.checkpoint.name} speaking", "text"),
                on_result=on_result,
            )

    def _check_settings(self, model: PreTrainedModel) -> None:
        """Refuse settings that a model without `generate` ignores; `generate` itself refuses unknown ones."""
        known = set(signature(model.forward).parameters)
        if not model.can_generate() and (unknown := sorted(self.settings.keys() - known)):
            raise SpeechIQError(
                f"{self.checkpoint.prefix}settings",
                f"{self.checkpoint.name} has no setting {unknown[0]!r}",
                f"it has {', '.join(sorted(known))}",
            )

    def _speak(self, pipeline: TextToAudioPipeline, seed: int, line: str) -> Clip:
        try:
            with seeded(seed, pipeline.device):
                spoken = pipeline(line, forward_params=self.settings)
        except (TypeError, ValueError, LookupError) as error:
            raise SpeechIQError(
                self.checkpoint.name,
                f"cannot speak {line[:40]!r} ({describe_error(error)})",
                f"change the text or the option {self.checkpoint.prefix}settings",
            ) from error
        return as_speech(np.asarray(spoken["audio"]), spoken["sampling_rate"], self.checkpoint.name)

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint, how it is loaded, and the settings; see `Engine.describe`."""
        return {**self.checkpoint.describe(), "settings": self.settings}
