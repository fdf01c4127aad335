"""Sample answers by the settings of `generate` of transformers, each by its own seed and independent of the batch."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

from speechiq.core.checkpoints.opening import first_line
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import current_clock
from speechiq.engines._transformers import default_sampling

PENALTY = {"repetition_penalty": RepetitionPenaltyLogitsProcessor}
#: In the order in which transformers applies them.
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
#: Values, in addition to 0, with which a processor changes nothing.
NEUTRAL = {"repetition_penalty": 1, "top_p": 1, "typical_p": 1}
#: Values of `generate` for settings that neither the user nor the checkpoint gives.
DEFAULTS = default_sampling()
KNOWN = {"do_sample", "max_gen_toks", "until", *PROCESSORS}
#: The largest seed of torch's generators, and 1.
SEEDS = 2**63

log = logging.getLogger(__name__)


def check_sampling_settings(settings: Mapping[str, Any], n: int) -> None:
    """Refuse settings by which `n` answers to a question would be the same; warn if the settings ask for it."""
    if n > 1 and not settings.get("do_sample"):
        log.warning("do_sample is not set: the %d answers to a question will be the same", n)
    elif n > 1 and settings.get("temperature", 1) <= 0:
        raise SpeechIQError(
            f"temperature={settings['temperature']}",
            f"cannot sample {n} answers to a question",
            f"give a number above 0, or --gen_kwargs do_sample=false to get the same answer {n} times",
        )


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Let a model draw the random numbers of a seed inside the block; those of the process are unchanged after it."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed % SEEDS)
        yield


def uniforms(seeds: Sequence[int], steps: int) -> np.ndarray:
    """Return random numbers in [0, 1), shape (seeds, steps); each row depends on its own seed alone."""
    return np.stack([np.random.default_rng(seed).random(steps) for seed in seeds])


def draw_choices(logits: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Return per row of `logits` (rows, choices) the index that its number in [0, 1) draws, by softmax(logits)."""
    heights = logits.double().softmax(-1).cumsum(-1)
    levels = numbers.to(heights)[:, None] * heights[:, -1:]
    return torch.searchsorted(heights, levels, right=True).squeeze(-1).clamp(max=logits.shape[-1] - 1)


class SeededSampling(LogitsProcessor):
    """Leave only the sampled token of each row, which greedy decoding then takes.

    Each token draws a waiting time, exponential with its probability as the rate, and the first one wins. Logits that
    differ by the rounding of another batch almost never change the winner; they would if a sum over the whole
    vocabulary were inverted.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self.generators: list[torch.Generator] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return `scores` of shape (rows, vocabulary) with 0 for the sampled token and -inf for all others."""
        if not self.generators:
            self.generators = [torch.Generator(scores.device).manual_seed(seed) for seed in self.seeds]
        numbers = torch.stack([torch.rand(scores.shape[-1], generator=g, device=g.device) for g in self.generators])
        waits = -numbers.log() / scores.float().softmax(-1)
        return torch.full_like(scores, -torch.inf).scatter(-1, waits.argmin(-1, keepdim=True), 0.0)


class Finished(StoppingCriteria):
    """Call `on_finished` at each step with the number of rows that end with one of the tokens `ends`; stop nothing.

    While an answer is timed, the first token of some row that is not one of `ends` is marked on its clock.
    """

    def __init__(self, ends: Sequence[int], on_finished: Callable[[int], object]) -> None:
        self.ends, self.on_finished = torch.tensor(list(ends), dtype=torch.long), on_finished
        self.ended: torch.Tensor | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        """Report the rows that end with this step, and mark the first token; return False for all rows."""
        self.ends = self.ends.to(input_ids.device)
        ended = torch.isin(input_ids[:, -1], self.ends)
        before = torch.zeros_like(ended) if self.ended is None else self.ended
        self.ended = ended | before
        self.on_finished(int((self.ended & ~before).sum()))
        if (clock := current_clock.get()) is not None and not ended.all():
            clock.mark("first_token")
        return torch.zeros_like(ended)


class RefuseNaN(LogitsProcessor):
    """Stop a model that computes NaN, before its tokens seem to be an answer."""

    def __init__(self, name: str, dtype: torch.dtype) -> None:
        self.name, self.dtype = name, dtype

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return `scores` unchanged, or raise."""
        refuse_nan(scores, self.name, self.dtype)
        return scores


def refuse_nan(numbers: torch.Tensor, name: str, dtype: torch.dtype) -> None:
    """Refuse numbers of a model that contain NaN."""
    if numbers.isnan().any():
        type_name = str(dtype).removeprefix("torch.")
        raise SpeechIQError(name, f"computes NaN in {type_name}", "give its stage dtype=bfloat16 or float32")


def sampling_settings(settings: Mapping[str, Any], own: GenerationConfig) -> dict[str, Any]:
    """Return the settings by which answers are sampled, with the precedence of `generate`; refuse invalid ones.

    A value comes from the task, else from the checkpoint, else from the defaults of the installed transformers
    (`top_k=50`, for example). Values that change nothing, such as `top_p=1`, are left out.
    """
    if unknown := [name for name in settings if name not in KNOWN]:
        raise SpeechIQError(
            f"--gen_kwargs {unknown[0]}={settings[unknown[0]]}", "the hf engine does not know it", "leave it out"
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
    """Return the processors of transformers for settings by their names in `PROCESSORS`, in its order."""
    return [_processor(name, used[name], device) for name in PROCESSORS if name in used]


def _processor(name: str, value: float, device: str | torch.device) -> LogitsProcessor:
    place = {"device": device} if name == "eta_cutoff" else {}
    try:
        return PROCESSORS[name](value if name == "top_k" else float(value), **place)
    except (TypeError, ValueError) as error:
        raise SpeechIQError(f"--gen_kwargs {name}={value}", first_line(error), "give another value") from error
