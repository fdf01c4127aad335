"""Check that a model samples: some servers decode greedily, independent of temperature and seeds."""

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
    """Refuse settings by which `n` answers would be the same; warn if the settings ask for it.

    Args:
        settings: generation settings of the task.
        n: answers per question.

    Raises:
        SpeechIQError: sampling at temperature 0.
    """
    if n > 1 and not settings.get("do_sample"):
        log.warning("do_sample is not set: the %d answers to a question will be the same", n)
    elif n > 1 and settings.get("temperature", 1) <= 0:
        raise SpeechIQError(
            f"temperature={settings['temperature']}: cannot sample {n} answers to a question; give a number above 0, "
            f"or --gen_kwargs do_sample=false to get the same answer {n} times"
        )


def check_samples(name: str, settings: Mapping[str, Any], ask: Callable[[str, Sequence[int]], Sequence[str]]) -> None:
    """Refuse a model that gives the same answer to an open question for all seeds.

    Args:
        name: name of the model.
        settings: generation settings by which it will sample. At temperatures below `WARM` equal answers prove
            nothing, and the model is not asked.
        ask: takes a prompt and seeds, returns one answer per seed.

    Raises:
        SpeechIQError: the model does not sample.
    """
    if settings.get("temperature", 1) >= WARM and len(set(ask(PROBE, PROBE_SEEDS))) == 1:
        raise SpeechIQError(
            f"{name}: gives the same answer for every seed, so its answers to a question would be the same; let its "
            f"server sample (do_sample in the model's generation_config.json), or --gen_kwargs do_sample=false"
        )
