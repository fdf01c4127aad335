"""Suggest how to correct an error: by the known name closest to a mistyped one, or by what installs a missing package.

The commands have names that pip finds however speechiq was installed.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

#: How similar two names must be for one to be suggested for the other (`difflib` ratio).
SIMILAR = 0.6
#: Letters of a beginning that is enough to suggest the name which it begins.
BEGINNING = 3


def find_nearest(name: str, known: Iterable[str], similar: float = SIMILAR) -> str | None:
    """Return the known name that is closest to what a user wrote, without regard to capitals; None if none is close.

    The shortest name that begins with what was written is the closest, then the shortest that has a word which does.
    A single letter is near to itself alone. `similar` is the least similarity of other names, from 0 to 1.

    >>> find_nearest("whisper-bse", ["whisper-base", "whisper-tiny.en"])
    'whisper-base'
    >>> find_nearest("smollm2", ["distillmos", "SmolLM2-135M-Instruct"])
    'SmolLM2-135M-Instruct'
    >>> find_nearest("whisper", ["piper", "faster-whisper"])
    'faster-whisper'
    >>> find_nearest("earnings", ["demo"]), find_nearest("D", ["id"])
    (None, None)
    """
    names = {each.lower(): each for each in known}
    text = name.lower()
    word = re.compile(rf"(?<![^\W_]){re.escape(text)}")
    begun = [each for each in names if word.search(each)] if len(text) >= BEGINNING else []
    close = get_close_matches(text, names, 1, 1.0 if len(text) == 1 else similar)
    found = min(begun, key=lambda each: (not each.startswith(text), len(each))) if begun else next(iter(close), None)
    return None if found is None else names[found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean NAME? ` for the end of an error, or nothing if no known name is close.

    >>> did_you_mean("scor", ["score"]), did_you_mean("x", ["score"])
    ('did you mean score? ', '')
    """
    near = find_nearest(name, known)
    return f"did you mean {near}? " if near else ""


def suggest(name: object, known: Iterable[str]) -> str:
    """Return the end of the error about an unknown name: the closest known one, if one is close, and all of them.

    >>> suggest("scor", ["score", "run"])
    'did you mean score? known are score, run'
    """
    names = list(known)
    return f"{did_you_mean(str(name), names)}known are {', '.join(names)}"


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
PROGRAMS = {"espeak-ng": "apt install espeak-ng", "flite": "apt install flite", "piper": "pip install piper-tts"}


def missing(package: str) -> str:
    """Return the end of an error about a missing package: its name, and how to install it.

    >>> missing("peft")
    "the package peft is not installed; `pip install peft`, or in a clone `pip install '.[peft]'`"
    """
    return (
        f"the package {package} is not installed; `pip install {package}`, or in a clone "
        f"`pip install '.[{EXTRAS[package]}]'`"
    )
