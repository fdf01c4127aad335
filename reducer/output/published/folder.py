"""Write results into a folder, and read them: `SYSTEM/DATE/result.json`, its rows, the norms, what is declared."""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import add_checksum, read_checksummed
from speechiq.core.files.plain import OWN_FILE, exists, is_folder, is_of_desktop, read_plain, reading, write_whole
from speechiq.core.files.yaml_text import load_yaml
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.output.published.record import ENDING, ResultDraft, pack_rows
from speechiq.reducer.output.published.schema import FILE, NORMS, ROWS, SCHEMA, VERSION, Declaration, Result
from speechiq.reducer.scores import norms as siq_norms
from speechiq.reducer.scores.norms import Norms

AGAIN = "publish the runs again with `siq publish runs`"
#: Characters of a system's name in the name of its folder.
LONGEST_NAME = 80
#: Name of the file of what is declared, and the bytes of the largest one.
DECLARATION, LARGEST_DECLARATION = "declaration.yaml", 2**20
#: What a result needs before a registry takes it.
NEEDED = ("contamination", "interests")
TEMPLATES = Path(__file__).with_name("templates")
#: Template -> its place in a repository of results.
PLACES = {"check.yml": ".github/workflows/check.yml", DECLARATION: DECLARATION, "SUBMIT.md": "SUBMIT.md"}


class Published(NamedTuple):
    """Hold a result and its folder."""

    folder: Path
    result: Result


def folder_of_system(system: str) -> str:
    """Return the name of the folder of a system: no two systems have the same.

    >>> folder_of_system("demo:whisper-base+demo:SmolLM2")
    'demo_whisper-base+demo_SmolLM2-b1153eb0'
    """
    plain = re.sub("[^A-Za-z0-9.+-]+", "_", system)[:LONGEST_NAME].strip("._-+") or "system"
    return f"{plain}-{hashlib.sha256(system.encode()).hexdigest()[:8]}"


def name_date(date: str) -> str:
    """Return the name of the folder of a date.

    >>> name_date("2026-11-23T15:29:04Z")
    '2026-11-23T15-29-04Z'
    """
    return date.replace(":", "-")


def result_text(result: Result) -> bytes:
    """Return the content of the file of a result; the same result has the same bytes."""
    content = add_checksum(SCHEMA, VERSION, msgspec.to_builtins(result))
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_results(drafts: Sequence[ResultDraft], root: Path) -> Iterator[Path]:
    """Write results with their rows, each into its folder, and yield the folders.

    Equal files may be there already, and a result with another declaration, which is replaced.

    Raises:
        SpeechIQError: A folder has other content, and then nothing is written, or it cannot be written.
    """
    places = [
        (drafted, root / folder_of_system(drafted.result.system) / name_date(drafted.result.date)) for drafted in drafts
    ]
    for drafted, folder in places:
        for path in list_below(folder) if exists(folder) else ():
            if not _is_part_of(drafted, path, path.relative_to(folder).as_posix()):
                raise SpeechIQError(path, "has other content than this result", "move its folder away")
    for drafted, folder in places:
        for name, content in _list_files(drafted).items():
            write_whole(folder / name, content, OWN_FILE, make_folders=True)
        yield folder


def _is_part_of(drafted: ResultDraft, path: Path, name: str) -> bool:
    """Return whether a file is one of a result, which may have another declaration."""
    if read_plain(path) == _list_files(drafted).get(name):
        return True
    if name != FILE:
        return False
    try:
        declared = msgspec.structs.replace(read_result(path.parent), declaration=drafted.result.declaration)
    except SpeechIQError:
        return False
    return result_text(declared) == result_text(drafted.result)


def _list_files(drafted: ResultDraft) -> dict[str, bytes]:
    """Return file -> content; the result is the last, so that a folder with it is complete."""
    rows = {f"{ROWS}/{task}{ENDING}": pack_rows(content) for task, content in drafted.rows.items()}
    return rows | {FILE: result_text(drafted.result)}


def write_norms(norms: Norms, root: Path) -> None:
    """Write frozen norms beside the results on them.

    Raises:
        SpeechIQError: Other norms have the same name and edition.
    """
    path = root / NORMS / f"{norms.label}.json"
    if not exists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        siq_norms.write_norms(norms, path)
    elif siq_norms.read_norms(path).sha256 != norms.sha256:
        raise SpeechIQError(path, f"other norms than {norms.title}", "give them the next edition")


