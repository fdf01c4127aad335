"""Compute the list of packages and put the start-up files into every kind of install; all metadata is in setup.cfg.

`speechiq.pth` (and `speechiq.start`, its successor by PEP 829) lets `lm_eval` find the suite and the
model type: see docs/architecture.md, "Plugin discovery".
"""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import _StaticPth, editable_wheel

START_UP_FILES = ("speechiq.pth", "speechiq.start")


def copy_start_up_files(folder: str) -> list[str]:
    """Copy them into a folder, and return their new paths."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [shutil.copy(name, folder) for name in START_UP_FILES]


class BuildWithStartUp(build_py):
    """Put the start-up files next to the package in a wheel."""

    def run(self) -> None:
        """Build the package."""
        super().run()
        if not self.editable_mode:
            copy_start_up_files(self.build_lib)


def link_to_repository() -> Path:
    """Return a folder that holds the repository under the name of the package.

    On the path it shows type checkers and editors an ordinary package, which the import hook of setuptools does not.
    """
    link = Path(".editable", "speechiq").absolute()
    link.parent.mkdir(exist_ok=True)
    if not link.is_symlink():
        link.symlink_to("..", target_is_directory=True)
    return link.parent


class EditableWithStartUp(editable_wheel):
    """Put the start-up files, and a path to the linked repository, into an editable wheel."""

    def _select_strategy(self, name: str, tag: str, build_lib: str) -> _StaticPth:
        return _StaticPth(self.distribution, name, [link_to_repository()])

    def _configure_build(self, name: str, unpacked_wheel: str, *folders: str) -> None:
        super()._configure_build(name, unpacked_wheel, *folders)
        copy_start_up_files(unpacked_wheel)


# Folders without an `__init__.py` (tests, docs, benchmarks, tools) are not installed.
PACKAGES = ["speechiq", *(f"speechiq.{name}" for name in find_packages())]

setup(
    script_name="setup.py",  # not a module of the package; without the name a build from a front end would install it
    packages=PACKAGES,
    cmdclass={"build_py": BuildWithStartUp, "editable_wheel": EditableWithStartUp},
)
