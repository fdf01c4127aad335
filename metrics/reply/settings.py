"""Read the settings by which spoken replies are scored, and refuse what cannot work before any system runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.metrics.judge.judging import KEYS as JUDGE_KEYS
from speechiq.metrics.judge.judging import read_judging
from speechiq.metrics.reply.rater import DEFAULT, describe_rater, read_rater
from speechiq.metrics.reply.rater import KEY as QUALITY
from speechiq.metrics.reply.transcript import KEY, PREFIX, read_reply_asr

RUBRIC = "points_1_10"
#: Keys of metadata that tasks with spoken replies read.
KEYS = JUDGE_KEYS | {KEY, f"{PREFIX}*", QUALITY}


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what docs and results of a task with spoken replies record; the `read_settings` of the type `reply`.

    Args:
        metadata: That of `metrics.judging.read_judging`, `reply_asr`, `reply_asr_*` and `speech_quality` (see
            `metrics.rater.read_rater`).

    Raises:
        SpeechIQError: A setting is invalid, or a model is missing.
    """
    quality = metadata.get(QUALITY, DEFAULT)
    rater = read_rater(quality)
    asr = read_reply_asr(metadata)
    reply = {"options": asr["reply_asr_options"]} if asr["reply_asr_options"] else {}
    recorded = {KEY: asr[KEY]} | describe_rater(rater)
    return read_judging(metadata, RUBRIC).record() | recorded | {"reply": {KEY: asr[KEY], QUALITY: quality} | reply}
