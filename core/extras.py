"""Say how to install a package that is missing, by names that pip finds, wherever this package came from."""

from __future__ import annotations

#: Packages and the extras of `setup.cfg` that bring them.
EXTRAS = {
    "bitsandbytes": "quantization",
    "faster-whisper": "faster-whisper",
    "gguf": "demo",
    "openai": "endpoints",
    "peft": "peft",
    "pocketsphinx": "demo",
}


def missing(package: str) -> str:
    """Return what is missing and how to install it, as the end of an error.

    >>> missing("peft")
    "the package peft is not installed; `pip install peft`, or in a clone `pip install '.[peft]'`"
    """
    return (
        f"the package {package} is not installed; `pip install {package}`, or in a clone "
        f"`pip install '.[{EXTRAS[package]}]'`"
    )
