"""Prompts with audio in them, as a checkpoint's own processor and chat template make them."""

from __future__ import annotations

import base64
import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import soundfile
import torch
from jinja2 import TemplateError
from transformers import BatchFeature, ProcessorMixin

from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.errors import SpeechIQError
from speechiq.core.opening import first_line
from speechiq.engines._shared.encodings import LastFeatures, arguments_digest

#: A prompt in parts: words, and audio as float32 arrays of 16 kHz.
Parts = Sequence["str | np.ndarray"]

#: How processors and templates refuse what they were not made for.
REFUSALS = (
    ValueError, TypeError, LookupError, AttributeError, ImportError, OSError, RuntimeError, TemplateError,
)  # fmt: skip
PROBE_S = 1.0
#: Of what processors give, the names of what goes with each token instead of with the audio.
TYPES = "token_type_ids"


class Fed(NamedTuple):
    """What a model is fed for one prompt.

    Attributes:
        ids: its tokens, audio as so many audio tokens.
        features: what the processor made of the audio, by the model's own names.
        begins: how many tokens there are up to the end of the last audio; 0 without audio.
    """

    ids: list[int]
    features: dict[str, torch.Tensor]
    begins: int


class AudioPrompts:
    """A processor and its chat template.

    Audio goes into the template as blocks, the one form that all processors should share; some templates take it
    encoded, and some take words only, with the audio token among them. Which of these works is tried once.

    Args:
        name: of the checkpoint, for errors and for processors that ask for it.
        processor: as `AutoProcessor` loads it.
        language: of the speech, told to processors whose transcription request asks for it.
        asked_by: by what a transcript is asked for: the request of the `processor`, or the words of the `task`. By
            default the processor's, where it has one.

    Raises:
        SpeechIQError: a processor that takes no audio, no chat template, or a request that the processor lacks.
    """

    def __init__(self, name: str, processor: ProcessorMixin, language: str, asked_by: str | None = None) -> None:
        self.name, self.processor, self.language = name, processor, language
        self.tokenizer = getattr(processor, "tokenizer", processor)
        slot = next((slot for slot in ("audio_processor", "feature_extractor") if getattr(processor, slot, None)), None)
        if slot is None:
            raise SpeechIQError(
                f"{name}: comes without a processor for audio; give a checkpoint with its preprocessor_config.json "
                f"or processor_config.json, or put a recognizer before it: pretrained=ASR+LLM"
            )
        self.asked_by = self._choose_request(asked_by)
        setattr(processor, slot, LastFeatures(getattr(processor, slot)))
        self._chat = self._choose_form()

    def _choose_request(self, asked_by: str | None) -> str:
        known = ["processor", "task"] if hasattr(self.processor, "apply_transcription_request") else ["task"]
        if asked_by not in (None, *known):
            raise SpeechIQError(
                f"asked_by={asked_by}: {self.name} cannot be asked for a transcript so; give {' or '.join(known)}"
            )
        return asked_by or known[0]

    def _choose_form(self) -> Callable[[Parts], BatchFeature]:
        silence = np.zeros(int(PROBE_S * SAMPLING_RATE), np.float32)
        refusals = []
        for form in (self._with_arrays, self._with_encoded, self._with_placeholders):
            try:
                fed = self._feed(form(["What is said here?", silence]))
            except REFUSALS as error:
                refusals.append(first_line(error))
                continue
            if any(not name.endswith(TYPES) for name in fed.features) and self._audio_token in (None, *fed.ids):
                return form
            refusals.append("the audio is lost in it")
        raise SpeechIQError(
            f"{self.name}: its chat template takes no audio ({refusals[0]}); give a checkpoint for chat, with its "
            f"processor and chat_template.jinja and what these need"
        )

    def ask(self, parts: Parts) -> Fed:
        """One turn of a user, and the model's turn begun."""
        return self._feed(self._chat(parts))

    @property
    def has_request(self) -> bool:
        """Return whether transcripts are asked for by the processor's own request."""
        return self.asked_by == "processor"

    def transcribe(self, samples: np.ndarray) -> Fed:
        """Audio to be written down, by the processor's own request."""
        return self._feed(self.processor.apply_transcription_request(audio=[samples], **self._request()))

    def _request(self) -> dict[str, Any]:
        offered = {
            "model_id": self.name, "language": self.language, "source_language": self.language,
            "sampling_rate": SAMPLING_RATE, "format": ["WAV"],
        }  # fmt: skip
        return _taken(self.processor.apply_transcription_request, offered)

    def write_out(self, rows: list[list[int]]) -> list[str]:
        """The text of each row of token ids."""
        return self.tokenizer.batch_decode(rows, skip_special_tokens=True)

    def write_out_transcripts(self, rows: list[list[int]]) -> list[str]:
        """The text of each row, out of the frame into which some models were trained to put a transcript."""
        frameless = {"strip_prefix": True, "return_format": "transcription_only"}
        options = _taken(self.processor.decode, frameless) if self.has_request else {}
        return self.processor.decode(rows, skip_special_tokens=True, **options) if options else self.write_out(rows)

    @property
    def pad_token_id(self) -> int:
        known = self.tokenizer.pad_token_id
        return self.tokenizer.eos_token_id if known is None else known

    def describe(self) -> dict[str, Any]:
        """How transcripts are asked for."""
        if not self.has_request:
            return {"asked_by": "task"}
        languages = {name: value for name, value in self._request().items() if "language" in name}
        return {"asked_by": "processor", **languages}

    def tokenize(self, text: str) -> list[int]:
        """Text that goes on where a prompt ended."""
        return self.tokenizer(text, add_special_tokens=False).input_ids

    @cached_property
    def takes_several(self) -> bool:
        """Whether one prompt may hold several pieces of audio."""
        noise = _noise(PROBE_S)
        try:
            return len(self.ask([noise, noise]).ids) > len(self.ask([noise]).ids)
        except REFUSALS:
            return False

    def probe(self, seconds: int) -> tuple[bool, int]:
        """How so long a piece of noise is taken.

        Returns:
            Whether its last tenth of a second makes a difference to what the model is fed, and the tokens of the
            prompt.
        """
        whole = _noise(seconds)
        broken_off = whole.copy()
        broken_off[-SAMPLING_RATE // 10 :] = 0
        try:
            one, other = self.ask([whole]), self.ask([broken_off])
        except REFUSALS:
            return False, 0
        return arguments_digest(one.features) != arguments_digest(other.features), len(one.ids)

    def _feed(self, inputs: Mapping[str, Any]) -> Fed:
        (ids,) = torch.as_tensor(inputs["input_ids"]).tolist()
        features = _features(inputs)
        if not features:
            return Fed(ids, {}, 0)
        audio = [i for i, token in enumerate(ids[:-1]) if token == self._audio_token]
        begins = max(audio, default=len(ids) - 2) + 1
        cut = {name: value[:, :begins] for name, value in features.items() if name.endswith(TYPES)}
        return Fed(ids, features | cut, begins)

    @cached_property
    def _audio_token(self) -> int | None:
        token = getattr(self.processor, "audio_token", None)
        known = getattr(self.processor, "audio_token_id", None)
        return self.tokenizer.convert_tokens_to_ids(token) if known is None and token is not None else known

    def _with_arrays(self, parts: Parts) -> BatchFeature:
        return self._apply([_block(part, lambda samples: {"audio": samples}) for part in parts])

    def _with_encoded(self, parts: Parts) -> BatchFeature:
        return self._apply([_block(part, lambda samples: {"base64": _encode(samples)}) for part in parts])

    def _with_placeholders(self, parts: Parts) -> BatchFeature:
        words = "".join(part if isinstance(part, str) else self.processor.audio_token for part in parts)
        said = [{"role": "user", "content": words}]
        text = self.tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        audio = [part for part in parts if not isinstance(part, str)]
        return self.processor(text=[text], audio=audio or None, return_tensors="pt")

    def _apply(self, content: list[dict[str, Any]]) -> BatchFeature:
        template = getattr(self.processor, "chat_template", None) or getattr(self.tokenizer, "chat_template", None)
        return self.processor.apply_chat_template(
            [[{"role": "user", "content": content}]],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            **({"chat_template": template} if template else {}),
        )


def _features(inputs: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in inputs.items() if name not in ("input_ids", "attention_mask")}


def _taken(function: Callable[..., Any], offered: dict[str, Any]) -> dict[str, Any]:
    names = inspect.signature(function).parameters
    return {name: value for name, value in offered.items() if name in names}


def _block(part: str | np.ndarray, carry: Callable[[np.ndarray], dict[str, Any]]) -> dict[str, Any]:
    return {"type": "text", "text": part} if isinstance(part, str) else {"type": "audio", **carry(part)}


def _encode(samples: np.ndarray) -> str:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, SAMPLING_RATE, format="WAV", subtype="PCM_16")
    return base64.b64encode(buffer.getvalue()).decode()


def _noise(seconds: float) -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.1, 0.1, int(seconds * SAMPLING_RATE)).astype(np.float32)
