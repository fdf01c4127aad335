"""Turn every error of opening a checkpoint into one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from speechiq.core.checkpoints.damage import find_damage, find_special
from speechiq.core.errors import SpeechIQError

TRUSTING = "give trust_remote_code=True, with its stage's prefix, if you trust it"
#: Errors whose words make sense without the name of their type.
PLAIN = (OSError, ValueError, ImportError, RuntimeError)
LONGEST = 300


@contextmanager
def opening(what: str, fix: str, *places: str, trusting: str = TRUSTING) -> Iterator[None]:
    """Turn any error inside the block into one line: what cannot be done, the damaged file if there is one, the fix.

    Libraries raise errors of any type for files that are cut off, nested or of another kind; tokenizers raise one that
    is not an `Exception`. Files in those `places` that are folders are checked. `trusting` is the fix if the checkpoint
    has Python code that is not trusted.
    """
    if special := next(filter(None, map(find_special, places)), None):
        raise SpeechIQError(f"{what} ({special})", fix=fix)
    try:
        yield
    except (SpeechIQError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if "trust_remote_code" in str(error):
            raise SpeechIQError(what, "comes with Python code of its own", trusting) from error
        reason = next(filter(None, map(find_damage, places)), None) or describe(error)
        raise SpeechIQError(f"{what} ({reason[:LONGEST]})", fix=fix) from error


def describe(error: BaseException) -> str:
    """Return the first line of an error of another library, with its type unless the words make sense alone.

    >>> describe(OSError("no such file.")), describe(KeyError("model"))
    ('no such file', "KeyError: 'model'")
    """
    line = first_line(error)
    return line if isinstance(error, PLAIN) or line == type(error).__name__ else f"{type(error).__name__}: {line}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error of another library, without its period."""
    return next((line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()), type(error).__name__)
