"""Run Whisper by `transformers`, with n-best lists from the beam search itself for each of its windows."""

import copy
from collections.abc import Sequence
from itertools import groupby, takewhile
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from transformers import (
    AutoModelForSpeechSeq2Seq,
    BatchFeature,
    GenerationConfig,
    GenerationMixin,
    LogitsProcessor,
    PreTrainedConfig,
    PreTrainedModel,
    WhisperForConditionalGeneration,
)

from speechiq.core.checkpoints.names import find_recognizer
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint import Loading
from speechiq.engines._shared.encodings import arguments_digest
from speechiq.engines._shared.sampling import seeded
from speechiq.engines._transformers import whisper_language_codes
from speechiq.engines.asr.checkpoint import Beams, CheckpointASR, NBest, count_beams, join_nbest
from speechiq.engines.base import Setup
from speechiq.engines.languages import ENGLISH, FOLLOWS, list_alike, refuse_language
from speechiq.engines.options import Seed, Temperature, only_given, refuse_unused_seed


class WhisperOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `WhisperASR`."""

    language: Annotated[
        str | None, Meta(description=f"Spoken language, for checkpoints that know several; {FOLLOWS}.")
    ] = None
    num_beams: Beams = None
    nbest: NBest = None
    temperature: Temperature = 0
    seed: Seed = 0


class WhisperASR(CheckpointASR):
    """Decode clips of any length, greedily or by beam search.

    Decoding uses timestamp tokens, as OpenAI's own program does; without them Whisper may end a clip after its first
    sentence. A clip shorter than the model's window (30 s) is padded with silence before its spectrogram is computed,
    as transformers does; OpenAI's program pads the spectrogram, so that single words may differ. A longer clip is
    decoded window by window, each from the last timestamp of the window before it, so that nothing is cut off.

    With a temperature each clip is decoded alone, and its random numbers depend on its sound and the seed, not on the
    batch.
    """

    record = WhisperOptions
    gives_nbest = True

    def __init__(self, model: str, options: WhisperOptions, setup: Setup) -> None:
        self.num_beams, self.nbest = count_beams(options.num_beams, options.nbest), options.nbest
        self.model_class = WhisperWithBeams if self.nbest else AutoModelForSpeechSeq2Seq
        super().__init__(model, options, setup)
        refuse_unused_seed(options.temperature, options.seed, setup.prefix)
        if options.temperature and (options.nbest or self.num_beams > 1):
            given = f"{setup.prefix}temperature={options.temperature}"
            raise SpeechIQError(given, "a beam search does not sample", "leave num_beams and nbest out")
        self.temperature, self.seed, self.is_random = options.temperature, options.seed, options.temperature > 0
        self.language = setup.choose_language(options.language) or ENGLISH
        self.settings = self._choose_settings()

    @classmethod
    def fits(cls, config: PreTrainedConfig) -> bool:
        """Return whether the checkpoint is a Whisper that transcribes."""
        return config.model_type == "whisper" and find_recognizer(config) is not None

    def _choose_settings(self) -> dict[str, Any]:
        defaults = self.checkpoint.generation_config
        if getattr(defaults, "no_timestamps_token_id", None) is None:
            raise SpeechIQError(
                self.checkpoint.name,
                "has no generation_config.json of Whisper (with a no_timestamps_token_id)",
                "copy that of the model it was trained from into its folder",
            )
        languages = ["en"]
        settings: dict[str, Any] = {"do_sample": self.is_random, "num_beams": self.num_beams}
        settings |= only_given(temperature=self.temperature) | {"return_timestamps": True}
        is_multilingual = getattr(defaults, "is_multilingual", False)
        if is_multilingual:
            languages = [token.strip("<|>") for token in defaults.lang_to_id]
        self._refuse_unknown(languages)
        return settings | ({"language": self.language, "task": "transcribe"} if is_multilingual else {})

    def _refuse_unknown(self, languages: Sequence[str]) -> None:
        """Refuse a language that the checkpoint does not know, not even by the code of one that is alike."""
        code = whisper_language_codes().get(self.language.lower(), self.language)
        if code not in languages:
            near = next((known for known in list_alike(code) if known in languages), None)
            if near is None:
                refuse_language(self.language, self.checkpoint.name, languages)
            self.language = near

    def decode(self, model: PreTrainedModel, audio: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """Return the transcripts of each array, best first; see `CheckpointASR.decode`."""
        if self.is_random:
            return [self._sample(model, samples) for samples in audio]
        return self._decode_by_length(model, audio)

    def _sample(self, model: PreTrainedModel, samples: np.ndarray) -> tuple[str, ...]:
        seed = int.from_bytes(arguments_digest((self.seed, samples)))
        with seeded(seed, model.device):
            (texts,) = self._decode_by_length(model, [samples])
        return texts

    def _decode_by_length(self, model: PreTrainedModel, audio: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """Return the transcripts of arrays: those that fit into the window are one batch, all longer ones another.

        The spectrogram of each is computed alone, since in a batch of sounds it would differ at its end.
        """
        settings = {"padding": "max_length", "return_attention_mask": True, "truncation": False}
        inputs = [self.features(model, [samples], **settings) for samples in audio]
        window = self.processor.feature_extractor.nb_max_frames
        longer = [features["attention_mask"].shape[-1] > window for features in inputs]
        texts: dict[int, tuple[str, ...]] = {}
        for kind in sorted(set(longer)):
            group = [i for i, is_longer in enumerate(longer) if is_longer is kind]
            texts.update(zip(group, self._decode(model, join_features([inputs[i] for i in group])), strict=True))
        return [texts[i] for i in range(len(audio))]

    def _decode(self, model: PreTrainedModel, features: dict[str, torch.Tensor]) -> list[tuple[str, ...]]:
        """Return the transcripts of sounds that all fit into the window, or that are all longer."""
        if self.nbest:
            return self._decode_beams(model, features)
        texts = self.processor.batch_decode(model.generate(**features, **self.settings), skip_special_tokens=True)
        return [(text.strip(),) for text in texts]

    def _decode_beams(self, model: PreTrainedModel, features: dict[str, torch.Tensor]) -> list[tuple[str, ...]]:
        eos = model.generation_config.eos_token_id
        begin = model.generation_config.no_timestamps_token_id + 1
        output = model.generate(
            **features, **self.settings, logits_processor=[OneTimestamp(begin)], return_segments=True
        )
        lists = []
        for segments in output["segments"]:
            windows = read_windows(segments, eos=eos, begin=begin)
            texts = [self.processor.batch_decode(beams, skip_special_tokens=True) for beams in windows]
            lists.append(join_nbest(texts, ""))
        return lists

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and how it decodes; see `Engine.describe`."""
        sampling = {"seed": self.seed, "random_numbers": "of each clip"} if self.is_random else {}
        return (
            super().describe() | {"language": self.language} | self.settings | only_given(nbest=self.nbest) | sampling
        )


