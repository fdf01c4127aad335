"""Write results into a folder, and read them: `SYSTEM/DATE/result.json`, its rows, and the norms."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import add_checksum, read_checksummed
from speechiq.core.files.plain import OWN_FILE, exists, is_folder, is_of_desktop, read_plain, write_whole
from speechiq.reducer.publishing.record import Draft
from speechiq.reducer.publishing.rows import ENDING
from speechiq.reducer.publishing.schema import FILE, NORMS, ROWS, SCHEMA, VERSION, Result
from speechiq.reducer.scores import norms as siq_norms
from speechiq.reducer.scores.norms import Norms

AGAIN = "publish the runs again with `siq publish runs`"
#: Characters of a system's name in the name of its folder.
LONGEST = 80


class Published(NamedTuple):
    """Hold a result and its folder."""

    folder: Path
    result: Result


def name_system(system: str) -> str:
    """Return the name of the folder of a system: no two systems have the same.

    >>> name_system("demo:whisper-base+demo:SmolLM2")
    'demo_whisper-base+demo_SmolLM2-b1153eb0'
    """
    plain = re.sub("[^A-Za-z0-9.+-]+", "_", system)[:LONGEST].strip("._-+") or "system"
    return f"{plain}-{hashlib.sha256(system.encode()).hexdigest()[:8]}"


def name_date(date: str) -> str:
    """Return the name of the folder of a date.

    >>> name_date("2026-11-23T15:29:04Z")
    '2026-11-23T15-29-04Z'
    """
    return date.replace(":", "-")


def as_text(result: Result) -> bytes:
    """Return the content of the file of a result; the same result has the same bytes."""
    content = add_checksum(SCHEMA, VERSION, msgspec.to_builtins(result))
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write(drafts: Sequence[Draft], root: Path) -> Iterator[Path]:
    """Write results with their rows, each into its folder, and yield the folders.

    Equal files may be there already, and a result with another declaration, which is replaced.

    Raises:
        SpeechIQError: A folder has other content, and then nothing is written, or it cannot be written.
    """
    places = [
        (drafted, root / name_system(drafted.result.system) / name_date(drafted.result.date)) for drafted in drafts
    ]
    for drafted, folder in places:
        for path in list_below(folder) if exists(folder) else ():
            if not _is_part_of(drafted, path, path.relative_to(folder).as_posix()):
                raise SpeechIQError(f"{str(path)!r}", "has other content than this result", "move its folder away")
    for drafted, folder in places:
        for name, content in _list_files(drafted).items():
            write_whole(folder / name, content, OWN_FILE, make_folders=True)
        yield folder


def _is_part_of(drafted: Draft, path: Path, name: str) -> bool:
    """Return whether a file is one of a result, which may have another declaration."""
    if read_plain(path) == _list_files(drafted).get(name):
        return True
    if name != FILE:
        return False
    try:
        declared = msgspec.structs.replace(read_result(path.parent), declaration=drafted.result.declaration)
    except SpeechIQError:
        return False
    return as_text(declared) == as_text(drafted.result)


def _list_files(drafted: Draft) -> dict[str, bytes]:
    """Return file -> content; the result is the last, so that a folder with it is complete."""
    rows = {f"{ROWS}/{task}{ENDING}": content for task, content in drafted.rows.items()}
    return rows | {FILE: as_text(drafted.result)}


def write_norms(norms: Norms, root: Path) -> None:
    """Write frozen norms beside the results on them.

    Raises:
        SpeechIQError: Other norms have the same name and edition.
    """
    path = root / NORMS / f"{norms.label}.json"
    if not exists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        siq_norms.write(norms, path)
    elif siq_norms.read(path).sha256 != norms.sha256:
        raise SpeechIQError(f"{str(path)!r}", f"other norms than {norms.title}", "give them the next edition")


def refuse_other_content(root: Path) -> None:
    """Raise a `SpeechIQError` if a folder exists that holds something else than results."""
    for path in sorted(root.iterdir()) if is_folder(root) else []:
        if path.name != NORMS and not is_of_desktop(path.name) and not [*path.glob(f"*/{FILE}")]:
            raise SpeechIQError(
                f"{str(root)!r}", f"holds something else than results ({path.name!r})", "name an empty or new folder"
            )


def read_result(folder: Path) -> Result:
    """Read the result in a folder.

    Raises:
        SpeechIQError: It is missing, was edited, or has another form.
    """
    path = folder / FILE
    content = read_checksummed(path, SCHEMA, VERSION, AGAIN)
    try:
        return msgspec.convert({key: content[key] for key in content if key not in ("schema", "version")}, Result)
    except msgspec.ValidationError as error:
        raise SpeechIQError(f"{str(path)!r}", f"is not a result ({error})", AGAIN) from error


def read_folder(root: Path) -> list[Published]:
    """Read all results below a folder, sorted by system and date; `check` finds what is wrong with them.

    Raises:
        SpeechIQError: There is none, or one cannot be read.
    """
    folders = [file.parent for depth in ("", "*/", "*/*/") for file in root.glob(f"{depth}{FILE}")]
    if not folders:
        raise SpeechIQError(f"{str(root)!r}", f"has no result ({FILE})", "give the folder of `siq publish runs`")
    published = [Published(folder, read_result(folder)) for folder in folders]
    return sorted(published, key=lambda each: (each.result.system, each.result.date))


def list_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, without following links."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from list_below(path)
        else:
            yield path
