"""Define the options of engines: records with types, limits and descriptions, read from model arguments."""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.inspect import (
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    Metadata,
    NoneType,
    StrType,
    UnionType,
)

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import find_nearest

DAY_S = 86_400
#: Keys of `Meta(extra=...)`: the unit of a number, and how a value of several parts is written, for errors.
UNIT, FORM = "unit", "form"

#: A whole number above 0, such as a count of beams or of tokens.
Count = Annotated[int, Meta(ge=1)]
#: How random the texts of a recognizer are, and by which random numbers.
Temperature = Annotated[
    float, Meta(ge=0, le=1, description="Temperature at which the text is sampled; 0 takes the most likely one.")
]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1, description="Seed of a text that is sampled.")]
#: The length of a chunk of audio, in seconds.
ChunkSeconds = Annotated[float, Meta(ge=1, le=DAY_S, extra={UNIT: "seconds"})]

#: The text of a system turn, an option of engines that write by a chat template or a chat API.
SystemTurn = Annotated[
    str | None, Meta(description="Text of a system turn before each prompt; by default there is none.")
]


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Define the options of an engine, one field per option; an engine without options uses this record itself.

    The annotation of a field gives its type, its limits and its description: `Annotated[float, Meta(ge=1, le=20,
    description="Weight of the language model.")]`. A record may refuse combinations of values in `__post_init__` by a
    `SpeechIQError`.
    """


class OpenOptions(Options, frozen=True, kw_only=True):
    """Define options of an engine that passes `others`, without fields of their own and unchecked, to its library."""

    others: dict[str, Any] = {}


Record = TypeVar("Record", bound=Options)


def refuse_unused_seed(temperature: float, seed: int, prefix: str) -> None:
    """Refuse a seed of a text that is not sampled."""
    if seed and not temperature:
        raise SpeechIQError(
            f"{prefix}seed={seed}", "nothing is sampled", f"give {prefix}temperature too, or leave it out"
        )


class OptionInfo(NamedTuple):
    """Describe an option in words, for help texts and tables; the name is without the prefix of a stage.

    `type` is the values that it takes, such as `whole number of 1 or more`; `default` is empty if there is none.
    """

    name: str
    type: str
    default: str
    description: str


def only_given(**values: Any) -> dict[str, Any]:
    """Return the values that are given, by their names: neither None, nor zero, nor empty.

    >>> only_given(nbest=5, language=None)
    {'nbest': 5}
    """
    return {name: value for name, value in values.items() if value}


def pick_prefixed(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the values whose names begin with a prefix, by their names without it.

    >>> pick_prefixed({"judge_draws": 3, "seed": 1}, "judge_")
    {'draws': 3}
    """
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def list_names(record: type[Options]) -> set[str]:
    """Return the names of the options that a record declares."""
    return set(record.__struct_fields__) - set(OpenOptions.__struct_fields__)


def describe_options(record: type[Options]) -> list[OptionInfo]:
    """Return what each option of a record means and takes, in the order of the fields.

    >>> class Beams(Options, frozen=True, kw_only=True):
    ...     num_beams: Annotated[Count, Meta(description="Beams of the search; 1 is greedy.")] = 1
    >>> describe_options(Beams)  # doctest: +NORMALIZE_WHITESPACE
    [OptionInfo(name='num_beams', type='whole number of 1 or more', default='1',
                description='Beams of the search; 1 is greedy.')]
    """
    declared = list_names(record)
    return [_describe_option(field) for field in msgspec.structs.fields(record) if field.name in declared]


def _describe_option(field: msgspec.structs.FieldInfo) -> OptionInfo:
    type_info = msgspec.inspect.type_info(field.type)
    schema = type_info.extra_json_schema if isinstance(type_info, Metadata) else None
    default = "" if field.default in (None, msgspec.NODEFAULT) else str(field.default)
    description = str((schema or {}).get("description", ""))
    return OptionInfo(field.name, _describe_type(type_info).removeprefix("a "), default, description)


