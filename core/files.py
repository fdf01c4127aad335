"""Files: what a user names is opened only if it is a plain file, and what is written is written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from speechiq.core.errors import SpeechIQError

#: Bytes of the largest file that is read into memory as one piece.
LARGEST = 2**28
#: Names of drafts, as they are and as they were (target, process and thread), and after how many seconds without a
#: change one counts as left over: its writer was killed.
DRAFT = re.compile(r"\.[0-9a-f]{16}\.draft|\..+\.\d+-\d+")
LEFT_OVER = 86_400


def exists(path: str | Path) -> bool:
    """Whether something is there; unlike `Path.exists`, bears a name too long for a file."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | Path) -> bool:
    """Return whether a plain file is there; unlike `Path.is_file`, bears a name too long for a file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Return whether a folder is there; unlike `Path.is_dir`, bears a name too long for a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def expand(path: str | Path) -> Path:
    """Return a path with its `~` expanded; unlike `Path.expanduser`, bears a user that does not exist."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def open_plain(path: str | Path) -> BinaryIO:
    """Open a plain file for reading; a pipe is not waited for.

    Raises:
        OSError: It cannot be opened, or is a folder, a pipe or a device.
    """
    try:
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    except ValueError as error:  # NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name") from error
    return _refuse_special(file)


def read_plain(path: str | Path, largest: int = LARGEST) -> bytes:
    """Return the content of a plain file.

    Args:
        path: Of the file.
        largest: How many bytes it may have.

    Raises:
        OSError: It cannot be read, is not a plain file, or is larger.
    """
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")
        return file.read()


def append_plain(path: Path, *, new: bool) -> BinaryIO:
    """Open a file for adding to its end; a link is not followed.

    Args:
        path: Of the file.
        new: Whether the file is made; if not, it has to exist.

    Raises:
        OSError: It cannot be opened, is missing or exists already, or is a link, a folder, a pipe or a device.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT | os.O_EXCL if new else 0)
    file = os.fdopen(os.open(path, flags, 0o666), "ab")
    return _refuse_special(file)


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """Raises a `SpeechIQError` where a file stands at `path` and the user did not say `--force`."""
    if exists(path) and not force:
        raise SpeechIQError(f"{str(path)!r} exists and may hold somebody's work; name another file or add --force")


def check_output(path: Path, force: bool, advice: str) -> None:
    """Check before the work that a file can be written; nothing is left behind.

    Args:
        path: Of the file.
        force: Whether a file that exists may be replaced.
        advice: What a user can do if it cannot be written.

    Raises:
        SpeechIQError: A file exists there, or none can be written there.
    """
    refuse_to_overwrite(path, force)
    target = Path(os.path.realpath(path))
    try:
        with suppress(FileNotFoundError):
            target.lstat()
            _refuse_no_file(target)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise SpeechIQError(f"cannot write {str(path)!r}: {error.strerror}; {advice}") from error


def check_output_folder(path: Path, advice: str) -> None:
    """Check before the work that files can be written into a folder, which may be missing; nothing is left behind.

    Args:
        path: Of the folder.
        advice: What a user can do if it cannot be written to.

    Raises:
        SpeechIQError: It is not a folder, or takes no file.
    """
    target = Path(os.path.realpath(path))
    there = next(folder for folder in (target, *target.parents) if exists(folder))
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise SpeechIQError(f"cannot write to {str(path)!r}: {error.strerror}; {advice}") from error


def refuse_same(paths: Iterable[Path | None]) -> None:
    """Raises a `SpeechIQError` where two of some outputs are one place, of which the last written would be left."""
    places: dict[str, Path] = {}
    for path in filter(None, paths):
        if places.setdefault(os.path.realpath(path), path) is not path:
            raise SpeechIQError(f"{str(path)!r} is named for two outputs; give each a file of its own")


def write_whole(path: Path, content: bytes | Iterable[bytes], fix: str, *, make_folders: bool = False) -> None:
    """Write beside the target, flush to the disk, then move into place: no reader ever meets half a file.

    The draft has a name that nobody can foresee, and is a new file: no link that was placed there is followed.

    Args:
        path: of the file; a link is followed.
        content: all of it, or piece by piece.
        fix: what a user can do where it cannot be written.
        make_folders: whether folders that are missing are made.

    Raises:
        SpeechIQError: the folder takes no file, the disk no more, or the target is a folder or a device.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        if exists(target):
            _refuse_no_file(target)
        if make_folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise SpeechIQError(f"cannot write {str(path)!r}: {error.strerror}; {fix}") from error
    finally:
        with suppress(OSError):
            draft.unlink()


def left_over(folder: Path) -> Iterator[Path]:
    """Yield the drafts directly in a folder that killed writers left; those of writers at work are younger."""
    with suppress(OSError):
        for draft in folder.iterdir():
            if DRAFT.fullmatch(draft.name) and measure_age(draft) > LEFT_OVER:
                yield draft


def measure_age(file: Path) -> float:
    """Return the seconds since a file changed; 0 for one that is gone."""
    with suppress(FileNotFoundError):
        return time.time() - file.lstat().st_mtime
    return 0.0


def _refuse_special(file: BinaryIO) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a plain file")
    return file


def _refuse_no_file(target: Path) -> None:
    if not target.is_file():
        raise OSError(errno.EINVAL, "it is a folder or a device")
