"""Strip a model's answer of reasoning, JSON, markup, boxes and unusual characters."""

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from speechiq.core.response import drop_reasoning
from speechiq.metrics.patterns import read_patterns

#: Names of the field with the choice in a JSON answer, best first.
FIELDS = [
    *("final_answer", "finalanswer", "answer", "correct_answer", "correctanswer", "choice", "selected", "letter"),
    *("option", "selection", "response", "correct", "result", "prediction", "label", "output"),
    *("antwort", "respuesta", "réponse", "reponse", "resposta", "risposta", "antwoord", "ответ", "答案", "答え"),
]
_SQUARED = {0x1F130 + i: chr(65 + i) for i in range(26)} | {
    start + i: chr(65 + i) for start in (0x1F150, 0x1F170) for i in range(26)
}
_PRIVATE = dict.fromkeys(range(0xE000, 0xE200), " ")
_TICKS = dict.fromkeys(map(ord, "✅✔☑✓🗸"), " yes ") | dict.fromkeys(map(ord, "❌✗✘❎✕"), " wrong ")
_CHARACTERS = _PRIVATE | _SQUARED | _TICKS
#: Key words that are read in spite of a typing error, and correct words similar to them.
_KEY_WORDS = [
    *("answer", "option", "correct", "choice", "choose", "letter", "because", "think", "would", "should", "pretty"),
    "right",
]
_RIGHT = {
    *(*_KEY_WORDS, "answers", "options", "corrects", "choices", "chose", "opinion", "opcion", "latter", "litter"),
    *("could", "world", "mould", "thing", "thick", "thinks", "petty", "rights"),
}
_PAIR = re.compile(r"""["']([\w ]{1,20})["']\s*:\s*(?:"([^"{}]*)"|'([^'{}]*)'|([A-Za-z]\b))""")
_FINAL_TAGS = ("answer", "final_answer", "final", "choice", "result")
_PATTERNS = read_patterns(Path(__file__).with_name("text.yaml"))


def strip_answer(answer: str) -> str:
    r"""Return the plain text of an answer; if its choice is marked (a JSON field, a tag, a box), only the choice.

    >>> strip_answer('Here it is: {"why": "not (A)", "answer": "B"}'), strip_answer("So $\\boxed{\\text{B}}$.")
    ('B', '(B)')
    >>> strip_answer("### Answer: <b>Ⓑ</b>")
    'Answer: B'
    """
    text = drop_reasoning(answer).translate(_CHARACTERS)
    text = _PATTERNS["control"].sub(
        " ", _PATTERNS["struck"].sub(" ", unicodedata.normalize("NFKC", text).replace("’", "'"))
    )
    text = _squeeze(_PATTERNS["unticked"].sub(" ", text) if "[x]" in text.lower() or "☒" in text else text)
    if (choice := _read_json(text)) is not None:
        return _untag(choice)
    if (choice := _read_tag(text)) is not None:
        return _untag(choice)
    if boxes := _PATTERNS["boxed"].findall(text):
        return _untag(boxes[-1])
    return _untag(text)


def _untag(text: str) -> str:
    closed = {name.lower() for name in _PATTERNS["closing"].findall(text)}
    text = _PATTERNS["tag"].sub(
        lambda tag: " " if tag[1] or len(tag[2]) > 1 or tag[2].lower() in closed else f"({tag[2]})", text
    )
    text = _PATTERNS["tex"].sub("", text).replace("{", "(").replace("}", ")") if "\\" in text or "$" in text else text
    text = _PATTERNS["bullet"].sub("", _PATTERNS["rule"].sub("", _squeeze(text))).replace("\\", " ")
    text = _PATTERNS["no_space"].sub(r"\1 ", text)
    text = _PATTERNS["numbered"].sub(
        r"\1", _PATTERNS["reply"].sub("Answer: ", _PATTERNS["asked"].sub("Answer: ", text.strip()))
    )
    return _PATTERNS["word"].sub(lambda word: _correct(word[0]), _PATTERNS["glued"].sub(r"\1 \2", text))


@lru_cache(maxsize=4096)
def _correct(word: str) -> str:
    """Return the key word that differs from a word by one typing error or by the order of letters, else the word."""
    lowered = word.lower()
    for right in _KEY_WORDS:
        if (
            lowered[0] == right[0]
            and lowered not in _RIGHT
            and (Levenshtein.distance(lowered, right) == 1 or sorted(lowered) == sorted(right))
        ):
            return right
    return "the" if lowered == "teh" else word


def _squeeze(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _read_tag(text: str) -> str | None:
    """Return the content of the last `<answer>` or similar tag of the text; None without one."""
    lowered = text.lower()
    for name in _FINAL_TAGS:
        start, end = lowered.rfind(f"<{name}>"), lowered.rfind(f"</{name}>")
        if 0 <= start < end:
            return text[start + len(name) + 2 : end]
    return None


def _read_json(text: str) -> str | None:
    """Return the answer that the last JSON object of the text gives; None without an object."""
    if not _PATTERNS["object"].search(text):
        return None
    found, at, decoder = None, 0, json.JSONDecoder()
    for _ in range(16):
        start = _PATTERNS["object"].search(text, at)
        if start is None:
            break
        try:
            value, at = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            at = start.start() + 1
        else:
            found = found if (chosen := _choose(value)) is None else chosen
    if found is not None:
        return found
    pairs = [(name, "".join(values)) for name, *values in _PAIR.findall(text)]
    return _choose(dict(pairs)) if pairs else None


def _choose(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            return " or ".join(value)
        return _choose(value[0]) if len(value) == 1 else None
    if isinstance(value, Mapping):
        fields = {str(name).casefold().replace(" ", "_"): content for name, content in value.items()}
        for field in FIELDS:
            for name, content in fields.items():
                if name == field or (len(field) > 5 and field in name):
                    chosen = _choose(content)
                    return "" if chosen is None else chosen
    return None
