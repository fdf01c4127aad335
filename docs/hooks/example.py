"""Show the report of the demo, which `make docs` writes before it builds the site."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

FOLDER = Path("build", "example")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the report and its screenshots below `example/`."""
    folder = Path(config.config_file_path).resolve().parent / FOLDER
    if not (folder / "report.html").is_file():
        raise PluginError(f"{FOLDER}/report.html: missing; run `make docs`, which writes it from the runs of the demo")
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        files.append(File.generated(config, f"example/{path.relative_to(folder).as_posix()}", abs_src_path=str(path)))
    return files