def read_options(
    record: type[Record],
    given: Mapping[str, Any],
    *,
    engine: str,
    prefix: str = "",
    also: Collection[str] = (),
    hint: Callable[[str], str] = lambda name: "",
) -> Record:
    """Return a record with the given options; refuse unknown ones, and values of another type or out of their limits.

    Args:
        given: model arguments of one stage without its prefix, as lm-eval has parsed them.
        also: options of the stage that are read elsewhere, for the errors.
        hint: returns the end of the error about an option that the record does not have; empty for the nearest name.
    """
    known = list_names(record)
    others = {name: value for name, value in given.items() if name not in known}
    fields: dict[str, Any] = {name: value for name, value in given.items() if name in known}
    if issubclass(record, OpenOptions):
        fields["others"] = others
    elif others:
        raise _unknown(min(others), engine, prefix, {*known, *also}, hint)
    try:
        msgspec.convert(fields, record)
    except ValueError as error:  # of msgspec, or about half of a surrogate pair
        raise _explain(record, fields, prefix, error) from error
    return record(**fields)  # not the converted values: 30 seconds would be recorded as 30.0


def _unknown(name: str, engine: str, prefix: str, known: Collection[str], hint: Callable[[str], str]) -> SpeechIQError:
    names = sorted(prefix + option for option in known)
    nearest = find_nearest(prefix + name, names)
    near = f"; did you mean {nearest}?" if nearest else ""
    return SpeechIQError(
        f"{prefix}{name}",
        f"no such option of the {engine} engine",
        f"it has {', '.join(names) or 'none'}{hint(name) or near}",
    )


def _explain(record: type[Options], values: Mapping[str, Any], prefix: str, error: Exception) -> SpeechIQError:
    """Return the error for the first value that its field does not take, else for values that the record refuses."""
    for field in msgspec.structs.fields(record):
        kind = msgspec.inspect.type_info(field.type)
        if field.name not in values:
            if field.required:
                return SpeechIQError(f"{prefix}{field.name}", "missing", f"give {_describe_type(kind)}")
            continue
        try:
            msgspec.convert(values[field.name], field.type)
        except ValueError as fault:
            given = f"{prefix}{field.name}={values[field.name]}"
            if form := _find_form(kind):
                return SpeechIQError(given, f"not valid ({fault})", f"write {form}")
            return SpeechIQError(given, _advise(kind))
    given = ", ".join(f"{prefix}{name}={value}" for name, value in values.items())
    return SpeechIQError(given, error, "give other values")


def _find_form(kind: msgspec.inspect.Type) -> str:
    """Return how a value of a type is written; empty if its type says enough."""
    match kind:
        case UnionType(types=kinds):
            return "".join(map(_find_form, kinds))
        case Metadata(type=inner, extra=extra):
            return (extra or {}).get(FORM) or _find_form(inner)
    return ""


def _advise(kind: msgspec.inspect.Type) -> str:
    valid = _describe_type(kind)
    return f"not {valid}; give one" if valid.startswith("a ") else f"unknown; give {valid}"


def _describe_type(kind: msgspec.inspect.Type, unit: str = "") -> str:
    """Return the values of a type in words, such as `a number of seconds from 1 to 86400`."""
    if form := _find_form(kind):
        return form
    match kind:
        case UnionType(types=kinds):
            return " or ".join(_describe_type(one, unit) for one in kinds if not isinstance(one, NoneType))
        case Metadata(type=inner, extra=extra):
            return _describe_type(inner, (extra or {}).get(UNIT, ""))
        case LiteralType(values=values):
            return " or ".join(sorted(map(str, values)))
        case IntType():
            return f"a whole number{unit and f' of {unit}'}{_describe_limits(kind)}"
        case FloatType():
            return f"a number{unit and f' of {unit}'}{_describe_limits(kind)}"
        case BoolType():
            return "True or False"
        case StrType():
            return "a text"
        case DictType():
            return "a JSON object"
        case ListType():
            return "a list"
    return f"a value of the type {type(kind).__name__.removesuffix('Type').lower()}"


def _describe_limits(kind: IntType | FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge:g} to {kind.le:g}"
    limits = {"above {:g}": kind.gt, "of {:g} or more": kind.ge, "below {:g}": kind.lt, "of {:g} or less": kind.le}
    return " and".join(f" {words.format(limit)}" for words, limit in limits.items() if limit is not None)
