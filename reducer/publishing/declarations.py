"""Read what people declare of their systems, a YAML file whose form `siq publish init` writes."""

import json
from collections.abc import Collection
from pathlib import Path

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, exists, read_plain, write_whole
from speechiq.core.files.yaml_text import load_yaml
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.publishing.schema import Declaration

#: Name of the file, and the file that is to be filled in.
NAME = "declaration.yaml"
TEMPLATE = Path(__file__).with_name("templates") / NAME
FIX = "write it like the file of `siq publish init`"
#: Bytes of the largest file.
LARGEST = 2**20
#: What a result needs before a registry takes it.
NEEDED = ("contamination", "interests")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """Hold what applies to all systems, and what applies to each."""

    all: dict[str, object] = {}
    systems: dict[str, dict[str, object]] = {}


def read_complete(given: Path | None, folder: Path, systems: Collection[str]) -> dict[str, Declaration]:
    """Return system -> its declaration, from a file that is given or from the one in a folder.

    Raises:
        SpeechIQError: Something that is needed is not declared; if the folder has no file, one to fill in is written.
    """
    path = given or folder / NAME
    fix = "fill it in, and give the same command again"
    if given is None and not exists(path):
        names = "".join(f"  {json.dumps(system)}: {{}}\n" for system in systems)
        content = TEMPLATE.read_text(encoding="utf-8").replace("systems: {}\n", f"systems:\n{names}")
        write_whole(path, content.encode(), OWN_FILE, make_folders=True)
        raise SpeechIQError(f"{str(path)!r}", "was missing and is written now", fix)
    declared = read(path, systems)
    for system, declaration in declared.items():
        if missing := find_missing(declaration):
            raise SpeechIQError(f"{str(path)!r}", f"{' and '.join(missing)} not declared for {system}", fix)
    return declared


def read(path: Path, systems: Collection[str]) -> dict[str, Declaration]:
    """Return system -> its declaration.

    Raises:
        SpeechIQError: The file cannot be read, has an unknown key or a value that is not allowed, or names a system
            that is not published.
    """
    try:
        content = msgspec.convert(load_yaml(read_plain(path, LARGEST)) or {}, _File)
        if unknown := sorted(content.systems.keys() - set(systems)):
            near = did_you_mean(unknown[0], systems)
            raise SpeechIQError(f"{str(path)!r}", f"no system {unknown[0]!r} in these runs", f"{near}{FIX}")
        return {
            system: msgspec.convert(content.all | content.systems.get(system, {}), Declaration) for system in systems
        }
    except OSError as error:
        raise SpeechIQError(f"{str(path)!r} cannot be read", error.strerror, "make it readable") from error
    except ValueError as error:
        raise SpeechIQError(f"{str(path)!r}", f"not a declaration ({error})", FIX) from error


def find_missing(declaration: Declaration) -> list[str]:
    """Return what a registry needs and is not declared.

    >>> find_missing(Declaration(contamination="none known"))
    ['interests']
    """
    return [field for field in NEEDED if not (getattr(declaration, field) or "").strip()]
