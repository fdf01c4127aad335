"""Read n-best lists from the beam search itself, for each window of Whisper."""

import copy
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

import torch
from msgspec import Meta
from transformers import GenerationConfig, GenerationMixin, LogitsProcessor, WhisperForConditionalGeneration

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import distinct_texts
from speechiq.engines.options import Count

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
        beams = [
            _drop_rest(beam[: beam.index(eos)] if eos in beam else beam, begin)
            for beam in next(group)["result"]["beams"].tolist()
        ]
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
