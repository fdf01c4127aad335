"""Read a linear form of metrics, such as `llm_semdist_eowl + 0.1*entity_wer`; nothing is evaluated."""

import re
from collections.abc import Collection

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean

FIX = "write metrics and numbers, such as 'llm_semdist_eowl + 0.1*entity_wer'"
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TERM = re.compile(rf"\s*(?P<sign>[+-]?)\s*(?:(?P<weight>{_NUMBER})\s*\*\s*)?(?P<name>[A-Za-z_]\w*)\s*")


def read_form(text: str, known: Collection[str]) -> dict[str, float]:
    """Return metric -> its weight, for terms `METRIC` or `NUMBER*METRIC` of known metrics, joined by `+` and `-`.

    >>> read_form("eowl - 0.5*wer", ["eowl", "wer"])
    {'eowl': 1.0, 'wer': -0.5}
    """
    weights: dict[str, float] = {}
    place = 0
    while place < len(text) or not weights:
        term = _TERM.match(text, place)
        if term is None or (weights and not term["sign"]):
            raise SpeechIQError(f"--combine {text!r}", f"{text[place:].strip()!r} is not a term", FIX)
        name, weight = term["name"], float(term["sign"] + (term["weight"] or "1"))
        if name not in known:
            near = did_you_mean(name, known)
            raise SpeechIQError(f"--combine {text!r}", f"no metric {name!r}", f"{near}choose from {', '.join(known)}")
        if name in weights:
            raise SpeechIQError(f"--combine {text!r}", f"{name!r} is named twice", "add up its weights")
        if not 0 < abs(weight) < float("inf"):
            raise SpeechIQError(f"--combine {text!r}", f"the weight of {name!r} is {weight:g}", "write another number")
        weights[name] = weight
        place = term.end()
    if len(weights) < 2:
        raise SpeechIQError(f"--combine {text!r}", "one metric is not a combination", FIX)
    return weights


def show_form(weights: dict[str, float]) -> str:
    """Return a form as text; a weight of 1 is not written.

    >>> show_form({"eowl": 1.0, "wer": -0.5})
    'eowl - 0.5*wer'
    """
    terms = [
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):.3g}*'}{name}"
        for name, weight in weights.items()
    ]
    first, *others = terms
    return " ".join([first.replace("+ ", "").replace("- ", "-"), *others])
