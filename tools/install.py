"""Install packages by pip, and show in one line of the terminal what it does: `python tools/install.py ARGUMENTS`.

Takes the arguments of `pip install`. Errors of pip stay as they are; outside a terminal nothing else is printed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence

#: Begin of the lines in which pip names a package for the first time.
COLLECTING = "Collecting "
#: Moves to the begin of the line of a terminal and empties it.
AGAIN = "\r\x1b[K"


def install(arguments: Sequence[str]) -> int:
    """Run pip and return its exit code; a fifth of the files is ever imported, and is compiled then."""
    command = [sys.executable, "-m", "pip", "install", "--no-compile", *arguments]
    if not sys.stdout.isatty():
        return subprocess.call([*command, "--quiet"])
    packages = 0
    with subprocess.Popen([*command, "--progress-bar=off"], stdout=subprocess.PIPE, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            packages += line.startswith(COLLECTING)
            shown = f"{packages} packages: {line.strip()}"
            print(f"{AGAIN}{shown[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)
    print(AGAIN, end="")
    return pip.returncode


if __name__ == "__main__":
    try:
        sys.exit(install(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