def refuse_other_content(root: Path) -> None:
    """Raise a `SpeechIQError` if a folder exists that holds something else than results."""
    for path in sorted(root.iterdir()) if is_folder(root) else []:
        if path.name != NORMS and not is_of_desktop(path.name) and not [*path.glob(f"*/{FILE}")]:
            raise SpeechIQError(
                root, f"holds something else than results ({path.name!r})", "name an empty or new folder"
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
        raise SpeechIQError(path, f"is not a result ({error})", AGAIN) from error


def read_folder(root: Path) -> list[Published]:
    """Read all results below a folder, sorted by system and date; `check` finds what is wrong with them.

    Raises:
        SpeechIQError: There is none, or one cannot be read.
    """
    folders = [file.parent for depth in ("", "*/", "*/*/") for file in root.glob(f"{depth}{FILE}")]
    if not folders:
        raise SpeechIQError(root, f"has no result ({FILE})", "give the folder of `siq publish runs`")
    published = [Published(folder, read_result(folder)) for folder in folders]
    return sorted(published, key=lambda each: (each.result.system, each.result.date))


def list_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, without following links."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from list_below(path)
        else:
            yield path


class _DeclarationFile(msgspec.Struct, forbid_unknown_fields=True):
    """Hold what applies to all systems, and what applies to each."""

    all: dict[str, object] = {}
    systems: dict[str, dict[str, object]] = {}


def read_declarations(given: Path | None, results: Path, systems: Collection[str]) -> dict[str, Declaration]:
    """Return system -> its declaration, from a file that is given or from the one beside the results.

    Raises:
        SpeechIQError: Something that is needed is not declared; if there is no file, one to fill in is written.
    """
    path = given or results.parent / DECLARATION
    fix = "fill it in, and give the same command again"
    if given is None and not exists(path):
        names = "".join(f"  {json.dumps(system)}: {{}}\n" for system in systems)
        content = (
            TEMPLATES.joinpath(DECLARATION).read_text(encoding="utf-8").replace("systems: {}\n", f"systems:\n{names}")
        )
        write_whole(path, content.encode(), OWN_FILE, make_folders=True)
        raise SpeechIQError(path, "was missing and is written now", fix)
    declared = read_declaration(path, results, systems)
    for system, declaration in declared.items():
        if missing := find_missing(declaration):
            raise SpeechIQError(path, f"{' and '.join(missing)} not declared for {system}", fix)
    return declared


def read_declaration(path: Path, results: Path, systems: Collection[str]) -> dict[str, Declaration]:
    """Return system -> its declaration; the file may also name systems whose results are there already.

    Raises:
        SpeechIQError: The file cannot be read, has an unknown key or a value that is not allowed, or names a system
            that is not published.
    """
    fix = "write it like the file of `siq publish init`"
    with reading(path, "make it readable"):
        text = read_plain(path, LARGEST_DECLARATION)
    try:
        content = msgspec.convert(load_yaml(text) or {}, _DeclarationFile)
        others = sorted(content.systems.keys() - set(systems))
        if unknown := [name for name in others if not exists(results / folder_of_system(name))]:
            near = did_you_mean(unknown[0], systems)
            raise SpeechIQError(path, f"no system {unknown[0]!r} in these runs or results", f"{near}correct its name")
        return {
            system: msgspec.convert(content.all | content.systems.get(system, {}), Declaration) for system in systems
        }
    except ValueError as error:
        raise SpeechIQError(path, f"not a declaration ({error})", fix) from error


def find_missing(declaration: Declaration) -> list[str]:
    """Return the fields that a registry needs and that are not declared.

    >>> find_missing(Declaration(contamination="none known"))
    ['interests']
    """
    return [field for field in NEEDED if not (getattr(declaration, field) or "").strip()]


def write_repository(folder: Path) -> list[Path]:
    """Write the files into a folder, and return them.

    Raises:
        SpeechIQError: One of them exists, and then nothing is written, or the folder is not the user's.
    """
    files = {folder / place: TEMPLATES.joinpath(template).read_text() for template, place in PLACES.items()}
    if present := next(filter(exists, files), None):
        raise SpeechIQError(present, "exists", "name a new folder, or move it away")
    for path, text in files.items():
        content = text.replace("{version}", version("speechiq"))
        write_whole(path, content.encode(), OWN_FILE, make_folders=True)
    return list(files)
