"""Make a folder completely or not at all, never over another one unless the user says so, and pack one of tasks.

An archive has all that its tasks read (YAMLs, tables, audio and questions), and runs on another machine.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import (
    OWN_FILE,
    check_output,
    exists,
    expand,
    is_file,
    is_folder,
    is_of_desktop,
    reading,
    write_whole,
    writing,
)
from speechiq.core.files.tables import check_columns, read_field, read_table
from speechiq.siq_tasks.catalog.data_sets import check_task
from speechiq.siq_tasks.index import FOLDER_KEYS, IN_FOLDER, read_mapping, read_task
from speechiq.siq_tasks.loaders.rows import read_source
from speechiq.siq_tasks.questions.file import find_written

ENDING = ".zip"
BLOCK = 1 << 20
#: Time, system and mode of every file in an archive, so that a folder always gives the same bytes.
TIME, UNIX, MODE = (1980, 1, 1, 0, 0, 0), 3, 0o644
#: Beginnings of a value that is a path on this machine.
PLACES = ("/", "~", "./", "../")


def refuse_content(folder: Path, fix: str = "choose another folder with --output") -> None:
    """Refuse a folder that has content, so that nothing is overwritten."""
    if not exists(folder):
        return
    if not folder.is_dir():
        raise SpeechIQError(folder, "is a file, not a folder", fix)
    with reading(folder, fix):
        if any(folder.iterdir()):
            raise SpeechIQError(folder, "contains files", fix)


@contextmanager
def complete_folder(place: Path, keeps: Callable[[str], bool] | None = None) -> Iterator[Path]:
    """Yield a folder to write to; it becomes `place` when the block ends, and is removed if the block fails.

    With `keeps` it may replace a folder, whose entries of the names that `keeps` chooses stay.
    """
    draft = None
    try:
        with writing(place, "name another folder with --output"):
            place.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(dir=place.parent, prefix=".siq-"))
            yield draft
            mask = os.umask(0)
            os.umask(mask)
            draft.chmod(0o777 & ~mask)
            if keeps is not None and exists(place):
                _replace(draft, place, keeps)
            else:
                _move(draft, place)
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _move(draft: Path, place: Path) -> None:
    try:
        draft.replace(place)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
        raise SpeechIQError(
            place, "another command has written it meanwhile", "use that folder, or name another with --output"
        ) from error


def _replace(draft: Path, place: Path, keeps: Callable[[str], bool]) -> None:
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".siq-") as aside:
        old = Path(aside, "old")
        place.replace(old)
        try:
            draft.replace(place)
        except OSError:
            old.replace(place)
            raise
        for entry in old.iterdir():
            if keeps(entry.name):
                entry.replace(place / entry.name)


class Contents(NamedTuple):
    """Hold what an archive has: the files below a folder `root`, and how many of them are audio (`clips`).

    `names` are those for `--tasks`: the tags, or the tasks that run without question files that are `missing`.
    """

    root: Path
    names: list[str]
    files: list[Path]
    clips: int
    missing: list[Path]


def list_contents(folder: Path) -> Contents:
    """Return the files that the tasks in a folder read; refuse one without tasks, and files missing or outside it."""
    if not is_folder(folder):
        raise SpeechIQError(folder, "no such folder", "give one that `siq data new` made")
    root = Path(os.path.realpath(folder))
    found = [file for file in sorted(root.glob("[!_]*.yaml")) if not is_of_desktop(file.name)]
    tasks = {file: _read_task(file) for file in found}
    if not tasks:
        raise SpeechIQError(folder, "contains no task (*.yaml)", "give a folder that `siq data new` made")
    files = {_check_file(root, file, folder) for file in tasks}
    audio, missing = set[Path](), set[Path]()
    for file, task in tasks.items():
        named = {key: Path(task["metadata"][key]) for key in _list_folder_keys(file)}
        if "questions" in named:
            place = named.pop("questions")
            if written := find_written(place):
                named["questions"] = written
            else:
                missing.add(Path(os.path.relpath(place, root)))
        files |= {_check_file(root, place, f"{file.name}: metadata.{key}") for key, place in named.items()}
        if "dataset_path" in named:
            for column in read_source(task["metadata"]).audio_columns:
                audio |= set(_list_audio(root, named["dataset_path"], column))
    names = _list_names(list(tasks.values()), has_questions=not missing)
    return Contents(root, names, sorted(files | audio), len(audio), sorted(missing))


def check_archive(output: Path, force: bool) -> None:
    """Refuse an output without the ending of an archive, one that exists, and one that cannot be written."""
    if output.suffix.lower() != ENDING:
        named = output.with_name(output.stem.removesuffix(".tar") + ENDING)
        raise SpeechIQError(f"--output {output}", f"does not end with {ENDING}", f"write {named}")
    check_output(output, force, OWN_FILE)


def write_archive(contents: Contents, output: Path) -> None:
    """Write the files as one zip archive with the folder at its top; the same files always give the same bytes."""
    with tempfile.TemporaryFile() as stream:
        with ZipFile(stream, "w", ZIP_STORED) as archive:
            for file in contents.files:
                place = contents.root / file
                entry = ZipInfo((contents.root.name / file).as_posix(), TIME)
                entry.create_system, entry.external_attr = UNIX, MODE << 16
                entry.file_size = place.stat().st_size
                with place.open("rb") as source, archive.open(entry, "w") as target:
                    shutil.copyfileobj(source, target)
        stream.seek(0)
        write_whole(output, iter(lambda: stream.read(BLOCK), b""), OWN_FILE)


def _read_task(file: Path) -> dict[str, Any]:
    """Return the task in a file; refuse one that depends on another task file or on a place of this machine."""
    if "include" in read_mapping(file):
        raise SpeechIQError(file, "include: names another task file", "write its keys into this one")
    task = check_task(file)
    for key, value in read_task(file)["metadata"].items():
        is_path = key in FOLDER_KEYS and isinstance(value, str) and exists(expand(value))
        if is_path or (isinstance(value, str) and value.startswith(PLACES)):
            fix = f"write {IN_FOLDER}NAME" if key in FOLDER_KEYS else "name a model by its hub id or as demo:NAME"
            raise SpeechIQError(f"{file}: metadata.{key}", f"{value} is a path on this machine", fix)
    return {"task": file.stem} | task


def _list_names(tasks: Sequence[Mapping[str, Any]], *, has_questions: bool) -> list[str]:
    tags = [[tag] if isinstance(tag := task.get("tag", []), str) else tag for task in tasks]
    if has_questions:
        return sorted({tag for names in tags for tag in names}) or [task["task"] for task in tasks]
    return [task["task"] for task in tasks if task["metadata"].get("level") != "apply"]


def _list_folder_keys(file: Path) -> list[str]:
    about = read_task(file)["metadata"]
    return [key for key in FOLDER_KEYS if str(about.get(key)).startswith(IN_FOLDER)]


def _list_audio(root: Path, table: Path, column: str) -> Iterator[Path]:
    rows = read_table(table)
    check_columns(rows[0], [column], table)
    for number, row in enumerate(rows, 1):
        where = f"{table} row {number}"
        name = read_field(row, column, where)
        if Path(name).is_absolute():
            raise SpeechIQError(where, f"{name} is an absolute path", "write it relative to the table")
        yield _check_file(root, table.parent / name, where)


def _check_file(root: Path, file: Path, where: object) -> Path:
    """Return the path of a file relative to the folder; refuse what would not be the same file after unpacking."""
    place = Path(os.path.normpath(file))
    if not place.is_relative_to(root):
        raise SpeechIQError(where, f"{place} is not in {root}", "move it there, and correct its name")
    relative = place.relative_to(root)
    for part in (*reversed(relative.parents[:-1]), relative):
        if (root / part).is_symlink():
            raise SpeechIQError(where, f"{root / part} is a link", "put what it points to in its place")
    if not is_file(place):
        raise SpeechIQError(where, f"no file {place}", "restore it, or correct its name")
    return relative
