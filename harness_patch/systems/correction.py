"""Generative error correction: what a corrector is asked, and the rule by which its answer becomes a transcript.

A corrector is to reply with a transcript alone, and not all of them do. The rule, in this order:

1. Reasoning is dropped, and of an answer with a code fence what stands inside is taken.
2. What stands before a line that announces the corrected text ("Sure, here is the corrected transcript:") goes,
   if what follows it is a transcript.
3. Each line loses its label, list mark, emphasis and quotes. A label is what stands before a colon and either
   holds a word such as "transcript" or opens with one such as "Sure"; words that were heard are no label.
4. Of several lines those before the transcript go as long as that brings it nearer to what was heard, and those
   after it from where they lead away again: an explanation goes, a transcript of several lines stays.
5. A text that is empty, or shares fewer than `RESEMBLANCE` of its words with each hypothesis, is refused, and the
   recognizer's first text stands. What resembles a hypothesis is taken, right or wrong.

Which of these happened is a key of `CORRECTIONS` and is counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import jiwer

from speechiq.core.response import drop_reasoning

PROMPT = """\
These lines are what a speech recogniser took one recording to say, its best guess first:

{hypotheses}

Write down what was most likely said. Where the lines differ, choose the words that make sense together, and mend a \
word that was plainly misheard. Keep all the rest: leave nothing out, add nothing, do not comment. Reply with the \
transcript alone, on one line."""
PROMPT_VERSION = 1
RESEMBLANCE = 0.25

_FENCE = re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL)
_OPENING = r"(?:sure|certainly|absolutely|of course|okay|ok|here(?:'s| is| are| you| it))\b"
_TELLTALE = r"\b(?:transcri\w+|correct\w*|hypothes\w+|guess|version|sentence|text|output|answer|result)\b"
_LABEL = re.compile(rf"^[\W_]*((?:{_OPENING}[^\n:]*|[^\n:]*{_TELLTALE}[^\n:]*)):[*_ ]*", re.IGNORECASE | re.MULTILINE)
_CORRECTED = re.compile(r"\b(?:corrected|revised|improved|final|most likely)\b", re.IGNORECASE)
_LIST_MARK = re.compile(r"^(?:\d{1,2}[.):]|[-*•>])\s+")
_WRAPPED = re.compile(r"([\"'`*_\u201c\u2018\u00ab]+)([^\"`*\u201c\u201d\u00ab\u00bb]+)([\"'`*_\u201d\u2019\u00bb]+)")


def ask(hypotheses: Sequence[str]) -> str:
    """The corrector's prompt; hypotheses without words are left out."""
    texts = filter(str.split, hypotheses)
    return PROMPT.format(hypotheses="\n".join(f"{i}. {text}" for i, text in enumerate(texts, 1)))


def read(answer: str, hypotheses: Sequence[str]) -> tuple[str, str]:
    """The transcript that a corrector's answer holds, and how it came about (a key of `CORRECTIONS`).

    Args:
        answer: what the corrector said.
        hypotheses: what the recognizer held possible, best first; one of them at least has words.

    >>> heard = ["the card quarter was cut", "the cod quarter was cut"]
    >>> read("The cod quota was cut.", heard)
    ('The cod quota was cut.', 'clean')
    >>> read('Sure! Corrected transcript: "The cod quota was cut."\\n\\nI changed two words.', heard)
    ('The cod quota was cut.', 'trimmed')
    >>> read("I am sorry, but I cannot listen to audio.", heard)
    ('the card quarter was cut', 'refused')
    """
    said = " ".join(answer.split())
    if said in [" ".join(text.split()) for text in hypotheses]:
        return said, "clean"
    heard = [words for text in hypotheses if (words := _words(text))]
    text = _transcript(drop_reasoning(answer), heard)
    if not _resembles(text, heard):
        return hypotheses[0], "refused"
    return text, "clean" if text == said else "trimmed"


def _transcript(answer: str, heard: Sequence[list[str]]) -> str:
    if fenced := _FENCE.search(answer):
        answer = fenced[1]
    for label in _LABEL.finditer(answer):
        if _CORRECTED.search(label[1]) and _is_chatter(label[1], heard):
            text = _nearest(answer[label.end() :], heard)
            if _resembles(text, heard):
                return text
    return _nearest(answer, heard)


def _nearest(answer: str, heard: Sequence[list[str]]) -> str:
    """The answer's lines, bare, without those that only lead away from what was heard."""
    lines = [line for whole in answer.splitlines() if (line := _bare(whole, heard))]

    def errors(first: int, end: int) -> int:
        return min(_count(_words(" ".join(lines[first:end])), words)[1] for words in heard)

    for first in range(len(lines)):
        end = min(range(first + 1, len(lines) + 1), key=lambda end: errors(first, end))
        if end == first + 1 or errors(first, end) <= errors(first + 1, end):
            return " ".join(" ".join(lines[first:end]).split())
    return ""


def _bare(line: str, heard: Sequence[list[str]]) -> str:
    """A line without label, list mark, emphasis and quotes around it."""
    line = line.strip()
    mark = _LIST_MARK.match(line)
    if mark and not any(words[:1] == _words(mark[0]) for words in heard):
        line = line[mark.end() :]
    label = _LABEL.match(line)
    if label and _is_chatter(label[1], heard):
        line = line[label.end() :]
    while wrapped := _WRAPPED.fullmatch(line.strip()):
        line = wrapped[2]
    return line.strip()


def _is_chatter(label: str, heard: Sequence[list[str]]) -> bool:
    """Whether the words before a colon are the corrector's own."""
    said, told = _words(label), _words(" ".join(re.findall(_TELLTALE, label, re.IGNORECASE)))
    if not told:
        return not any(words[:2] == said[:2] for words in heard)
    if any(set(told) <= set(words) for words in heard):
        return False
    return bool(re.match(_OPENING, label, re.IGNORECASE)) or all(
        _count(said, words)[0] <= len(said) / 2 for words in heard
    )


def _resembles(text: str, heard: Sequence[list[str]]) -> bool:
    said = _words(text)
    return any(_count(said, words)[0] >= RESEMBLANCE * max(len(said), len(words)) for words in heard)


def _count(said: list[str], heard: list[str]) -> tuple[int, int]:
    """Words in common, in order, and word errors."""
    if not said:
        return 0, len(heard)
    found = jiwer.process_words(" ".join(heard), " ".join(said))
    return found.hits, found.substitutions + found.deletions + found.insertions


def _words(text: str) -> list[str]:
    return re.findall(r"\w+(?:['\u2019]\w+)*", text.lower())
