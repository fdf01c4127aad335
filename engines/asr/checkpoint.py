"""Share what recognizers of `transformers` have in common: batches of clips, their chunks, and n-best lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, groupby, zip_longest
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from transformers import (
    AutoProcessor,
    BatchFeature,
    PreTrainedConfig,
    PreTrainedModel,
    ProcessorMixin,
    StoppingCriteria,
)

from speechiq.core.batches import Advance, OnResult, drop, group_by_size, run_in_batches
from speechiq.core.checkpoints.names import find_recognizer
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response, distinct_texts
from speechiq.core.usage import measured, usage
from speechiq.engines._shared.checkpoint import Checkpoint, CheckpointEngine, Loading
from speechiq.engines._shared.chunking import SPAN_S, count_chunks, read_chunks, split_at_pauses
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.options import ChunkSeconds, Count

WINDOW_S = 30.0

Beams = Annotated[
    Count | None, Meta(description="Beams of the search; 1 is greedy. Without it the value of nbest, or 1.")
]
NBest = Annotated[
    Count | None, Meta(description="Most transcripts in the n-best list: those of the beams that differ in words.")
]


def count_beams(num_beams: int | None, nbest: int | None) -> int:
    """Return the number of beams; an n-best list needs as many beams as transcripts.

    >>> count_beams(None, 5), count_beams(None, None)
    (5, 1)
    """
    beams = num_beams or nbest or 1
    if beams < (nbest or 1):
        raise SpeechIQError(
            f"asr_nbest={nbest}", f"asr_num_beams={beams} cannot give so many", "raise it or leave it out"
        )
    return beams


class CheckpointASR(CheckpointEngine, ASREngine):
    """Run a recognizer that `transformers` loads; there is a subclass per architecture, such as CTC.

    Clips longer than `SPAN_S` are split into spans at pauses of the speech, and the transcripts are joined, so that
    memory does not grow with the length of a clip.
    """

    model_class: Any
    record = Loading
    #: The most transcripts in an n-best list; None for no list.
    nbest: int | None = None

    def __init__(self, model: str, options: Loading, setup: Setup) -> None:
        self.checkpoint = Checkpoint(model, self.model_class, self.fits, "a speech recognizer", options, setup)
        self.processor = _load_processor(self.checkpoint)

    @classmethod
    def fits(cls, config: PreTrainedConfig) -> bool:
        """Return whether this class runs checkpoints with this config."""
        return find_recognizer(config) is cls.model_class

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Transcribe each clip to its end, with an n-best list in `hypotheses` if `nbest` is set."""
        seconds = sum(clip.duration for clip in clips)
        with self.checkpoint.loaded() as model, measured("transcribing", seconds):
            return run_in_batches(
                clips,
                partial(self._transcribe_batch, model),
                length=lambda clip: clip.duration,
                batch_size=self.checkpoint.batch_size,
                label=(f"{self.checkpoint.name} transcribing", "chunk"),
                on_result=on_result,
                steps=partial(count_chunks, longest_s=SPAN_S),
            )

    def _transcribe_batch(self, model: PreTrainedModel, clips: Sequence[Clip], advance: Advance) -> list[Response]:
        """Transcribe clips together, span by span: the first of each clip, the second of each, and so on."""
        spans: list[list[tuple[str, ...]]] = [[] for _ in clips]
        for batch in zip_longest(*(read_chunks(clip, SPAN_S) for clip in clips)):
            present = [(transcripts, span) for transcripts, span in zip(spans, batch, strict=True) if span is not None]
            found = self.decode(model, [span for _, span in present])
            for (transcripts, _), texts in zip(present, found, strict=True):
                transcripts.append(texts)
            advance(len(present))
        usage["asr_clips"] += len(clips)
        nbest = self.nbest or 0
        joined = [join_nbest(transcripts, " ") for transcripts in spans]
        return [Response(texts[0], coverage=1.0, hypotheses=texts[:nbest]) for texts in joined]

    @abstractmethod
    def decode(self, model: PreTrainedModel, audio: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """Return the transcripts of each array (float32, shape (samples,), 16 kHz), best first."""

    def features(self, model: PreTrainedModel, audio: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """Return the inputs of the model, on its device and in its dtype."""
        return self.request(audio, **settings).to(model.device, model.dtype)

    def request(self, audio: Sequence[np.ndarray], **settings: Any) -> BatchFeature:
        """Return the output of the processor for the arrays; `settings` take precedence over the usual ones."""
        arguments = {"sampling_rate": SAMPLING_RATE, "padding": True, "return_tensors": "pt"} | settings
        return self.processor(audio=list(audio), **arguments)

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint, how it is loaded, and the longest span; see `Engine.describe`."""
        return self.checkpoint.describe() | {"span_s": SPAN_S}


def _load_processor(checkpoint: Checkpoint) -> ProcessorMixin:
    processor = checkpoint.load_processor(AutoProcessor)
    if missing := [part for part in ("feature_extractor", "tokenizer") if getattr(processor, part, None) is None]:
        raise SpeechIQError(
            checkpoint.name,
            f"comes without a {missing[0].replace('_', ' ')}",
            "save the processor of the model it was trained from into its folder",
        )
    return processor


class ChunkedOptions(Loading, frozen=True, kw_only=True):
    """Define the options of `ChunkedASR`."""

    window_s: Annotated[
        ChunkSeconds,
        Meta(description="Longest chunk of a long clip, not for Whisper; most models were trained on 30 s or less."),
    ] = WINDOW_S


class ChunkedASR(CheckpointASR):
    """Split long clips at pauses of the speech and join the transcripts of the chunks."""

    record = ChunkedOptions
    #: Whether chunks of unequal length share a batch; None until the encoder shows what padding changes.
    padded: bool | None = None

    def __init__(self, model: str, options: ChunkedOptions, setup: Setup) -> None:
        super().__init__(model, options, setup)
        self.window_s = options.window_s

    def decode(self, model: PreTrainedModel, audio: Sequence[np.ndarray]) -> list[tuple[str, ...]]:
        """Return the transcripts of each array, joined from those of its chunks, best first."""
        of_clips = [[*split_at_pauses(iter([each]), len(each) / SAMPLING_RATE, self.window_s)] for each in audio]
        chunks = list(chain.from_iterable(of_clips))
        if self.padded is None:
            self.padded = not padding_changes_output(lambda batch: self.encode(model, batch), model.dtype)
        texts: dict[int, list[str]] = {}
        for batch in make_batches([len(chunk) for chunk in chunks], len(audio), padded=self.padded):
            texts.update(zip(batch, self.decode_chunks(model, [chunks[i] for i in batch]), strict=True))
        transcripts = group_by_size([texts[i] for i in range(len(chunks))], map(len, of_clips))
        return [join_nbest(of_clip, " ") for of_clip in transcripts]

    @abstractmethod
    def decode_chunks(self, model: PreTrainedModel, chunks: Sequence[np.ndarray]) -> list[list[str]]:
        """Return the transcripts of each chunk, best first; no chunk is longer than `window_s`."""

    def encode(self, model: PreTrainedModel, chunks: Sequence[np.ndarray]) -> torch.Tensor:
        """Return the encoder's output for the chunks, shape (chunks, frames, channels)."""
        inputs = self.features(model, chunks)
        names = self.processor.feature_extractor.model_input_names
        return model.get_encoder()(**{name: inputs[name] for name in names if name in inputs}).last_hidden_state

    def describe(self) -> dict[str, Any]:
        """Return the checkpoint and the longest chunk; see `Engine.describe`."""
        return super().describe() | {"window_s": self.window_s}


def join_nbest(chunks: Sequence[Sequence[str]], separator: str) -> tuple[str, ...]:
    """Return the n-best list of a clip from those of its chunks: the first of each, the second of each, and so on.

    So each chunk shows its alternatives. The n best of all combinations would not: most of them differ in one chunk
    only. Texts that differ only in whitespace count once; of a chunk with a shorter list the last text is repeated.

    >>> join_nbest([[" I", " I ", " Eye"], [" see.", " sea."]], "")
    ('I see.', 'Eye sea.')
    >>> join_nbest([["so"], [""], ["it goes", "it grows"]], " ")
    ('so it goes', 'so it grows')
    """
    lists = [distinct_texts(texts) for texts in chunks if any(map(str.strip, texts))]
    depth = max(map(len, lists), default=0)
    rows = []
    for k in range(depth):
        texts = [of_chunk[min(k, len(of_chunk) - 1)] for of_chunk in lists]
        rows.append(separator.join(filter(None, texts)))
    return tuple(text.strip() for text in distinct_texts(rows)) or ("",)


class TokenBudget(StoppingCriteria):
    """End the text of each chunk at its own number of tokens, with those of the prompt, independent of the batch."""

    #: `generate` pads rows that have ended only if a criterion has this attribute; without it a transducer continues to
    #: write into a row until the longest row of the batch ends.
    eos_token_id = None

    def __init__(self, most_tokens: Sequence[int]) -> None:
        self.most_tokens = torch.tensor(most_tokens)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """Return per row whether its tokens are used up, shape (rows,)."""
        most_tokens = self.most_tokens.to(input_ids.device)
        return most_tokens.repeat_interleave(len(input_ids) // len(most_tokens)) <= input_ids.shape[1]


def padding_changes_output(encode: Callable[[list[np.ndarray]], torch.Tensor], dtype: torch.dtype) -> bool:
    """Return whether the encoder's output for audio changes if a longer array in the batch makes it padded.

    Many encoders let padding leak into their normalization or their convolutions, despite the attention mask.
    """
    noise = np.random.default_rng(0).normal(0, 0.1, 3 * SAMPLING_RATE).astype(np.float32)
    short = noise[: 201 * SAMPLING_RATE // 100]  # frames of 20 to 80 ms all begin before its end
    alone = encode([short])[0].float()
    padded = encode([short, noise])[0, : len(alone)].float()
    difference = (padded - alone).norm(dim=-1) / alone.norm(dim=-1)
    return bool((difference > torch.finfo(dtype).eps ** 0.5).any())


def make_batches(lengths: Sequence[int], size: int, *, padded: bool) -> list[list[int]]:
    """Return indices in batches, longest first; if items must not be padded, a batch has one length.

    >>> make_batches([5, 9, 5, 5], 2, padded=False)
    [[1], [0, 2], [3]]
    >>> make_batches([5, 9, 5, 5], 2, padded=True)
    [[1, 0], [2, 3]]
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    runs = [order] if padded else [list(run) for _, run in groupby(order, key=lengths.__getitem__)]
    return [run[i : i + size] for run in runs for i in range(0, len(run), size)]
