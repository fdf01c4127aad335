"""Name the variants of a question (`--metadata listen=`), which show whether a model listens, and timed answers."""

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean

#: The key of metadata, and of `audio` in the docs of a variant.
LISTEN = "listen"
#: The reference transcript instead of the audio, silence of the same length, and the audio of another clip.
TEXT, MUTED, SWAPPED = "text", "muted", "swapped"
VARIANTS = (TEXT, MUTED, SWAPPED)
#: The key of metadata, and of the generation settings, of answers that are timed, and its only value.
TIMING, STREAM = "timing", "stream"
#: The tasks that can be timed, for errors.
TIMED_TASKS = "tasks whose answers are written or spoken freely can: Apply, those with a judge or options, and replies"


def check_timing(value: object) -> None:
    """Refuse another value of `timing` than `stream`."""
    if value != STREAM:
        raise SpeechIQError(f"--metadata {TIMING}={value!s:.80}", "unknown", f"give {TIMING}={STREAM}, or leave it out")


def parse_listen(value: object) -> str:
    """Return the variant that a user names, or refuse an unknown one.

    >>> parse_listen("mutde")
    Traceback (most recent call last):
    ...
    speechiq.core.errors.SpeechIQError: --metadata listen=mutde: unknown; did you mean muted? known are text, muted, \
swapped
    """
    if not isinstance(value, str) or value not in VARIANTS:
        fix = f"{did_you_mean(str(value), VARIANTS)}known are {', '.join(VARIANTS)}"
        raise SpeechIQError(f"--metadata {LISTEN}={value!s:.80}", "unknown", fix)
    return value
