"""Open only plain files, and write files completely or not at all."""

import errno
import hashlib
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TypeVar
from unicodedata import normalize

from speechiq.core.errors import SpeechIQError

#: What a user can do about a file of results that cannot be written.
OWN_FILE = "name a file in a folder that exists and is yours"

#: Bytes of the largest file that is read into memory at once.
LARGEST = 2**28
#: Bytes that are read at once.
BUFFER = 2**17
#: Errors of a disk that is full, for everyone or for one user, and of a limit on the size of files.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Names of drafts.
DRAFT = re.compile(r"\.[0-9a-f]{16}\.draft")
#: Seconds without a change after which a draft counts as left over: its writer was killed.
LEFT_OVER = 86_400

Opened = TypeVar("Opened", bound=BinaryIO)


def exists(path: str | Path) -> bool:
    """Return whether the path exists; unlike `Path.exists`, accept a name too long for a file."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | Path) -> bool:
    """Return whether the path is a plain file; unlike `Path.is_file`, accept a name too long for a file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Return whether the path is a folder; unlike `Path.is_dir`, accept a name too long for a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def is_of_desktop(name: str) -> bool:
    """Return whether macOS wrote a file for itself: a view of a folder, or attributes of the file that it names."""
    return name == ".DS_Store" or name.startswith("._")


def expand(path: str | Path) -> Path:
    """Return a path with its `~` expanded; unlike `Path.expanduser`, accept a user that does not exist."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def find_on_disk(path: Path) -> Path:
    """Return a path as the disk spells it: accents may be one character (NFC) or two (NFD, as macOS writes them)."""
    if exists(path) or path.parent == path:
        return path
    folder = find_on_disk(path.parent)
    with suppress(OSError, ValueError):
        return folder / _list_names(folder, folder.stat().st_mtime_ns).get(normalize("NFC", path.name), path.name)
    return path


@lru_cache(maxsize=16)
def _list_names(folder: Path, changed: int) -> dict[str, str]:
    return {normalize("NFC", file.name): file.name for file in folder.iterdir()}


def open_plain(path: str | Path) -> BufferedReader:
    """Open a plain file for reading, without blocking on a pipe; for anything else raise `OSError`."""
    try:
        file = open(path, "rb", 0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    except ValueError as error:  # NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name") from error
    return _refuse_special(BufferedReader(file, BUFFER))


def read_plain(path: str | Path, largest: int = LARGEST) -> bytes:
    """Return the content of a plain file of at most `largest` bytes; for anything else raise `OSError`."""
    with open_plain(path) as file:
        _refuse_larger(file, largest)
        return file.read()


def read_lines(path: str | Path, thing: object, fix: str) -> list[str]:
    """Return the lines of a plain file in UTF-8; else raise an error that begins with `thing` and ends with `fix`."""
    with reading(thing, fix):
        text = read_plain(path).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def stream_lines(path: str | Path, newline: str | None = None, largest: int | None = LARGEST) -> Iterator[str]:
    """Yield the lines of a plain file in UTF-8 without their ends, each of at most `LARGEST` characters.

    Args:
        newline: What ends a line; None means each of LF, CR and CR LF.
        largest: Bytes of the largest file; None reads a file of any size, for callers that keep no line.

    Raises:
        OSError: The file cannot be read, or it or a line is too large.
        UnicodeDecodeError: It is not UTF-8.
    """
    with open_plain(path) as file, TextIOWrapper(file, encoding="utf-8-sig", newline=newline) as text:
        _refuse_larger(file, largest)
        for line in iter(partial(text.readline, LARGEST + 1), ""):
            if len(line) > LARGEST:
                raise OSError(errno.EFBIG, f"a line is longer than {LARGEST} characters")
            yield line.removesuffix("\n")


def _refuse_larger(file: BinaryIO, largest: int | None) -> None:
    if largest is not None and os.fstat(file.fileno()).st_size > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")


def hash_file(path: str | Path) -> str:
    """Return the sha256 of the content that a plain file has now; for anything else raise `OSError`."""
    with open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def append_plain(path: Path, *, new: bool) -> BinaryIO:
    """Open a `new` plain file, or one that exists, for appending; for anything else, also a link, raise `OSError`."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_CREAT | os.O_EXCL if new else 0)
    file = os.fdopen(os.open(path, flags, 0o666), "ab")
    return _refuse_special(file)


