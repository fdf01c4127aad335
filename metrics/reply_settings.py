"""Read the settings by which spoken replies are scored, and refuse what cannot work before any system runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.judging import KEYS as JUDGE_KEYS
from speechiq.metrics.judging import read_judging
from speechiq.metrics.reply_transcript import KEY, PREFIX, read_reply_asr
from speechiq.metrics.speech_quality import check_model

RUBRIC = "points_1_10"
QUALITY = "speech_quality"
#: Ratings of speech quality.
RATINGS = ("distillmos", "off")
#: Keys of metadata that tasks with spoken replies read.
KEYS = JUDGE_KEYS | {KEY, f"{PREFIX}*", QUALITY}


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what docs and results of a task with spoken replies record; the `read_settings` of the form `reply`.

    Args:
        metadata: That of `metrics.judging.read_judging`, `reply_asr`, `reply_asr_*` and `speech_quality` (`distillmos`
            or `off`).

    Raises:
        SpeechIQError: A setting is invalid, or a model was not fetched.
    """
    quality = metadata.get(QUALITY, RATINGS[0])
    if quality not in RATINGS:
        raise SpeechIQError(f"{QUALITY}={quality}: unknown; known are {', '.join(RATINGS)}")
    if quality == RATINGS[0]:
        check_model()
    asr = read_reply_asr(metadata)
    reply = {"options": asr["reply_asr_options"]} if asr["reply_asr_options"] else {}
    recorded = {KEY: asr[KEY], QUALITY: quality}
    return read_judging(metadata, RUBRIC).record() | recorded | {"reply": recorded | reply}
