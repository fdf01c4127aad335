"""Print the packages that speechiq needs, without the bounds in setup.cfg, for `make test-upstream`."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

SETUP = Path(__file__).parent.parent / "setup.cfg"


def list_packages() -> list[str]:
    """Return the names under `install_requires`."""
    setup = ConfigParser()
    setup.read(SETUP, encoding="utf-8")
    lines = setup["options"]["install_requires"].split()
    return [re.match(r"[\w.-]+", line).group() for line in lines]


if __name__ == "__main__":
    print(*list_packages())