def locate_line(path: Path, number: int) -> str:
    """Return the place of a line in words, for messages."""
    return f"{str(path)!r} line {number}"


def refuse_to_overwrite(path: Path, force: bool) -> None:
    """Refuse to overwrite a file without `--force`."""
    if exists(path) and not force:
        raise SpeechIQError(path, "exists", "name another file, or add --force to overwrite it")


@contextmanager
def reading(thing: object, fix: str = "correct the path") -> Iterator[None]:
    """Turn the error of a file that is read inside the block into one line; `thing` is its name, or what names it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise SpeechIQError(thing, f"not UTF-8 ({error})", "save it in UTF-8") from error
    except OSError as error:
        raise SpeechIQError(thing, f"cannot be read ({error.strerror or error})", fix) from error


@contextmanager
def writing(path: Path, fix: str) -> Iterator[None]:
    """Turn the error of a disk inside the block, which writes `path`, into one line that ends with `fix`."""
    try:
        yield
    except OSError as error:
        raise SpeechIQError(f"cannot write {str(path)!r}", error.strerror or error, advise(error, fix)) from error


def advise(error: OSError, fix: str) -> str:
    """Return the advice for a file that cannot be written; on a full disk it begins with freeing space."""
    return f"free disk space, or {fix}" if error.errno in FULL else fix


def check_output(path: Path, force: bool, advice: str) -> None:
    """Check before the work that a file can be written, replacing one only by `force`; nothing is left behind."""
    refuse_to_overwrite(path, force)
    target = Path(os.path.realpath(path))
    with writing(path, advice):
        with suppress(FileNotFoundError):
            target.lstat()
            _refuse_no_file(target)
        with tempfile.TemporaryFile(dir=target.parent):
            pass


def check_output_folder(path: Path, advice: str) -> None:
    """Check before the work that files can be written into a folder, which may be missing; nothing is left behind."""
    target = Path(os.path.realpath(path))
    existing = next(folder for folder in (target, *target.parents) if exists(folder))
    with writing(path, advice), tempfile.TemporaryFile(dir=existing):
        pass


def refuse_same(paths: Iterable[Path | None]) -> None:
    """Refuse outputs of which two are the same file, as only the last one written would remain."""
    places: dict[str, Path] = {}
    for path in filter(None, paths):
        if places.setdefault(os.path.realpath(path), path) is not path:
            raise SpeechIQError(path, "is named for two outputs", "give each a file of its own")


def write_whole(path: Path, content: bytes | Iterable[bytes], fix: str, *, make_folders: bool = False) -> None:
    """Write next to the target, flush to the disk, then move into place: no reader ever finds half a file.

    The draft has a random name and is a new file: a link that somebody placed there is not followed; one at `path` is.
    `fix` says what a user can do if it cannot be written.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        with writing(path, fix):
            if exists(target):
                _refuse_no_file(target)
            if make_folders:
                target.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb") as file:
                file.writelines([content] if isinstance(content, bytes) else content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
    finally:
        with suppress(OSError):
            draft.unlink()


def left_over(folder: Path) -> Iterator[Path]:
    """Yield the drafts directly in a folder that killed writers left; drafts of active writers are younger."""
    with suppress(OSError):
        for draft in folder.iterdir():
            with suppress(FileNotFoundError):
                if DRAFT.fullmatch(draft.name) and time.time() - draft.lstat().st_mtime > LEFT_OVER:
                    yield draft


def _refuse_special(file: Opened) -> Opened:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a plain file")
    return file


def _refuse_no_file(target: Path) -> None:
    if not target.is_file():
        raise OSError(errno.EINVAL, "it is a folder or a device")
