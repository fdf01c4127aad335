"""Make a folder completely or not at all, and never over another one."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import exists, writing


def check_folder(folder: Path) -> None:
    """Refuse a folder that has content, so that nothing is overwritten."""
    fix = "choose another folder with --output"
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
def complete_folder(place: Path) -> Iterator[Path]:
    """Yield a folder to write to; it becomes `place` when the block ends, and is removed if the block fails."""
    draft = None
    try:
        with writing(place, "free some space or name another folder with --output"):
            place.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(dir=place.parent, prefix=".siq-"))
            yield draft
            mask = os.umask(0)
            os.umask(mask)
            draft.chmod(0o777 & ~mask)
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
