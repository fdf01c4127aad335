"""Name the variants of a question, the values of `--metadata listen=`, which show whether a model listens."""

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean

#: The key of metadata, and of `audio` in the docs of a variant.
LISTEN = "listen"
#: The reference transcript instead of the audio, silence of the same length, and the audio of another clip.
TEXT, MUTED, SWAPPED = "text", "muted", "swapped"
VARIANTS = (TEXT, MUTED, SWAPPED)


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
