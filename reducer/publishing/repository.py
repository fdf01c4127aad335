"""Write the files of a repository of results: the check of each submission, a declaration, and how to submit."""

from importlib.metadata import version
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, exists, write_whole

TEMPLATES = Path(__file__).with_name("templates")
#: Template -> its place in the repository.
PLACES = {"check.yml": ".github/workflows/check.yml", "declaration.yaml": "declaration.yaml", "SUBMIT.md": "SUBMIT.md"}


def write_repository(folder: Path) -> list[Path]:
    """Write the files into a folder, and return them.

    Raises:
        SpeechIQError: One of them exists, and then nothing is written, or the folder is not the user's.
    """
    files = {folder / place: TEMPLATES.joinpath(template).read_text() for template, place in PLACES.items()}
    if present := next(filter(exists, files), None):
        raise SpeechIQError(f"{str(present)!r}", "exists", "name a new folder, or move it away")
    for path, text in files.items():
        content = text.replace("{version}", version("speechiq"))
        write_whole(path, content.encode(), OWN_FILE, make_folders=True)
    return list(files)
