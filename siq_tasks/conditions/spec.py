"""Define what a run may change in its tasks: a condition of the audio, a variant of the question, and timed answers.

The variants of a question (`--metadata listen=`) show whether a model listens. A condition, such as `white@10dB` or
`band:300-3400+codec:gsm`, is a chain of steps, joined by `+` and applied in this order. `KINDS` has all kinds of steps.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import suggest
from speechiq.engines.options import Options
from speechiq.metrics.settings import Text

#: The key of metadata with a condition; see `spec.py`.
CONDITION = "condition"
#: The key of metadata, and of `audio` in the docs of a variant.
LISTEN = "listen"
#: The reference transcript instead of the audio, silence of the same length, and the audio of another clip.
TEXT, MUTED, SWAPPED = "text", "muted", "swapped"
#: The key of metadata, and of the generation settings, of answers that are timed, and its only value.
TIMING, STREAM = "timing", "stream"
#: The tasks that can be timed, for errors.
TIMED_TASKS = "tasks whose answers are written or spoken freely can: Apply, those with a judge or options, and replies"


class RunSettings(Options, frozen=True, kw_only=True):
    """Define the settings of a run that every task reads."""

    condition: Annotated[
        Text | None,
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


#: Levels beyond this are refused; an infinite signal-to-noise ratio means no noise.
LARGEST_DB = 100.0
SNR = {"dB": (-LARGEST_DB, math.inf)}
NYQUIST_HZ = 8_000.0
#: The last `@` begins the strength: the name of a folder may have others.
_STEP = re.compile(r"(?P<kind>[^:@]+)(?::(?P<value>.+?))?(?:@(?P<strength>[^@]*))?")
_NUMBER = re.compile(r"(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+|inf))(?P<unit>[A-Za-z]*)", re.ASCII)


class Step(NamedTuple):
    """Hold one step of a condition.

    Attributes:
        text: The step in the one form in which results name it, however the user wrote it.
        strength: What `siq study robustness` draws on its axis, in `unit`.
        unit: Unit of `strength`; empty for a ratio.
        name: A number of voices, a folder or a codec; empty for other kinds.
        high: The upper limit of a band, Hz; `strength` is then the lower one.
        neutral: The strength, in `unit`, that changes nothing; NaN if there is none.
        scale: What distinguishes a second scale of strengths of the same kind; empty for the usual scale.
    """

    text: str
    kind: str
    strength: float
    unit: str = ""
    name: str = ""
    high: float = math.nan
    neutral: float = math.nan
    scale: str = ""


#: Takes the step, the text after `:` and the text after `@` (empty if missing).
Parser = Callable[[str, str, str], Step]


class Kind(NamedTuple):
    """Describe how one kind of step is written: a valid step, its meaning for help texts, and its parser."""

    example: str
    meaning: str
    parse: Parser


def parse_condition(text: str) -> list[Step]:
    """Return the steps of a condition; refuse unknown kinds and units, a missing unit, and values out of their limits.

    >>> [(step.kind, step.strength, step.unit) for step in parse_condition("band:300-3400+white@10dB")]
    [('band', 300.0, 'Hz'), ('white', 10.0, 'dB')]
    """
    return [_parse_step(step.strip(), text) for step in text.split("+")]


def write_condition(text: str) -> str:
    """Return a condition in the one form in which results name it.

    >>> write_condition("band:300.0-3400 + babble:03@.5 + white@10.0db")
    'band:300-3400+babble:3@0.5+white@10dB'
    """
    return "+".join(step.text for step in parse_condition(text))


def _write_step(step: Step) -> str:
    """Return the text of a step that was read; its strength comes after the sign that the example of its kind has."""
    name = f"{step.kind}:{step.name}" if step.name else step.kind
    if not math.isnan(step.high):
        return f"{name}:{_write_number(step.strength)}-{_write_number(step.high)}"
    if step.name in BARE:
        return name
    sign = "@" if "@" in KINDS[step.kind].example else ":"
    return f"{name}{sign}{_write_number(step.strength)}{step.unit}"


def _write_number(number: float) -> str:
    """Return the shortest number without an exponent that is read as this one; -0 is 0."""
    import numpy as np

    return np.format_float_positional(number + 0.0, trim="-")


def _parse_step(step: str, condition: str) -> Step:
    match = _STEP.fullmatch(step)
    if match is None:
        raise SpeechIQError(
            f"condition={condition}", f"{step!r} is not KIND:VALUE or KIND@STRENGTH", "write, for example, white@10dB"
        )
    kind = match["kind"]
    if kind not in KINDS:
        raise SpeechIQError(f"condition={condition}", f"unknown condition {kind!r}", suggest(kind, KINDS))
    read = KINDS[kind].parse(step, match["value"] or "", match["strength"] or "")
    return read._replace(text=_write_step(read))


def _refuse(step: str, reason: str, kind: str) -> NoReturn:
    raise SpeechIQError(f"condition={step}", reason, f"write, for example, {KINDS[kind].example}")


def _read(step: str, kind: str, text: str, units: Mapping[str, tuple[float, float]]) -> tuple[float, str]:
    """Return the number and the unit of a text such as `10dB`.

    `units` has the lowest and the highest value of each allowed unit; `""` is a number without a unit.
    """
    match = _NUMBER.fullmatch(text)
    wanted = " or ".join(unit or "none" for unit in units)
    if match is None:
        _refuse(step, f"{text!r} is not a number with a unit ({wanted})", kind)
    unit = next((unit for unit in units if unit.lower() == match["unit"].lower()), None)
    if unit is None:
        fault = f"the unit {match['unit']!r} is not {wanted}" if match["unit"] else f"{text} has no unit ({wanted})"
        _refuse(step, fault, kind)
    number, (low, high) = float(match["number"]), units[unit]
    if not low <= number <= high:
        _refuse(step, f"{text} is outside {low:g} to {high:g}{unit and f' {unit}'}", kind)
    return number, unit


def _read_number(kind: str, units: Mapping[str, tuple[float, float]], neutral: float, sign: str = ":") -> Parser:
    """Return the parser of a kind whose only text is a number after `:` or `@`."""

    def parse(step: str, value: str, strength: str) -> Step:
        text, rest, wrong = (value, strength, "@") if sign == ":" else (strength, value, ":")
        if rest or not text:
            _refuse(step, f"the strength comes after {sign!r}, and nothing after {wrong!r}", kind)
        return Step(step, kind, *_read(step, kind, text, units), neutral=neutral)

    return parse


def _read_babble(step: str, value: str, strength: str) -> Step:
    if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= 20):
        _refuse(step, f"{value!r} is not a number of voices from 1 to 20", "babble")
    if not strength:
        _refuse(step, "it has no strength", "babble")
    number, unit = _read(step, "babble", strength, {"": (0.0, 100.0), **SNR})
    neutral, scale = (math.inf, f"@{unit}") if unit else (0.0, "")
    return Step(step, "babble", number, unit, str(int(value)), neutral=neutral, scale=scale)


def _read_folder(step: str, value: str, strength: str) -> Step:
    if not value or not strength:
        _refuse(step, "it needs a folder, whose path has no +, and a strength", "noise")
    return Step(step, "noise", *_read(step, "noise", strength, SNR), name=value, neutral=math.inf)


#: Codec whose bit rate (kbit/s) is not written -> that rate.
BARE = {"gsm": 13.0, "mulaw": 64.0}


def _read_codec(step: str, value: str, strength: str) -> Step:
    rates = {"opus": (6.0, 256.0), "mp3": (8.0, 160.0)}
    if value in BARE and not strength:
        return Step(step, "codec", BARE[value], "k", value)
    if value not in rates or not strength:
        _refuse(step, "it is not opus@RATE, mp3@RATE, gsm or mulaw", "codec")
    return Step(step, "codec", *_read(step, "codec", strength, {"k": rates[value]}), name=value)


def _read_band(step: str, value: str, strength: str) -> Step:
    low, dash, high = value.partition("-")
    try:
        limits = float(low), float(high)
    except ValueError:
        limits = math.nan, math.nan
    if strength or not dash or not 0 < limits[0] < limits[1] < NYQUIST_HZ:
        _refuse(step, f"not two frequencies in Hz between 0 and {NYQUIST_HZ:g}, the lower one first", "band")
    return Step(step, "band", limits[0], "Hz", high=limits[1])


#: Name -> how it is written.
KINDS: dict[str, Kind] = {
    "white": Kind("white@10dB", "white noise at a signal-to-noise ratio", _read_number("white", SNR, math.inf, "@")),
    "pink": Kind("pink@10dB", "pink noise", _read_number("pink", SNR, math.inf, "@")),
    "hum": Kind("hum@10dB", "mains hum of 50 Hz with harmonics", _read_number("hum", SNR, math.inf, "@")),
    "babble": Kind("babble:3@0.5", "other clips of the set, mixed, by amplitude ratio or in dB", _read_babble),
    "noise": Kind("noise:FOLDER@5dB", "a recording from a folder", _read_folder),
    "reverb": Kind("reverb:0.6s", "a room with this reverberation time", _read_number("reverb", {"s": (0, 10)}, 0.0)),
    "codec": Kind("codec:opus@12k", "opus or mp3 at a bit rate, gsm, mulaw", _read_codec),
    "band": Kind("band:300-3400", "a band of frequencies, Hz", _read_band),
    "speed": Kind("speed:1.25", "faster or slower at the same pitch", _read_number("speed", {"": (0.25, 4)}, 1.0)),
    "gain": Kind("gain:-20dB", "a change of level", _read_number("gain", {"dB": (-LARGEST_DB, LARGEST_DB)}, 0.0)),
    "clip": Kind("clip:6dB", "peaks cut off this far below the highest", _read_number("clip", {"dB": (0, 60)}, 0.0)),
}


def is_neutral(step: Step) -> bool:
    """Return whether a step changes nothing.

    >>> [is_neutral(*parse_condition(text)) for text in ("white@infdB", "babble:3@0", "gain:0dB", "gain:1dB")]
    [True, True, True, False]
    """
    return step.strength == step.neutral
