"""The ranges in setup.cfg: what the code drives closely has an upper bound, and what is pinned is inside."""

from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.newest import list_packages

ROOT = Path(__file__).parent.parent
#: Packages of which we call much, or what changed between their versions.
CLOSE = {
    "accelerate", "av", "bitsandbytes", "datasets", "faster-whisper", "httpx", "huggingface-hub", "jiwer", "lm-eval",
    "mistral-common", "msgspec", "openai", "peft", "plotly", "pocketsphinx", "rich", "soundfile", "torch",
    "transformers", "typer",
}  # fmt: skip
WITHOUT = ("docs", "lint", "test")  # extras for work on the package itself


def read_requirements() -> list[Requirement]:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = [value for name, value in setup["options.extras_require"].items() if name not in WITHOUT]
    lines = "\n".join([setup["options"]["install_requires"], *extras]).splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


PINNED = {
    canonicalize_name(name): version
    for name, version in (
        line.split("==") for line in ROOT.joinpath("constraints.txt").read_text().splitlines() if "==" in line
    )
}


@pytest.mark.parametrize("needed", read_requirements(), ids=str)
def test_a_package_has_the_bounds_that_were_tested(needed):
    name = canonicalize_name(needed.name)
    assert needed.specifier.contains(PINNED[name])
    if name in CLOSE:
        assert {"<", ">="} <= {bound.operator for bound in needed.specifier}


def test_the_newest_versions_are_asked_for_without_bounds():
    names = list_packages()
    assert {"lm-eval", "transformers", "accelerate", "torch"} <= set(names) and all(map(str.isascii, names))
    assert not any(sign in name for name in names for sign in "<>=")
