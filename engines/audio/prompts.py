"""Make prompts with audio by a checkpoint's own processor and chat template, within its limits of audio."""

import inspect
import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import torch
from jinja2 import TemplateError
from transformers import BatchFeature, ProcessorMixin

from speechiq.core.checkpoints.opening import check_tokens, first_line
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, as_messages
from speechiq.core.recordings.audio_file import encode_audio
from speechiq.engines._shared.checkpoint_writer import LONGER, ModelInputs
from speechiq.engines._shared.chunking import SPAN_S, list_chunks
from speechiq.engines._shared.encodings import LastFeatures, arguments_digest
from speechiq.engines.options import only_given

#: A prompt in parts: texts, and audio as float32 arrays, shape (samples,), 16 kHz.
Parts = Sequence["str | np.ndarray"]

#: Errors by which processors and templates refuse inputs that they were not made for.
REFUSALS = (
    ValueError, TypeError, LookupError, AttributeError, ImportError, OSError, RuntimeError, TemplateError,
)  # fmt: skip
PROBE_S = 1.0
#: End of the names of outputs that belong to the tokens instead of the audio.
TYPES = "token_type_ids"


class AudioPrompts:
    """Make the inputs of a model by its processor and chat template.

    Templates differ in the form of audio: most take arrays in blocks of their own, some take encoded files, and some
    take only text that contains the audio token. The constructor tries which form works.

    Args:
        asked_by: the source of the prompt for transcripts: the request of the `processor`, or the `task`. By default
            the processor, if it has a request.
        system: text of a system turn before each prompt; empty for none.
    """

    def __init__(
        self, name: str, processor: ProcessorMixin, language: str, asked_by: str | None = None, system: str = ""
    ) -> None:
        self.name, self.processor, self.language, self.system = name, processor, language, system
        self.tokenizer = getattr(processor, "tokenizer", processor)
        slot = next((slot for slot in ("audio_processor", "feature_extractor") if getattr(processor, slot, None)), None)
        if slot is None:
            raise SpeechIQError(
                name,
                "comes without a processor for audio",
                "give a checkpoint with its preprocessor_config.json "
                "or processor_config.json, or put a recognizer before it: pretrained=ASR+LLM",
            )
        self.has_request = self._choose_request(asked_by)
        self.features = LastFeatures(getattr(processor, slot))
        setattr(processor, slot, self.features)
        self._chat = self._choose_form()

    def _choose_request(self, asked_by: str | None) -> bool:
        """Return whether the prompt for transcripts is the processor's own request."""
        known = ["processor", "task"] if hasattr(self.processor, "apply_transcription_request") else ["task"]
        if asked_by not in (None, *known):
            raise SpeechIQError(
                f"asked_by={asked_by}", f"{self.name} has no such prompt for transcripts", f"give {' or '.join(known)}"
            )
        return (asked_by or known[0]) == "processor"

    def _choose_form(self) -> Callable[[Parts], BatchFeature]:
        silence = np.zeros(int(PROBE_S * SAMPLING_RATE), np.float32)
        refusals = []
        for form in (self._with_arrays, self._with_encoded, self._with_placeholders):
            try:
                inputs = self._as_inputs(form(["What is this clip about?", silence]))
            except REFUSALS as error:
                refusals.append(first_line(error))
                continue
            if any(not name.endswith(TYPES) for name in inputs.features) and self._audio_token in (None, *inputs.ids):
                return form
            refusals.append("it loses the audio")
        raise SpeechIQError(
            self.name,
            f"its chat template takes no audio ({refusals[0]})",
            "give a checkpoint for chat, with its processor and chat_template.jinja and the packages that these need",
        )

    def ask(self, parts: Parts) -> ModelInputs:
        """Return the inputs for one message of a user, with the beginning of the model's message."""
        return self._as_inputs(self._chat(parts))

    def check_system(self, option: str) -> None:
        """Refuse a system turn, given by `option`, for which the chat template has no place."""
        if not self.system:
            return
        noise, system = _noise(PROBE_S), self.system
        with_it = self.ask([noise]).ids
        self.system = ""
        try:
            without = self.ask([noise]).ids
        finally:
            self.system = system
        if with_it == without:
            raise SpeechIQError(self.name, f"its chat template has no place for {option}", "leave it out")

    def check_text_alone(self) -> None:
        """Refuse a processor or chat template that takes no text without audio."""
        try:
            self.ask(["What is this speech about?"])
        except REFUSALS as error:
            raise SpeechIQError(
                self.name,
                f"takes no prompt without audio ({first_line(error)})",
                "leave listen=text out; muted and swapped give it audio",
            ) from error

    def transcribe(self, samples: np.ndarray) -> ModelInputs:
        """Return the inputs for a transcript by the processor's own request."""
        return self._as_inputs(self.processor.apply_transcription_request(audio=[samples], **self._request()))

    def _request(self) -> dict[str, Any]:
        offered = {
            "model_id": self.name, "language": self.language, "source_language": self.language,
            "sampling_rate": SAMPLING_RATE, "format": ["WAV"],
        }  # fmt: skip
        return _select_arguments(self.processor.apply_transcription_request, offered)

    def decode(self, rows: list[list[int]]) -> list[str]:
        """Return the text of each row of token ids."""
        return self.tokenizer.batch_decode(rows, skip_special_tokens=True)

    def decode_transcripts(self, rows: list[list[int]]) -> list[str]:
        """Return the text of each row, without the words that some models were trained to put around a transcript."""
        offered = {"strip_prefix": True, "return_format": "transcription_only"}
        options = _select_arguments(self.processor.decode, offered) if self.has_request else {}
        return self.processor.decode(rows, skip_special_tokens=True, **options) if options else self.decode(rows)

    def describe(self) -> dict[str, Any]:
        """Return the source of the prompt for transcripts, and the language of the processor's own request."""
        if not self.has_request:
            return {"asked_by": "task"}
        languages = {name: value for name, value in self._request().items() if "language" in name}
        return {"asked_by": "processor", **languages}

    @cached_property
    def takes_several(self) -> bool:
        """Return whether one prompt may contain several chunks of audio."""
        noise = _noise(PROBE_S)
        try:
            return len(self.ask([noise, noise]).ids) > len(self.ask([noise]).ids)
        except REFUSALS:
            return False

    def probe(self, seconds: int) -> tuple[bool, int]:
        """Return whether the end of so many seconds of noise changes the inputs, and the tokens of the prompt."""
        noise = _noise(seconds)
        shortened = noise.copy()
        shortened[-SAMPLING_RATE // 10 :] = 0
        try:
            first, second = self.ask([noise]), self.ask([shortened])
        except REFUSALS:
            return False, 0
        return arguments_digest(first.features) != arguments_digest(second.features), len(first.ids)

    def _as_inputs(self, outputs: Mapping[str, Any]) -> ModelInputs:
        (ids,) = torch.as_tensor(outputs["input_ids"]).tolist()
        features = {name: value for name, value in outputs.items() if name not in ("input_ids", "attention_mask")}
        if not features:
            return ModelInputs(ids)
        audio = [i for i, token in enumerate(ids[:-1]) if token == self._audio_token]
        prefix = max(audio, default=len(ids) - 2) + 1
        cut = {name: value[:, :prefix] for name, value in features.items() if name.endswith(TYPES)}
        return ModelInputs(ids, prefix, features | cut)

    @cached_property
    def _audio_token(self) -> int | None:
        token = getattr(self.processor, "audio_token", None)
        known = getattr(self.processor, "audio_token_id", None)
        return self.tokenizer.convert_tokens_to_ids(token) if known is None and token is not None else known

    def _with_arrays(self, parts: Parts) -> BatchFeature:
        return self._apply([_block(part, lambda samples: {"audio": samples}) for part in parts])

    def _with_encoded(self, parts: Parts) -> BatchFeature:
        def as_base64(samples: np.ndarray) -> dict[str, Any]:
            return {"base64": b64encode(encode_audio([samples], "WAV")).decode()}

        return self._apply([_block(part, as_base64) for part in parts])

    def _with_placeholders(self, parts: Parts) -> BatchFeature:
        content = "".join(part if isinstance(part, str) else self.processor.audio_token for part in parts)
        messages = as_messages(content, self.system)
        text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        audio = [part for part in parts if not isinstance(part, str)]
        return self.processor(text=[text], audio=audio or None, return_tensors="pt")

    def _apply(self, content: list[dict[str, Any]]) -> BatchFeature:
        template = getattr(self.processor, "chat_template", None) or getattr(self.tokenizer, "chat_template", None)
        system = [_block(self.system, dict)] if self.system else []
        return self.processor.apply_chat_template(
            [as_messages(content, system)],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            **only_given(chat_template=template),
        )


def _select_arguments(function: Callable[..., Any], offered: dict[str, Any]) -> dict[str, Any]:
    """Return those of the offered arguments that the function has."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in offered.items() if name in names}


def _block(part: str | np.ndarray, as_audio: Callable[[np.ndarray], dict[str, Any]]) -> dict[str, Any]:
    return {"type": "text", "text": part} if isinstance(part, str) else {"type": "audio", **as_audio(part)}


def _noise(seconds: float) -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.1, 0.1, int(seconds * SAMPLING_RATE)).astype(np.float32)


FIRST_TRIAL_S = 32
#: Tokens of the model's context that audio leaves free for the text of a prompt and for the answer.
RESERVED = 1024


class InputBuilder:
    """Build the inputs of a model for questions, transcripts and continuations."""

    def __init__(self, prompts: AudioPrompts, context: int | None) -> None:
        self.prompts, self.context = prompts, context
        self.limits = AudioLimits(prompts, context)

    def check_clips(self, prompts: Sequence[Prompt]) -> None:
        """Refuse prompts with several clips if the model takes one clip per prompt."""
        several = [prompt for prompt in prompts if len(prompt.clips) > 1]
        if several and not self.prompts.takes_several:
            raise SpeechIQError(
                self.prompts.name,
                f"takes one clip per prompt, and {several[0].clips[0].name} comes with others",
                "choose another model for this task",
            )

    def coverage(self, prompt: Prompt) -> float:
        """Return the share of the prompt's audio that the model receives."""
        received = self.limits.in_one_prompt(prompt.clips)
        return prompt.coverage([seconds / clip.duration for seconds, clip in zip(received, prompt.clips, strict=True)])

    def parts(self, prompt: Prompt) -> list[str | np.ndarray]:
        """Return the prompt's text and its audio as arrays, each clip in chunks and as far as the model takes it."""
        received = iter(self.limits.in_one_prompt(prompt.clips))
        parts: list[str | np.ndarray] = []
        for part in prompt.content:
            if isinstance(part, Clip):
                parts += [chunk.samples for chunk in self.limits.chunks(part, next(received))]
            else:
                parts.append(part)
        return [part for part in parts if len(part)]

    def build(self, prompt: Prompt, more: int) -> ModelInputs:
        """Return the inputs for a prompt, which may not exceed the context together with `more` tokens."""
        inputs = self.prompts.ask(self.parts(prompt))
        check_tokens(self.prompts.name, prompt.name, inputs.ids, more, self.context, LONGER)
        return inputs

    def for_transcript(self, prompt: Prompt, limit: int) -> ModelInputs:
        """Return the inputs for a transcript: by the processor's own request if it has one, else by the prompt."""
        if self.prompts.has_request:
            return self.prompts.transcribe(prompt.clip.samples)
        return self.build(prompt, 1)


class AudioLimits:
    """Find by trial how much audio a model takes in one chunk and in one prompt.

    Many processors drop what exceeds their window without a warning. `context` is None if the config does not state it.

    Attributes:
        tried: the longest chunk that was tried, in seconds.
        limit: the longest chunk that the model takes, in seconds; infinite as long as no chunk was too long.
    """

    def __init__(self, prompts: AudioPrompts, context: int | None) -> None:
        self.prompts, self.free_tokens = prompts, (context or math.inf) - RESERVED
        self.tried, self.limit = 0, math.inf
        self._probe = cache(prompts.probe)

    def in_one_chunk(self, seconds: float) -> float:
        """Return how many seconds the model receives of so many seconds in one chunk."""
        while self.limit == math.inf and self.tried < seconds:
            trial = max(2 * self.tried, FIRST_TRIAL_S)
            if not self._takes(trial):
                self.limit = self._search(self.tried, trial)
                if self.limit < 1:
                    raise SpeechIQError(
                        self.prompts.name,
                        f"takes less than one second of audio next to {RESERVED} tokens of text",
                        "choose a model with a longer context",
                    )
            self.tried = trial
        return min(seconds, self.limit)

    def in_one_prompt(self, clips: Sequence[Clip]) -> list[float]:
        """Return per clip of one prompt how many of its seconds the model receives, in one chunk or in several."""
        received: list[float] = []
        for clip in clips:
            seconds = self.in_one_chunk(clip.duration)
            if seconds < clip.duration and self.prompts.takes_several:
                seconds = clip.duration
            received.append(max(0.0, min(seconds, self._longest_prompt() - sum(received))))
        return received

    def chunks(self, clip: Clip, seconds: float = math.inf) -> list[Clip]:
        """Return the first seconds of a clip in chunks that the model takes, split at pauses of the speech."""
        clip = clip if seconds >= clip.duration else clip.part(0.0, seconds)
        return list_chunks(clip, self.in_one_chunk(clip.duration))

    def transcript_chunks(self, clip: Clip) -> list[Clip]:
        """Return a clip in chunks for its transcript: none is longer than `SPAN_S`, however much the model takes."""
        return list_chunks(clip, self.in_one_chunk(min(clip.duration, SPAN_S)))

    def describe(self) -> dict[str, Any]:
        """Return the limits that were found so far."""
        if self.limit == math.inf:
            return {}
        return {"longest_chunk_s": self.limit, "takes_chunks": self.prompts.takes_several}

    def _takes(self, seconds: int) -> bool:
        received, tokens = self._probe(seconds)
        return received and tokens <= self.free_tokens

    def _search(self, taken: int, lost: int) -> int:
        while lost - taken > 1:
            middle = (taken + lost) // 2
            taken, lost = (middle, lost) if self._takes(middle) else (taken, middle)
        return taken

    def _longest_prompt(self) -> float:
        longest = min(self.limit, self.tried)
        return self.free_tokens * longest / self._probe(longest)[1]
