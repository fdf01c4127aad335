"""Score how fast an answer came: columns of timed tasks beside their scores, in seconds."""

import math
from collections.abc import Mapping
from typing import Any

from speechiq.core.clip import file_clip
from speechiq.core.response import Response
from speechiq.core.usage import Latency
from speechiq.metrics.columns import higher, lower, mean

FIRST_TOKEN, FIRST_AUDIO, TOTAL, FACTOR = "first_token_s", "first_audio_s", "total_s", "real_time_factor"
WARM_UP, CACHED, AT_ONCE = "warm_up", "from_cache", "requests_at_once"
#: The times of an answer.
TIMES = FIRST_TOKEN, FIRST_AUDIO, TOTAL, FACTOR
COLUMNS = (*lower(*TIMES, aggregation=mean), *lower(WARM_UP, CACHED), *higher(AT_ONCE, aggregation=mean))


def score(response: Response | None, doc: Mapping[str, Any]) -> dict[str, float]:
    """Return the times of the answer to a doc; NaN for one of the warm-up or from the response cache.

    Returns:
        `first_token_s`, `first_audio_s`, `total_s`, `real_time_factor` (`total_s` / seconds of the spoken answer, or of
        the clip for an answer that was only written), `warm_up`, `from_cache`, `requests_at_once` (requests under way
        when the answer was requested, itself included).

    >>> answer = Response("Yes.", latency=Latency(False, 1, 0.25, total=0.5))
    >>> score(answer, {"audio": {"path": "a.wav", "sha256": "0a", "duration": 2.0}})["real_time_factor"]
    0.25
    """
    times = response.latency if response else None
    flags = {WARM_UP: float(times is not None and times.is_warm_up), CACHED: float(times is None)}
    if response is None or times is None or times.is_warm_up:
        return dict.fromkeys((*TIMES, AT_ONCE), math.nan) | flags
    values = times.first_token, times.first_audio, times.total, times.total / _find_seconds(response, times, doc)
    return dict(zip(TIMES, values, strict=True)) | flags | {AT_ONCE: float(times.at_once)}


def _find_seconds(response: Response, times: Latency, doc: Mapping[str, Any]) -> float:
    """Return the seconds of the spoken answer, or else of the clip as it was heard.

    They are NaN without audio, or if a voice spoke the answer later.
    """
    if response.audio is None:
        return file_clip(doc["audio"]).duration if "sha256" in doc["audio"] else math.nan
    return math.nan if math.isnan(times.first_audio) else response.audio.duration
