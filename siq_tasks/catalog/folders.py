"""Make a folder completely or not at all, and never over another one unless the user says so."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists, writing


def check_folder(folder: Path, fix: str = "choose another folder with --output") -> None:
    """Refuse a folder that has content, so that nothing is overwritten."""
    if not exists(folder):
        return
    if not folder.is_dir():
        raise SpeechIQError(folder, "is a file, not a folder", fix)
    try:
        if any(folder.iterdir()):
            raise SpeechIQError(folder, "contains files", fix)
    except OSError as error:
        raise SpeechIQError(folder, f"cannot be read ({error.strerror})", fix) from error


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
