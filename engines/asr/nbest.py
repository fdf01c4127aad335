"""n-best lists: true ones, of the beam search itself, window by window."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import torch
from transformers import GenerationConfig, GenerationMixin, LogitsProcessor, WhisperForConditionalGeneration

from speechiq.core.errors import SpeechIQError


def count_beams(num_beams: int | None, nbest: int | None) -> int:
    """Return how many beams are searched; an n-best list needs as many.

    >>> count_beams(None, 5), count_beams(None, None)
    (5, 1)

    Raises:
        SpeechIQError: fewer beams than hypotheses.
    """
    beams = num_beams or nbest or 1
    if beams < (nbest or 1):
        raise SpeechIQError(f"asr_nbest={nbest}: asr_num_beams={beams} cannot give so many; raise it or leave it out")
    return beams


def join(windows: Sequence[Sequence[str]], between: str) -> tuple[str, ...]:
    """The n-best list of a clip from those of its windows: the first of each, the second of each, and so on.

    Thus every window shows what was possible there, which the n best of all combinations, of which most differ
    in one window only, would not. What differs in whitespace alone counts once; a window whose list ends sooner
    goes on with its last text.

    Args:
        windows: of each window its texts, best first; of one window or more, no list empty.
        between: what stands between the texts of two windows.

    Returns:
        At least one text, best first, no two alike.

    >>> join([[" I", " I ", " Eye"], [" see.", " sea."]], "")
    ('I see.', 'Eye sea.')
    >>> join([["so"], [""], ["it goes", "it grows"]], " ")
    ('so it goes', 'so it grows')
    """
    told = [unlike(texts) for texts in windows if any(map(str.strip, texts))]
    depth = max(map(len, told), default=0)
    rows = [between.join(filter(None, (texts[min(k, len(texts) - 1)] for texts in told))) for k in range(depth)]
    return tuple(text.strip() for text in unlike(rows)) or ("",)


def unlike(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts without those that differ from one before in whitespace alone.

    >>> unlike(["so it goes", " so it  goes", "so it grows"])
    ('so it goes', 'so it grows')
    """
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(" ".join(text.split()), text)
    return tuple(first.values())


class OneTime(LogitsProcessor):
    """Leaves of a step's timestamps the likeliest, so that beams differ in words, not in hundredths of a second.

    Args:
        begin: the id of the first timestamp token; all from there on are timestamps.
    """

    def __init__(self, begin: int) -> None:
        self.begin = begin

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        rest, times = scores.split([self.begin, scores.shape[1] - self.begin], dim=-1)
        return torch.cat([rest, times.masked_fill(times < times.amax(-1, keepdim=True), -torch.inf)], dim=-1)


class _AllBeams(GenerationMixin):
    """The beam search that Whisper's decoding of long clips calls for each window: gives all beams with the best."""

    def generate(
        self, *args: Any, generation_config: GenerationConfig, decoder_input_ids: torch.Tensor, **kwargs: Any
    ) -> dict[str, torch.Tensor]:
        asked = copy.copy(generation_config)
        asked.update(num_return_sequences=asked.num_beams, return_dict_in_generate=True)
        found = super().generate(*args, generation_config=asked, decoder_input_ids=decoder_input_ids, **kwargs)
        beams = found.sequences.unflatten(0, (-1, asked.num_beams))
        return {"sequences": beams[:, 0], "beams": beams[:, :, decoder_input_ids.shape[1] :]}


class WhisperWithBeams(WhisperForConditionalGeneration, _AllBeams):
    """Whisper whose `generate(..., return_segments=True)` keeps all beams of each window.

    Whisper's own `num_return_sequences` repeats the clip and gives as many copies of the best beam.
    """


def read_windows(segments: Sequence[dict], *, eos: int, begin: int) -> list[list[list[int]]]:
    """Of each window of a clip, the tokens of the beams that end where the best one does, best first.

    The next window begins there, so another end would lose words or say them twice.

    Args:
        segments: of a clip, as `WhisperWithBeams.generate` returns them.
        eos, begin: ids of the end of a text and of the first timestamp.
    """
    windows = []
    for _, of_window in groupby(segments, key=lambda segment: id(segment["result"])):
        beams = [_until_next(_until(beam, eos), begin) for beam in next(of_window)["result"]["beams"].tolist()]
        windows.append([tokens for tokens, end in beams if end == beams[0][1]])
    return windows


def _until(tokens: list[int], eos: int) -> list[int]:
    return tokens[: tokens.index(eos)] if eos in tokens else tokens


def _until_next(tokens: list[int], begin: int) -> tuple[list[int], int | None]:
    """What Whisper keeps of a window, and the timestamp where the next one begins; None is the end of the window.

    Two timestamps in a row part segments; what follows the last such pair is decoded again with the next window,
    unless the text closes with a single timestamp (openai/whisper, `transcribe.py`).
    """
    times = [token >= begin for token in tokens]
    pairs = [i for i in range(1, len(tokens)) if times[i - 1] and times[i]]
    if not pairs or times[-2:] == [False, True]:
        return tokens, None
    return tokens[: pairs[-1] + 1], tokens[pairs[-1] - 1]
