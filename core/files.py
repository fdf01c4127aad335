"""Writing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from speechiq.core.errors import SpeechIQError


def exists(path: str | Path) -> bool:
    """Whether something is there; unlike `Path.exists`, bears a name too long for a file."""
    return os.path.exists(path)  # noqa: PTH110


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


def write_whole(path: Path, content: bytes | Iterable[bytes], mend: str, *, make_folders: bool = False) -> None:
    """Write beside the target, flush to the disk, then move into place: no reader ever meets half a file.

    Args:
        path: of the file; a link is followed.
        content: all of it, or piece by piece.
        mend: what a user can do where it cannot be written.
        make_folders: whether folders that are missing are made.

    Raises:
        SpeechIQError: the folder takes no file, the disk no more, or the target is a folder or a device.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        if target.exists():
            _refuse_no_file(target)
        if make_folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise SpeechIQError(f"cannot write {str(path)!r}: {error.strerror}; {mend}") from error
    finally:
        with suppress(OSError):
            draft.unlink()


def _refuse_no_file(target: Path) -> None:
    if not target.is_file():
        raise OSError(errno.EINVAL, "it is a folder or a device")
