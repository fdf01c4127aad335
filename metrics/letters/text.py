"""Strip an answer to plain text; what JSON, a tag or a box marks as the choice is called the answer."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from speechiq.core.response import drop_reasoning

#: Names of the field with the choice in a JSON answer, best first.
FIELDS = ("final_answer", "correct_answer", "answer", "choice", "selected", "letter", "option", "response", "result")
_TAGS = ("answer", "final_answer", "final", "choice", "conclusion", "response")
#: Number of characters that are read of the beginning and of the end of an answer.
BEGINNING, END = 2000, 6000
_SQUARED = {start + i: chr(65 + i) for i in range(26) for start in (0x1F130, 0x1F150, 0x1F170)}
_CHARACTERS = _SQUARED | dict.fromkeys(range(0xE000, 0xE200), " ") | {0x200B: "", 0xFEFF: "", ord("’"): "'"}
_TICKS = {ord("✅"): " correct ", ord("✔"): " correct ", ord("❌"): " wrong ", ord("✗"): " wrong ", ord("✘"): " wrong "}
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(del|s|strike)>[^<]{1,200}</\1>", re.IGNORECASE)
_LONE_TAG = re.compile(r"<([A-Z])>(?!.*</\1>)", re.DOTALL)
_MARKUP = re.compile(
    r"<\|[^|<>]{1,30}\|>|</?[a-z]\w{0,15}(?:\s[^<>]{0,80})?/?>|\\(?:text|textbf|math[a-z]{2}|left|right)\b|\\[\[\]()]|"
    r"[*_`]+|\$(?!\d)|(?m:^[ \t]*(?:[-+•>]|#{1,6}|\d{1,2}[.)])[ \t]+)",
    re.IGNORECASE,
)
_PAIR = re.compile(r"""["']?(\w{2,20})["']?\s*:\s*["']?([^"'{},\n]{1,200})""")


def strip_answer(answer: str) -> str:
    r"""Return the plain text of an answer without reasoning; of a JSON object or an `<answer>` tag, only the choice.

    >>> strip_answer('Here it is: {"why": "not (A)", "answer": "B"}'), strip_answer("So $\\boxed{\\text{B}}$.")
    ('answer: B', 'So answer: ( (B)) .')
    """
    text = drop_reasoning(answer)
    if len(text) > BEGINNING + END:
        text = text[:BEGINNING] + "\n" + text[-END:]
    text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS | _TICKS))
    choice = _read_json(text)
    if choice is None:
        choice = _read_tag(text)
    if choice is not None:
        text = f"answer: {choice}"
    text = _BOXED.sub(r" answer: (\1) ", _STRUCK.sub(" ", text))
    text = _MARKUP.sub(" ", _LONE_TAG.sub(r"(\1)", text)).translate({ord("{"): "(", ord("}"): ")"})
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _read_tag(text: str) -> str | None:
    """Return the content of the last `<answer>` or similar tag of the text; None without one."""
    lowered = text.lower()
    for name in _TAGS:
        start, end = lowered.rfind(f"<{name}>"), lowered.rfind(f"</{name}>")
        if 0 <= start < end:
            return text[start + len(name) + 2 : end]
    return None


def _read_json(text: str) -> str | None:
    """Return the choice in the last JSON object of a text; None without one."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return None
    for value in reversed(list(_read_objects(text))):
        if (choice := _find_choice(value)) is not None:
            return choice
    pairs = _PAIR.findall(text[start : end + 1 if end > start else None])
    return _find_choice(dict(pairs))


def _read_objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects of a text, at most eight."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(8):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            value, at = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            at += 1


def _find_choice(value: Any) -> str | None:
    """Return the text of the field that names the choice, at any depth; None without one."""
    if isinstance(value, list) and len(value) == 1:
        return _find_choice(value[0])
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) else None
    fields = {str(name).casefold().replace(" ", "_"): content for name, content in value.items()}
    for name in FIELDS:
        if name in fields:
            choice = _find_choice(fields[name])
            return "" if choice is None else choice
    return None
