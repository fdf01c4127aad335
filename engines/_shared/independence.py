"""Whether a model samples at all: some servers decode greedily, whatever temperature and seeds they are sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from speechiq.core.errors import SpeechIQError

log = logging.getLogger(__name__)

PROBE = "Write down ten words that have nothing to do with each other."
PROBE_SEEDS = (1, 2, 3)
WARM = 0.5


def check_settings(settings: Mapping[str, Any], n: int) -> None:
    """Refuse settings by which `n` answers would be one; say so where that is asked for.

    Raises:
        SpeechIQError: sampling at temperature 0.
    """
    if n > 1 and not settings.get("do_sample"):
        log.warning("do_sample is not set: the %d answers to a question will be one, %d times", n, n)
    elif n > 1 and settings.get("temperature", 1) <= 0:
        raise SpeechIQError(
            f"temperature={settings['temperature']}: cannot sample {n} answers to a question; give a number above 0, "
            f"or --gen_kwargs do_sample=false to have one answer {n} times"
        )


def check_samples(name: str, settings: Mapping[str, Any], ask: Callable[[str, Sequence[int]], Sequence[str]]) -> None:
    """Refuse a model whose answers to a question without a right one are the same for all seeds.

    Args:
        name: of the model.
        settings: by which it will sample; low temperatures tell nothing and are let pass.
        ask: takes a prompt and seeds, gives an answer a seed.

    Raises:
        SpeechIQError: it does not sample.
    """
    if settings.get("temperature", 1) >= WARM and len(set(ask(PROBE, PROBE_SEEDS))) == 1:
        raise SpeechIQError(
            f"{name}: gives the same answer whatever the seed, so its answers to a question would be one; have its "
            f"server sample (do_sample in the model's generation_config.json), or --gen_kwargs do_sample=false"
        )
