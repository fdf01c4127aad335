"""Run omni models of `transformers`, which answer audio with text and with speech of their own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from transformers import (
    MODEL_FOR_MULTIMODAL_LM_MAPPING,
    AutoProcessor,
    BatchFeature,
    GenerationConfig,
    PreTrainedConfig,
    PreTrainedModel,
    StoppingCriteriaList,
)

from speechiq.core.batches import OnResult, drop, is_out_of_memory, run_in_batches
from speechiq.core.checkpoints.opening import describe_error, read_context
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, audio_seconds
from speechiq.core.response import Response
from speechiq.core.suggestions import suggest
from speechiq.core.usage import current_clock, measured, timed, usage
from speechiq.engines._shared.checkpoint import Checkpoint, CheckpointEngine
from speechiq.engines._shared.checkpoint_writer import ANSWER, ModelInputs, ignore
from speechiq.engines._shared.sampling import Finished, sampling_settings, seeded
from speechiq.engines._shared.speech import as_speech
from speechiq.engines._transformers import load_with_speakers
from speechiq.engines.audio.hf import AudioOptions
from speechiq.engines.audio.prompts import AudioPrompts, InputBuilder
from speechiq.engines.base import ReplyEngine, Seeds, Setup
from speechiq.engines.languages import ENGLISH
from speechiq.engines.options import only_given


@dataclass(frozen=True)
class Talker:
    """Hold what is known about a model type that speaks.

    Attributes:
        rate: sampling rate of its speech (Hz).
        system: the text of the system turn with which it was trained to speak; empty if it needs none.
        list_speakers: takes a loaded model, returns the names of its speakers.
        speakers: the file of a checkpoint with its speakers; empty if they are among its weights.
    """

    rate: int
    system: str
    list_speakers: Callable[[Any], Sequence[str]]
    speakers: str = ""


#: By `model_type`; rate and system turn are those of the model cards.
TALKERS = {
    "qwen2_5_omni": Talker(
        24_000,
        "You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group, capable of perceiving auditory and "
        "visual inputs, as well as generating text and speech.",
        lambda model: list(model.speaker_map),
        "spk_dict.pt",
    ),
    "qwen3_omni_moe": Talker(24_000, "", lambda model: list(model.config.talker_config.speaker_id)),
}


class AutoTalker:
    """Load an omni model with the part that speaks."""

    @staticmethod
    def fits(config: PreTrainedConfig) -> bool:
        """Return whether a checkpoint with this config answers aloud."""
        return config.model_type in TALKERS and config.enable_audio_output

    @staticmethod
    def from_pretrained(path: str, *, config: PreTrainedConfig, **options: Any) -> Any:
        """Load the model by the class that transformers has for its config; see its `from_pretrained`."""
        model_class, speakers = MODEL_FOR_MULTIMODAL_LM_MAPPING[type(config)], TALKERS[config.model_type].speakers
        if speakers:
            return load_with_speakers(model_class, path, speakers, config=config, **options)
        return model_class.from_pretrained(path, config=config, **options)


FIX = (
    f"speaks=own needs a checkpoint of type {' or '.join(TALKERS)} with audio output; give speaks=ENGINE:MODEL, or "
    "another model"
)


#: The models do not apply the generation settings of their checkpoint to the part that writes.
NO_SETTINGS = GenerationConfig()


class OmniOptions(AudioOptions, frozen=True, kw_only=True):
    """Define the options of `OmniReply`."""

    speaker: Annotated[str | None, Meta(description="Name of a speaker; without it the default of the model.")] = None
    system: Annotated[
        str | None,
        Meta(description="Text of a system turn; without it the one with which the type of model learned to speak."),
    ] = None
    settings: Annotated[
        dict[str, Any] | None,
        Meta(description="Settings of the model's own generate for the speech, such as talker_max_new_tokens."),
    ] = None


class OmniReply(CheckpointEngine, ReplyEngine):
    """Answer one prompt at a time, because the random numbers of a batch depend on all its prompts.

    The text follows the settings of the task; the speech is sampled by the model's own settings, which
    `speaks_settings` changes. Both depend on the seed.
    """

    record = OmniOptions
    streams = True

    def __init__(self, model: str, options: OmniOptions, setup: Setup) -> None:
        self.checkpoint = Checkpoint(
            model, AutoTalker, AutoTalker.fits, "a model that speaks by itself", options, setup, fix=FIX
        )
        self.talker = TALKERS[self.checkpoint.config.model_type]
        self.options = options
        self.system = self.talker.system if options.system is None else options.system
        processor = self.checkpoint.load_processor(AutoProcessor)
        self.prompts = AudioPrompts(
            model, processor, setup.choose_language(options.language) or ENGLISH, system=self.system
        )
        context = read_context(self.checkpoint.config, self.prompts.tokenizer)
        self.inputs = InputBuilder(self.prompts, context)

    def effective(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given settings and the defaults in effect; see `Engine.effective`."""
        return {**settings, **sampling_settings(settings, NO_SETTINGS)}

    def reply(
        self, prompts: Sequence[Prompt], seeds: Seeds, settings: Mapping[str, Any], on_result: OnResult = drop
    ) -> list[list[Response]]:
        """Answer each prompt with the random numbers of its seeds; see `ReplyEngine.reply`."""
        self.inputs.check_clips(prompts)
        length = int(settings.get("max_gen_toks", ANSWER))
        sampling = sampling_settings(settings, NO_SETTINGS)
        text = {f"thinker_{setting}": value for setting, value in {"max_new_tokens": length, **sampling}.items()}
        with self.checkpoint.loaded() as model, measured("answering", audio_seconds(prompts)):
            self._check_speaker(model)
            return run_in_batches(
                list(zip(prompts, seeds, strict=True)),
                lambda batch, _: [self._answer(model, prompt, row, length, text) for prompt, row in batch],
                length=lambda item: item[0].seconds,
                batch_size=1,
                label=(f"{self.checkpoint.name} answering aloud", "reply"),
                on_result=on_result,
                steps=lambda item: len(item[1]),
            )

    def _check_speaker(self, model: PreTrainedModel) -> None:
        known, speaker = self.talker.list_speakers(model), self.options.speaker
        if speaker is not None and speaker not in known:
            raise SpeechIQError(
                f"{self.checkpoint.prefix}speaker={speaker}",
                f"{self.checkpoint.name} has no such speaker",
                suggest(speaker, known),
            )

    def _answer(
        self, model: PreTrainedModel, prompt: Prompt, seeds: Sequence[int], length: int, text: Mapping[str, Any]
    ) -> list[Response]:
        """Return a reply per seed; `length` is the most tokens of a text, `text` has arguments of `generate`."""
        self.prompts.features.clear()
        with timed(seeds[0]):
            inputs = self.inputs.build(prompt, length)
            written = [self._generate(model, inputs, seed, text) for seed in seeds]
        coverage = self.inputs.coverage(prompt)
        usage["spoken_texts"] += len(seeds)
        usage["encoded_clips"] += len(prompt.clips) * len(seeds)
        texts = self.prompts.decode([ids for ids, _ in written])
        spoken = [as_speech(samples, self.talker.rate, self.checkpoint.name) for _, samples in written]
        return [
            Response(words.strip(), audio=clip, coverage=coverage) for words, clip in zip(texts, spoken, strict=True)
        ]

    def _generate(
        self, model: PreTrainedModel, inputs: ModelInputs, seed: int, text: Mapping[str, Any]
    ) -> tuple[list[int], np.ndarray]:
        """Return what the model wrote, as token ids, and what it spoke, as samples at its own rate."""
        ids = torch.tensor([inputs.ids], device=model.device)
        features = BatchFeature(inputs.features).to(model.device, model.dtype)
        inputs_of_model = {"input_ids": ids, "attention_mask": torch.ones_like(ids), **features}
        generate = partial(model.generate, **inputs_of_model, **text, **only_given(speaker=self.options.speaker))
        timing = StoppingCriteriaList([Finished(self.prompts.tokenizer.all_special_ids, ignore)])
        try:
            with seeded(seed, model.device):
                texts, samples = generate(
                    generation_mode="audio", **self._speech_settings(), thinker_stopping_criteria=timing
                )
        except (RuntimeError, TypeError, ValueError, LookupError) as error:
            if is_out_of_memory(error):
                raise
            with seeded(seed, model.device):
                texts, samples = generate(generation_mode="text"), torch.zeros(0)
            # The models fail on a text without a token before its end; such a reply is silence.
            if texts.shape[1] > ids.shape[1] + 1:
                raise SpeechIQError(
                    self.checkpoint.name,
                    f"cannot speak what it wrote ({describe_error(error)})",
                    f"change the option {self.checkpoint.prefix}settings, or give speaks=ENGINE:MODEL",
                ) from error
        spoken = samples.flatten().float().cpu().numpy()
        if (clock := current_clock.get()) is not None and spoken.size:
            clock.mark("first_audio")  # the models return their speech as a whole
        return texts[0, ids.shape[1] :].tolist(), spoken

    def _speech_settings(self) -> dict[str, Any]:
        """Return the settings of the speech: at least one token, since no audio is not defined for the models."""
        return {"talker_min_new_tokens": 1, **(self.options.settings or {})}

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint, how it is loaded, and how it speaks; see `Engine.describe`."""
        return {
            "kind": "own voice",
            **self.checkpoint.describe(),
            "speaker": self.options.speaker,
            "system": self.system,
            "settings": self._speech_settings(),
        }
