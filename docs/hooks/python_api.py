"""Write the reference of the Python API: directives for mkdocstrings, which renders the docstrings."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

import speechiq

PAGE = "reference/python.md"
#: The parts of the package that are documented, and what they are for. Of a folder, all public modules.
PARTS = {
    "plot.py": ("Figures", "`speechiq.plot` draws what the functions above return."),
    "metrics": ("Metrics", "Functions of plain texts and numbers; only the embedder and judges need a model."),
    "engines/base.py": ("Protocols of engines", "Engines subclass one: [Add an engine](../tutorials/new_engine.md)."),
    "core/clip.py": ("Clips", "The audio that a system receives."),
    "core/prompt.py": ("Prompts", "What a model is asked."),
    "core/response.py": ("Responses", "What a system answers."),
}  # fmt: skip
ROOMS = ("core", "engines", "metrics", "siq_tasks", "harness_patch", "reducer", "cli")


@event_priority(100)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Link the rooms into a folder for mkdocstrings, which would read a virtual environment in the repository too."""
    root = Path(config.config_file_path).resolve().parent
    package = root / "build" / "reference" / "speechiq"
    package.mkdir(parents=True, exist_ok=True)
    for link in package.iterdir():
        link.unlink()
    for source in [*(root / room for room in ROOMS), *root.glob("*.py")]:
        if source.name != "setup.py":
            (package / source.name).symlink_to(source)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    root = Path(config.config_file_path).resolve().parent
    files.append(File.generated(config, PAGE, content="\n".join(describe(root))))
    return files


def describe(root: Path) -> list[str]:
    """Return the lines of the page: a heading per part, and a directive per module."""
    lines = ["# Python API", ""]
    if speechiq.__file__:
        lines += ["## Results", "", "::: speechiq", f"    options: {{members: {sorted(speechiq.__all__)}}}", ""]
    for place, (title, purpose) in PARTS.items():
        lines += [f"## {title}", "", purpose, ""]
        for file in sorted((root / place).glob("[a-z]*.py")) or [root / place]:
            lines += [f"::: speechiq.{'.'.join(file.relative_to(root).with_suffix('').parts)}", ""]
    return lines
