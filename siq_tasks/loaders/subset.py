"""Choose the clips of a test: the N longest, equal for all users (paper, section 4.1)."""

import hashlib
from collections.abc import Mapping, Sequence

from speechiq.core.console import count_of
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.loaders.odd_rows import MARKED

NOT_SCORED = "ignore time segment in scoring"


def check_reference(text: str, normalizer: str) -> None:
    """Raise a `RowError` if a reference cannot be scored: the normalizer leaves no word, or its authors marked it.

    >>> check_reference("Good morning.", "english")
    >>> check_reference("um", "multilingual")
    >>> check_reference("Um...", "english")
    Traceback (most recent call last):
    ...
    speechiq.core.errors.RowError: row: 'Um...' has no word to score
    """
    if text.replace("_", " ").strip().casefold() == NOT_SCORED:
        raise RowError(MARKED)
    if not any(map(str.isalnum, normalize(text, normalizer))):
        raise RowError("no word to score", f"{text!r:.80} has no word to score")


def choose(lengths: Mapping[str, float], size: int | str, ties: str = "id") -> list[str]:
    """Return the ids of the `size` longest, longest first.

    `lengths` has the seconds of audio or the characters of the reference of all clips that can be scored, in the order
    of the data set; `ties` is the order of clips of one length: by `id`, or `order`, that of the data set, as in the
    released numbers.

    >>> choose({"b": 2.0, "a": 2.0, "c": 9.0}, 2)
    ['c', 'a']
    >>> choose({"b": 2.0, "a": 2.0, "c": 9.0}, 2, "order")
    ['c', 'b']
    """
    wanted, clips = len(lengths) if size == "all" else size, count_of(len(lengths), "clip")
    if type(wanted) is not int or wanted < 1:
        raise SpeechIQError(
            f"subset={size!s:.40}",
            "neither a whole number above 0 nor all",
            f"give one of them ({clips} can be scored)",
        )
    if wanted > len(lengths):
        raise SpeechIQError(f"subset={size!s:.40}", f"only {clips} can be scored", "give a lower number, or all")
    ordered = sorted(lengths) if ties == "id" else lengths
    return sorted(ordered, key=lambda key: -lengths[key])[:wanted]


def ids_sha256(ids: Sequence[str]) -> str:
    """Return the sha256 of the sorted ids; two runs with the same value used the same clips."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()
