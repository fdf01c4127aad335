"""Name the variants of a question (`--metadata listen=`), which show whether a model listens, and timed answers."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.options import Options
from speechiq.metrics.settings import Text

#: The key of metadata with a condition; see `spec.py`.
CONDITION = "condition"
#: The key of metadata, and of `audio` in the docs of a variant.
LISTEN = "listen"
#: The reference transcript instead of the audio, silence of the same length, and the audio of another clip.
TEXT, MUTED, SWAPPED = "text", "muted", "swapped"
VARIANTS = (TEXT, MUTED, SWAPPED)
#: The key of metadata, and of the generation settings, of answers that are timed, and its only value.
TIMING, STREAM = "timing", "stream"
#: The tasks that can be timed, for errors.
TIMED_TASKS = "tasks whose answers are written or spoken freely can: Apply, those with a judge or options, and replies"


class RunSettings(Options, frozen=True, kw_only=True):
    """Define the settings of a run that every task reads."""

    condition: Annotated[
        Any,
        Meta(
            description="Change of the audio before any model receives it, such as `white@10dB`; steps are joined by "
            "`+`. See [Conditions](../how-to/conditions.md)."
        ),
    ] = None
    preset: Annotated[
        Text | None,
        Meta(
            description="Name of the prompts and settings behind printed numbers ([numbers of "
            "others](../how-to/numbers_of_others.md))."
        ),
    ] = None
    language: Annotated[
        Any,
        Meta(
            description="Language of the data set, a code such as `de` or `zh`, which recognizers are given; the sets "
            "in English need none."
        ),
    ] = None


class QuestionSettings(Options, frozen=True, kw_only=True):
    """Define the settings of a run that every task with a question reads."""

    listen: Annotated[
        Literal["text", "muted", "swapped"] | None,
        Meta(
            description="What a system gets instead of the audio: the reference transcript, silence of the same "
            "length, or another clip. See [Did it listen?](../how-to/listen.md)."
        ),
    ] = None
    timing: Annotated[
        Literal["stream"] | None,
        Meta(
            description="Times each answer until its first token, its first audio and its end. See [How soon does it "
            "answer?](../how-to/latency.md)."
        ),
    ] = None


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
