"""Turn everything that can go wrong while a checkpoint is opened into one line, in this one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from speechiq.core.damage import find_damage, find_special
from speechiq.core.errors import SpeechIQError

TRUSTING = "give trust_remote_code=True, with its stage's prefix, if you trust it"
#: Errors whose words make sense without the name of their type.
PLAIN = (OSError, ValueError, ImportError, RuntimeError)
LONGEST = 300


@contextmanager
def opening(what: str, fix: str, *places: str, trusting: str = TRUSTING) -> Iterator[None]:
    """Raise all that goes wrong inside as one line that names the damaged file, where one is.

    Libraries raise errors of any type for files that are cut off, nested or of another kind, tokenizers even one that
    is not an `Exception`.

    Args:
        what: cannot be done, in words.
        fix: what to do about it.
        places: folders whose files are checked; hub ids are not.
        trusting: what to do where the checkpoint brings Python code that is not trusted.

    Raises:
        SpeechIQError: something went wrong.
    """
    if special := next(filter(None, map(find_special, places)), None):
        raise SpeechIQError(f"{what} ({special}); {fix}")
    try:
        yield
    except (SpeechIQError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if "trust_remote_code" in str(error):
            raise SpeechIQError(f"{what}: comes with Python code of its own; {trusting}") from error
        reason = next(filter(None, map(find_damage, places)), None) or describe(error)
        raise SpeechIQError(f"{what} ({reason[:LONGEST]}); {fix}") from error


def describe(error: BaseException) -> str:
    """Return what an error of another library says first, with its type unless the words make sense alone.

    >>> describe(OSError("no such file.")), describe(KeyError("model"))
    ('no such file', "KeyError: 'model'")
    """
    said = first_line(error)
    return said if isinstance(error, PLAIN) or said == type(error).__name__ else f"{type(error).__name__}: {said}"


def first_line(error: BaseException) -> str:
    """Return what an error of another library says first, without its full stop."""
    return next((line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()), type(error).__name__)
