"""Print the packages that speechiq needs, without the bounds in setup.cfg, for `make test-upstream`."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path


def list_packages() -> list[str]:
    """Return the names under `install_requires`."""
    setup = ConfigParser()
    setup.read(Path(__file__).parents[1] / "setup.cfg", encoding="utf-8")
    return re.findall(r"^[\w.-]+", setup["options"]["install_requires"], re.MULTILINE)


if __name__ == "__main__":
    print(*list_packages())
