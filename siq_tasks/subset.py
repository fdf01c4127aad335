"""Choose the clips of a test: the longest N, the same ones for everybody (paper, section 4.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.normalizer import normalize

SELECTIONS = ("longest-audio", "longest-text")
NOT_SCORED = "ignore time segment in scoring"


def counts(text: str) -> bool:
    """Whether a reference can be scored: it has words, and its words are not the mark of a segment to ignore.

    >>> counts("Good morning."), counts("uh, um"), counts("ignore_time_segment_in_scoring")
    (True, False, False)
    """
    words = normalize(text.replace("_", " "))
    return bool(words) and words != NOT_SCORED


def choose(lengths: Mapping[str, float], size: int | str) -> list[str]:
    """Return the ids of the `size` longest, longest first, ties by id.

    Args:
        lengths: id -> seconds of audio or characters of reference, of all clips that count.
        size: how many, or `all`.

    Raises:
        SpeechIQError: a size that is none, or more than there are.

    >>> choose({"b": 2.0, "a": 2.0, "c": 9.0}, 2)
    ['c', 'a']
    """
    wanted = len(lengths) if size == "all" else size
    if type(wanted) is not int or wanted < 1:
        raise SpeechIQError(
            f"subset={size!s:.40}: neither a whole number above 0 nor all, of {len(lengths)} clips that count"
        )
    if wanted > len(lengths):
        raise SpeechIQError(f"subset={size!s:.40}: only {len(lengths)} clips can be scored; ask for fewer, or for all")
    return sorted(lengths, key=lambda key: (-lengths[key], key))[:wanted]


def ids_sha256(ids: Sequence[str]) -> str:
    """The sha256 of the chosen ids, whatever their order: two people with the same one ran the same clips.

    >>> ids_sha256(["a", "b"]) == ids_sha256(["b", "a"])
    True
    """
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()
