"""Let a form of single files also take folders of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import is_file, is_folder, is_of_desktop
from speechiq.reducer.imports.rows import Form, OutputRow


def accept_folders(form: Form) -> Form:
    """Return the form with folders in the place of their files that fit, at any depth and sorted by their paths."""

    def fits(path: Path) -> bool:
        return any(form.fits(file) for file in _list_files(path)) if is_folder(path) else form.fits(path)

    def read(paths: list[Path]) -> Iterator[OutputRow]:
        return form.read([*_expand(paths, form.fits, form.name)])

    return replace(form, fits=fits, read=read)


def _expand(paths: Iterable[Path], fits: Callable[[Path], bool], name: str) -> Iterator[Path]:
    for path in paths:
        if not is_folder(path):
            yield path
            continue
        files = [file for file in _list_files(path) if fits(file)]
        if not files:
            raise SpeechIQError(path, f"no file in it is of the form {name}", "name the files")
        yield from files


def _list_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if is_file(file) and not is_of_desktop(file.name))
