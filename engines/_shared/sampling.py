"""How answers are sampled: by the settings of `generate`, and by a seed alone, not by the batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from transformers import (
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    GenerationConfig,
    LogitsProcessor,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    StoppingCriteria,
    TemperatureLogitsWarper,
    TopHLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from speechiq.core.errors import SpeechIQError
from speechiq.core.opening import first_line
from speechiq.engines._transformers import default_sampling

PENALTY = {"repetition_penalty": RepetitionPenaltyLogitsProcessor}
#: In the order of transformers.
PROCESSORS = PENALTY | {
    "temperature": TemperatureLogitsWarper,
    "top_h": TopHLogitsWarper,
    "top_k": TopKLogitsWarper,
    "top_p": TopPLogitsWarper,
    "min_p": MinPLogitsWarper,
    "typical_p": TypicalLogitsWarper,
    "epsilon_cutoff": EpsilonLogitsWarper,
    "eta_cutoff": EtaLogitsWarper,
}
#: Values, beside 0, with which a processor changes nothing.
NEUTRAL = {"repetition_penalty": 1, "top_p": 1, "typical_p": 1}
#: What `generate` takes where neither the user nor the checkpoint says anything.
DEFAULTS = default_sampling()
KNOWN = {"do_sample", "max_gen_toks", "until", *PROCESSORS}


def uniforms(seeds: Sequence[int], steps: int) -> np.ndarray:
    """Numbers in [0, 1), shape (seeds, steps): each row from its own seed."""
    return np.stack([np.random.default_rng(seed).random(steps) for seed in seeds])


def draw(logits: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Sample one of a few choices by inverting the cumulative distribution.

    Args:
        logits: shape (rows, choices), finite.
        numbers: one in [0, 1) a row, shape (rows,).

    Returns:
        Indices, shape (rows,), index i with probability softmax(logits)[i].
    """
    heights = logits.double().softmax(-1).cumsum(-1)
    levels = numbers.to(heights)[:, None] * heights[:, -1:]
    return torch.searchsorted(heights, levels, right=True).squeeze(-1).clamp(max=logits.shape[-1] - 1)


class SeededSampling(LogitsProcessor):
    """Leaves only the sampled token of each row, so that greedy decoding takes it.

    Each token draws a waiting time, exponential with its probability as the rate, and the first one wins. Logits that
    differ by the rounding of another batch almost never change the winner, as they would by inverting a sum over the
    whole vocabulary.

    Args:
        seeds: one a row of the batch.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self.generators: list[torch.Generator] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if not self.generators:
            self.generators = [torch.Generator(scores.device).manual_seed(seed) for seed in self.seeds]
        numbers = torch.stack([torch.rand(scores.shape[-1], generator=g, device=g.device) for g in self.generators])
        waits = -numbers.log() / scores.float().softmax(-1)
        return torch.full_like(scores, -torch.inf).scatter(-1, waits.argmin(-1, keepdim=True), 0.0)


class Finished(StoppingCriteria):
    """Reports each row that ends, as soon as it ends; stops nothing by itself.

    Args:
        ends: the tokens that end a text.
        tell: takes how many rows have ended in a step.
    """

    def __init__(self, ends: Sequence[int], tell: Callable[[int], object]) -> None:
        self.ends, self.tell = torch.tensor(list(ends), dtype=torch.long), tell
        self.ended: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        self.ends = self.ends.to(input_ids.device)
        ended = torch.isin(input_ids[:, -1], self.ends)
        before = torch.zeros_like(ended) if self.ended is None else self.ended
        self.ended = ended | before
        self.tell(int((self.ended & ~before).sum()))
        return torch.zeros_like(ended)


class RefuseNaN(LogitsProcessor):
    """Stops a model whose numbers overflow, before its tokens look like an answer.

    Args:
        name: of the model.
        dtype: in which it computes.
    """

    def __init__(self, name: str, dtype: torch.dtype) -> None:
        self.name, self.dtype = name, dtype

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        refuse_nan(scores, self.name, self.dtype)
        return scores


def refuse_nan(numbers: torch.Tensor, name: str, dtype: torch.dtype) -> None:
    """Refuse what a model computed where it is not a number.

    Raises:
        SpeechIQError: naming the model.
    """
    if numbers.isnan().any():
        told = str(dtype).removeprefix("torch.")
        raise SpeechIQError(f"{name}: computes NaN in {told}; give its stage dtype=bfloat16 or float32")


def sampling_settings(settings: Mapping[str, Any], own: GenerationConfig) -> dict[str, Any]:
    """Return what decides how answers are sampled, as `generate` of transformers decides it.

    A setting is the task's, else the checkpoint's own, else the default of the installed transformers (`top_k=50`,
    for example). What changes nothing, such as `top_p=1`, is left out.

    Args:
        settings: of the task.
        own: of the checkpoint.

    Returns:
        `do_sample` and the settings that are in effect, JSON types only.

    Raises:
        SpeechIQError: a setting that is not known, or an invalid value.
    """
    if unknown := [name for name in settings if name not in KNOWN]:
        raise SpeechIQError(
            f"--gen_kwargs {unknown[0]}={settings[unknown[0]]}: the hf engine does not know it; leave it out"
        )
    sampled = bool(settings.get("do_sample")) and settings.get("temperature") != 0
    used = {}
    for name in PROCESSORS if sampled else PENALTY:
        given = (settings.get(name), getattr(own, name, None), DEFAULTS.get(name))
        value = next((value for value in given if value is not None), None)
        if value and value != NEUTRAL.get(name):
            used[name] = value
    processors(used, "cpu")
    return {"do_sample": sampled, **used}


def processors(used: Mapping[str, Any], device: str | torch.device) -> list[LogitsProcessor]:
    """Return the processors of transformers for settings that are in effect, in its order.

    Args:
        used: names in `PROCESSORS` and their values.
        device: of the model.

    Raises:
        SpeechIQError: an invalid value.
    """
    return [_processor(name, used[name], device) for name in PROCESSORS if name in used]


def _processor(name: str, value: float, device: str | torch.device) -> LogitsProcessor:
    place = {"device": device} if name == "eta_cutoff" else {}
    try:
        return PROCESSORS[name](value if name == "top_k" else float(value), **place)
    except (TypeError, ValueError) as error:
        raise SpeechIQError(f"--gen_kwargs {name}={value}: {first_line(error)}; give another value") from error
