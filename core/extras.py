"""Say how to install a missing package, by names that pip finds however speechiq was installed, or a program."""

#: Package -> the extra of `setup.cfg` that installs it.
EXTRAS = {
    "bitsandbytes": "quantization",
    "faster-whisper": "faster-whisper",
    "gguf": "demo",
    "num2words": "openasr",
    "openai": "endpoints",
    "peft": "peft",
    "pocketsphinx": "demo",
    "submitit": "launch",
    "wordfreq": "rare-words",
}
#: Program -> the command that installs it.
PROGRAMS = {
    "espeak-ng": "apt install espeak-ng",
    "flite": "apt install flite",
    "piper": "pip install piper-tts",
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
