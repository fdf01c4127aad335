"""Options of engines: records with types and limits, and how model arguments become one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, Metadata, NoneType, StrType, UnionType

from speechiq.core.errors import SpeechIQError

DAY_S = 86_400
UNIT = "unit"

#: A whole number above 0, such as a count of beams or of tokens.
Count = Annotated[int, Meta(ge=1)]
#: The length of a chunk of audio, in seconds.
ChunkSeconds = Annotated[float, Meta(ge=1, le=DAY_S, extra={UNIT: "seconds"})]


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of an engine, one field each; an engine without options uses this record itself.

    A record may refuse combinations of values in `__post_init__`, by a `SpeechIQError`.
    """


class OpenOptions(Options, frozen=True, kw_only=True):
    """The options of an engine that passes further ones to what it runs.

    Attributes:
        others: all options that have no field of their own, unchecked.
    """

    others: dict[str, Any] = {}


Record = TypeVar("Record", bound=Options)


def list_names(record: type[Options]) -> set[str]:
    """Return the names of the options that a record declares."""
    return set(record.__struct_fields__) - set(OpenOptions.__struct_fields__)


def read_options(
    record: type[Record],
    given: Mapping[str, Any],
    *,
    engine: str,
    prefix: str = "",
    also: Collection[str] = (),
    hints: Mapping[str, str] | None = None,
) -> Record:
    """Return the record that holds the given options.

    Args:
        record: of the engine.
        given: model arguments of one stage without its prefix, as lm-eval has parsed them.
        engine: its name, for the errors.
        prefix: what the names of the stage's options begin with, for the errors.
        also: options of the stage that are read elsewhere, for the errors.
        hints: by the name of an option what to say of it if the engine does not have it.

    Raises:
        SpeechIQError: an unknown option, with the nearest known name; a value of another type, or out of its limits.
    """
    known = list_names(record)
    others = {name: value for name, value in given.items() if name not in known}
    fields: dict[str, Any] = {name: value for name, value in given.items() if name in known}
    if issubclass(record, OpenOptions):
        fields["others"] = others
    elif others:
        raise _unknown(min(others), engine, prefix, {*known, *also}, hints or {})
    try:
        msgspec.convert(fields, record)
    except msgspec.ValidationError as error:
        raise _explain(record, fields, prefix, error) from error
    return record(**fields)  # the values as they were given: 30 seconds are not recorded as 30.0


def _unknown(name: str, engine: str, prefix: str, known: Collection[str], hints: Mapping[str, str]) -> SpeechIQError:
    names = sorted(prefix + option for option in known)
    near = "".join(f"; did you mean {found}?" for found in get_close_matches(prefix + name, names, 1))
    return SpeechIQError(
        f"{prefix}{name}: no such option of the {engine} engine; it has {', '.join(names) or 'none'}"
        f"{hints.get(name, near)}"
    )


def _explain(record: type[Options], values: Mapping[str, Any], prefix: str, error: Exception) -> SpeechIQError:
    """Return the error of the first value that its field does not take, else what the record itself refused."""
    for field in msgspec.structs.fields(record):
        if field.name in values:
            try:
                msgspec.convert(values[field.name], field.type)
            except msgspec.ValidationError:
                given = f"{prefix}{field.name}={values[field.name]}"
                return SpeechIQError(f"{given}: {_advise(msgspec.inspect.type_info(field.type))}")
    given = ", ".join(f"{prefix}{name}={value}" for name, value in values.items())
    return SpeechIQError(f"{given}: {error}; give other values")


def _advise(kind: msgspec.inspect.Type) -> str:
    wanted = _describe(kind)
    return f"not {wanted}; give one" if wanted.startswith("a ") else f"unknown; give {wanted}"


def _describe(kind: msgspec.inspect.Type, unit: str = "") -> str:
    """Return in words what values a type takes, such as `a number of seconds from 1 to 86400`."""
    match kind:
        case UnionType(types=kinds):
            return " or ".join(_describe(one, unit) for one in kinds if not isinstance(one, NoneType))
        case Metadata(type=inner, extra=extra):
            return _describe(inner, (extra or {}).get(UNIT, ""))
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
    return f"a value of the type {type(kind).__name__.removesuffix('Type').lower()}"


def _describe_limits(kind: IntType | FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge:g} to {kind.le:g}"
    limits = {"above {:g}": kind.gt, "of {:g} or more": kind.ge, "below {:g}": kind.lt, "of {:g} or less": kind.le}
    return " and".join(f" {words.format(limit)}" for words, limit in limits.items() if limit is not None)
