"""Define generative error correction: the corrector's prompt, and the rule that turns its answer into a transcript.

A corrector should reply with a transcript alone, but not all correctors do. The rule, in this order:

1. Drop reasoning. If the answer has a code fence, take its content.
2. Drop everything before a line that announces the corrected text ("Sure, here is the corrected transcript:"), if a
   transcript follows.
3. Strip label, list mark, emphasis and quotes from each line. A label ends with a colon and either contains a word such
   as "transcript" or begins with a word such as "Sure". Words that are in a hypothesis are not a label.
4. Of several lines, drop those before the transcript as long as that reduces the word errors against a hypothesis, and
   those after it from the line that increases them: explanations are dropped, a transcript of several lines stays.
5. Refuse a text that is empty, or that shares fewer than `RESEMBLANCE` of its words with each hypothesis; the
   recognizer's first text is used instead. Accept any text that resembles a hypothesis, right or wrong.

The result is a key of `CORRECTIONS` and is counted.
"""

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


def correction_prompt(hypotheses: Sequence[str], template: str = PROMPT) -> str:
    """Return the corrector's prompt; hypotheses without words are left out."""
    texts = filter(str.split, hypotheses)
    return template.replace("{hypotheses}", "\n".join(f"{i}. {text}" for i, text in enumerate(texts, 1)))


def read_correction(answer: str, hypotheses: Sequence[str]) -> tuple[str, str]:
    r"""Return the transcript in a corrector's answer, and its provenance (a key of `CORRECTIONS`).

    At least one of the hypotheses, best first, has words.

    >>> texts = ["the card quarter was cut", "the cod quarter was cut"]
    >>> read_correction("The cod quota was cut.", texts)
    ('The cod quota was cut.', 'clean')
    >>> read_correction('Sure! Corrected transcript: "The cod quota was cut."\n\nI changed two words.', texts)
    ('The cod quota was cut.', 'trimmed')
    >>> read_correction("I am sorry, but I cannot listen to audio.", texts)
    ('the card quarter was cut', 'refused')
    """
    plain = " ".join(answer.split())
    if plain in [" ".join(text.split()) for text in hypotheses]:
        return plain, "clean"
    known = [words for text in hypotheses if (words := _words(text))]
    text = _transcript(drop_reasoning(answer), known)
    if not _resembles(text, known):
        return hypotheses[0], "refused"
    return text, "clean" if text == plain else "trimmed"


def _transcript(answer: str, known: Sequence[list[str]]) -> str:
    """Return the transcript in an answer without reasoning; `known` has the words of each hypothesis."""
    if fenced := _FENCE.search(answer):
        answer = fenced[1]
    for label in _LABEL.finditer(answer):
        if _CORRECTED.search(label[1]) and _is_chatter(label[1], known):
            text = _nearest(answer[label.end() :], known)
            if _resembles(text, known):
                return text
    return _nearest(answer, known)


def _nearest(answer: str, known: Sequence[list[str]]) -> str:
    """Return the stripped lines of an answer without those that only add word errors against the hypotheses."""
    lines = [stripped for line in answer.splitlines() if (stripped := _strip(line, known))]

    def errors(first: int, end: int) -> int:
        return min(_count(_words(" ".join(lines[first:end])), words)[1] for words in known)

    for first in range(len(lines)):
        end = min(range(first + 1, len(lines) + 1), key=lambda end: errors(first, end))
        if end == first + 1 or errors(first, end) <= errors(first + 1, end):
            return " ".join(" ".join(lines[first:end]).split())
    return ""


def _strip(line: str, known: Sequence[list[str]]) -> str:
    """Return a line without the label, list mark, emphasis and quotes around its text."""
    line = line.strip()
    mark = _LIST_MARK.match(line)
    if mark and not any(words[:1] == _words(mark[0]) for words in known):
        line = line[mark.end() :]
    label = _LABEL.match(line)
    if label and _is_chatter(label[1], known):
        line = line[label.end() :]
    while wrapped := _WRAPPED.fullmatch(line.strip()):
        line = wrapped[2]
    return line.strip()


def _is_chatter(label: str, known: Sequence[list[str]]) -> bool:
    """Return whether the words before a colon are the corrector's own, not part of the transcript."""
    words_of_label = _words(label)
    telltale = set(_words(" ".join(re.findall(_TELLTALE, label, re.IGNORECASE))))
    if not telltale:
        return not any(words[:2] == words_of_label[:2] for words in known)
    if any(telltale <= set(words) for words in known):
        return False
    return bool(re.match(_OPENING, label, re.IGNORECASE)) or all(
        _count(words_of_label, words)[0] <= len(words_of_label) / 2 for words in known
    )


def _resembles(text: str, known: Sequence[list[str]]) -> bool:
    found = _words(text)
    return any(_count(found, words)[0] >= RESEMBLANCE * max(len(found), len(words)) for words in known)


def _count(words: list[str], reference: list[str]) -> tuple[int, int]:
    """Return the number of shared words, in order, and the number of word errors."""
    if not words:
        return 0, len(reference)
    found = jiwer.process_words(" ".join(reference), " ".join(words))
    return found.hits, found.substitutions + found.deletions + found.insertions


def _words(text: str) -> list[str]:
    return re.findall(r"\w+(?:['\u2019]\w+)*", text.lower())
