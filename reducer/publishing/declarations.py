"""Read what people declare of their systems, a YAML file whose form `siq publish init` writes."""

from collections.abc import Collection
from pathlib import Path

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import read_plain
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.publishing.schema import Declaration

FIX = "write it like the file of `siq publish init`"
#: Bytes of the largest file.
LARGEST = 2**20
#: What a result needs before a registry takes it.
NEEDED = ("contamination", "interests")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """Hold what applies to all systems, and what applies to each."""

    all: dict[str, object] = {}
    systems: dict[str, dict[str, object]] = {}


def read(path: Path, systems: Collection[str]) -> dict[str, Declaration]:
    """Return system -> its declaration.

    Raises:
        SpeechIQError: The file cannot be read, has an unknown key or a value that is not allowed, or names a system
            that is not published.
    """
    import yaml

    try:
        content = msgspec.convert(yaml.safe_load(read_plain(path, LARGEST)) or {}, _File)
        if unknown := sorted(content.systems.keys() - set(systems)):
            near = did_you_mean(unknown[0], systems)
            raise SpeechIQError(f"{str(path)!r}", f"no system {unknown[0]!r} in these runs", f"{near}{FIX}")
        return {
            system: msgspec.convert(content.all | content.systems.get(system, {}), Declaration) for system in systems
        }
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read", error.strerror, "make it readable") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpeechIQError(f"{str(path)!r}", f"not a declaration ({error})", FIX) from error


def find_missing(declaration: Declaration) -> list[str]:
    """Return what a registry needs and is not declared.

    >>> find_missing(Declaration(contamination="none known"))
    ['interests']
    """
    return [field for field in NEEDED if not (getattr(declaration, field) or "").strip()]
