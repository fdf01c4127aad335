"""Puts the start-up files into every kind of install; all metadata is in setup.cfg.

`speechiq.pth` (and `speechiq.start`, its successor by PEP 829) lets `lm_eval` find the suite and the
model type: see docs/architecture.md, "Plugin discovery". `py.typed` lies in the namespace folder itself, without
which pip would leave that folder behind on uninstall.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

START_UP_FILES = ("speechiq.pth", "speechiq.start")


def copy_start_up_files(folder):
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [shutil.copy(name, folder) for name in START_UP_FILES]


class BuildWithStartUp(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            copy_start_up_files(self.build_lib)
            shutil.copy("py.typed", Path(self.build_lib, "speechiq"))


class EditableWithStartUp(editable_wheel):
    def _configure_build(self, name, unpacked_wheel, *folders):
        super()._configure_build(name, unpacked_wheel, *folders)
        copy_start_up_files(unpacked_wheel)


setup(cmdclass={"build_py": BuildWithStartUp, "editable_wheel": EditableWithStartUp})