def join_features(inputs: Sequence[BatchFeature]) -> dict[str, torch.Tensor]:
    """Join the features of sounds, and their masks, into a batch; shorter ones are padded with zeros."""
    frames = max(features["attention_mask"].shape[-1] for features in inputs)

    def join(name: str) -> torch.Tensor:
        rows = [features[name] for features in inputs]
        return torch.cat([torch.nn.functional.pad(row, (0, frames - row.shape[-1])) for row in rows])

    return {name: join(name) for name in inputs[0]}


class OneTimestamp(LogitsProcessor):
    """Leave only the most likely timestamp (ids from `begin` on), so that beams differ in words, not in times."""

    def __init__(self, begin: int) -> None:
        self.begin = begin

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return `scores` of shape (rows, vocabulary) with -inf for all timestamps except the most likely one."""
        rest, times = scores.split([self.begin, scores.shape[1] - self.begin], dim=-1)
        return torch.cat([rest, times.masked_fill(times < times.amax(-1, keepdim=True), -torch.inf)], dim=-1)


class _AllBeams(GenerationMixin):
    """Extend the beam search that Whisper calls for each window: return all beams in addition to the best one."""

    def generate(
        self, *args: Any, generation_config: GenerationConfig, decoder_input_ids: torch.Tensor, **kwargs: Any
    ) -> dict[str, torch.Tensor]:
        config = copy.copy(generation_config)
        config.update(num_return_sequences=config.num_beams, return_dict_in_generate=True)
        output = super().generate(*args, generation_config=config, decoder_input_ids=decoder_input_ids, **kwargs)
        beams = output.sequences.unflatten(0, (-1, config.num_beams))
        return {"sequences": beams[:, 0], "beams": beams[:, :, decoder_input_ids.shape[1] :]}


class WhisperWithBeams(WhisperForConditionalGeneration, _AllBeams):
    """Extend Whisper so that `generate(..., return_segments=True)` returns all beams of each window.

    Whisper's own `num_return_sequences` repeats the clip and returns as many copies of the best beam.
    """


def read_windows(segments: Sequence[dict], *, eos: int, begin: int) -> list[list[list[int]]]:
    """Return, per window of a clip, the tokens of the beams that end at the same time as the best one, best first.

    The next window begins at that time, so that a beam with another end would lose or repeat words. `segments` are
    those that `WhisperWithBeams.generate` returns for a clip, `eos` ends a text, `begin` is the first timestamp.
    """
    windows = []
    for _, group in groupby(segments, key=lambda segment: id(segment["result"])):
        texts = [takewhile(lambda token: token != eos, beam) for beam in next(group)["result"]["beams"].tolist()]
        beams = [_drop_rest(list(text), begin) for text in texts]
        windows.append([tokens for tokens, end in beams if end == beams[0][1]])
    return windows


def _drop_rest(tokens: list[int], begin: int) -> tuple[list[int], int | None]:
    """Return the tokens of a window that Whisper uses, and the id of the timestamp where the next one begins.

    Two timestamps in a row separate segments. What follows the last such pair is decoded again in the next window,
    unless the text ends with a single timestamp (openai/whisper, `transcribe.py`).
    """
    times = [token >= begin for token in tokens]
    pairs = [i for i in range(1, len(tokens)) if times[i - 1] and times[i]]
    if not pairs or times[-2:] == [False, True]:
        return tokens, None
    return tokens[: pairs[-1] + 1], tokens[pairs[-1] - 1]
