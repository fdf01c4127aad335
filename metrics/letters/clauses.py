"""Split an answer into clauses, each of which claims, excludes or leaves open the options that it names.

Options are single private characters here (`metrics/letters/mentions.py`). A clause claims a letter only in words that
are all known: what others say, and what holds under a condition or in part, has other words and is left open.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from speechiq.metrics.letters import words
from speechiq.metrics.letters.mentions import BARE_LETTER, LETTER_AND_TEXT, MENTION, OPTION, named_letter
from speechiq.metrics.patterns import read_patterns

# How clear a claim is: by an option's text in any sentence, with its letter, by a letter, by a statement.
SPOKEN, PAIRED, BARE, STATED = 1, 2, 3, 4

_PATTERNS = read_patterns(Path(__file__).with_name("clauses.yaml"))
SENTENCE = _PATTERNS["sentence"]
#: Words before a colon up to which they may name another person whose answer follows.
_LABEL = 4


def split_clauses(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence, with "not" in the place of phrases that deny."""
    if words.RETRACTED.search(sentence) or sentence.lower().startswith("no"):
        sentence = _PATTERNS["not_but"].sub(" ", sentence)
    sentence = _PATTERNS["changed"].sub(" ", sentence)
    sentence = words.HARMLESS.sub(" ", _PATTERNS["to_the_question"].sub(" ", sentence))
    sentence = words.DENYING.sub(" not ", _PATTERNS["better_than"].sub(" not ", sentence))
    sentence = _PATTERNS["explained"].sub(r"\1; ", sentence)
    sentence = _PATTERNS["alone_in_chinese"].sub(r"\1; ", sentence)
    sentence = _PATTERNS["two"].sub(r"\1; ", _PATTERNS["if_after"].sub(" ", sentence))
    sentence = _PATTERNS["list"].sub(
        lambda found: found[0].replace(",", " ").replace("/", " "), " ".join(sentence.split())
    )
    return [Clause(text) for text in _PATTERNS["clause"].split(sentence) if text]


class Clause:
    """Hold a part of a sentence.

    Attributes:
        text: As it is written, without phrases that take an answer back.
        retracts: Whether it had one: it takes back the answer before it.
        tokens: Its words in lower case; a mention of an option is one.
        at: Where the mentions are among the tokens.
    """

    def __init__(self, text: str) -> None:
        self.retracts = bool(words.RETRACTED.search(text))
        self.text = text = words.RETRACTED.sub(" ", text)
        marked = re.sub(f"({MENTION})", r" \1 ", text)
        self.tokens = _PATTERNS["split_words"].sub(" ", marked).lower().split()
        self.at = [i for i, word in enumerate(self.tokens) if "\ue000" <= word <= "\ue1ff"]

    @property
    def first(self) -> str:
        """Return the first word; empty without words."""
        return self.tokens[0] if self.tokens else ""

    @cached_property
    def in_other_script(self) -> bool:
        """Return whether it has words in another script than Latin."""
        return bool(_PATTERNS["other_script"].search(self.text))

    @cached_property
    def letters(self) -> set[str]:
        """Return the letters of the options that are named."""
        return {named_letter(self.tokens[i]) for i in self.at}

    @property
    def concludes(self) -> bool:
        """Return whether the next claim replaces those before."""
        names_letter = any(ord(self.tokens[i]) < OPTION for i in self.at)
        concluding = words.CONCLUDES | words.LEFT if names_letter else words.CONCLUDES
        return not concluding.isdisjoint(self.tokens)

    @property
    def contrasts(self) -> bool:
        """Return whether it is opposed to the clauses before it."""
        opposed = self.first in words.CONTRASTS or bool(words.CONTRASTING.match(self.text))
        return opposed and not {"also", "auch", "too"}.intersection(self.tokens)

    @property
    def supposes(self) -> bool:
        """Return whether it is a condition or an assumption, so that its consequences are not claimed."""
        return (self.first in words.CONDITIONS and len(self.tokens) > 1) or bool(words.SUPPOSES.search(self.text))

    @property
    def is_known(self) -> bool:
        """Return whether all words are among those that state or deny an answer."""
        return _is_known(
            [word for word in self.tokens if word not in words.DENIALS and not re.fullmatch(MENTION, word)]
        )

    @property
    def introduces(self) -> bool:
        """Return whether a clause without an option leaves a claim behind it in the voice of the answerer."""
        is_foreign = not self.text.isascii() and not (self.in_other_script and self.denies)
        return self.is_known or self.contrasts or self.first in words.FRONTS or self.concludes or is_foreign

    @property
    def denies(self) -> bool:
        """Return whether it excludes the options that it is about."""
        return any(word in words.DENIALS or word.startswith(words.STEMS) for word in self.tokens)

    @property
    def spoken(self) -> int:
        """Return how clearly the text of an option in any sentence claims it; 0 for a letter."""
        kinds = [ord(self.tokens[i]) for i in self.at]
        if not words.OPEN.isdisjoint(self.tokens) or words.EXAMPLES.search(self.text):
            return 0
        if self.in_other_script and not self.is_known:  # a word that is not known may deny
            return 0
        if LETTER_AND_TEXT <= kinds[-1] < BARE_LETTER:
            return PAIRED if self.at[-1] == len(self.tokens) - 1 else SPOKEN
        return SPOKEN if max(kinds) >= OPTION else 0

    @property
    def stated(self) -> int:
        """Return how clearly it claims the options that it names, if it says so in words that are all known; else 0."""
        text_before, *_, text_after = re.split(MENTION, self.text)
        before, after = self.tokens[: self.at[0]], self.tokens[self.at[-1] + 1 :]
        kind = ord(self.tokens[self.at[0]])
        in_chinese = words.BEFORE_IN_CHINESE.fullmatch(text_before) and words.AFTER_IN_CHINESE.fullmatch(text_after)
        if in_chinese and not (text_before + text_after).isascii():
            return STATED
        if not _is_known(before):
            in_own_voice = self.retracts or not words.OWN_VOICE.isdisjoint(before) or len(before) > _LABEL
            return BARE if in_own_voice and not after and text_before.rstrip(" (").endswith(":") else 0
        is_named = before[-1:] and before[-1] in words.NAMES and words.OPENERS.issuperset(before[:-1])
        cues = before[:-1] if before and before[-1] in words.NAMES else before
        is_cued = not is_named and not (words.CUES | words.PRAISE).isdisjoint(cues)
        ends = _is_known(after) or after[0] in words.REASONS | words.OWN_VOICE
        if (is_cued and (ends or (kind < BARE_LETTER and after[0] not in words.LIMITS))) or self._praises(after):
            return BARE if not words.MODALS.isdisjoint(self.tokens) or after[:1] == ["would"] else STATED
        if not words.TOPICS.isdisjoint(before[:1] + before[-1:]) and words.EQUALS.isdisjoint(before):
            return 0
        is_label = kind < BARE_LETTER and (not before and after[:1] and after[0] not in words.VERBS)
        describes = (is_named or kind < BARE_LETTER) and words.STATES.issuperset(after)
        return BARE if kind < OPTION and (_is_plain(after) or is_label or describes) else 0

    def _praises(self, after: list[str]) -> bool:
        """Return whether the words after the mention say that this option is the answer."""
        praised = not words.PRAISE.isdisjoint(after) or words.PRAISES.search(" ".join(after))
        after = after[:-1] if after[-1:] == ["about"] else after
        after = [word for word in after if word not in ("others", "rest")]
        return _is_known(after) and (bool(praised) or after in (["it", "is"], ["only"]))


def _is_plain(after: list[str]) -> bool:
    """Return whether the words behind a letter add nothing to it."""
    is_short = not after or after[0] in words.OWN_VOICE or after in (["is"], ["was"], ["does"])
    return is_short or set(after) <= words.LINKS - words.VERBS


def _is_known(tokens: list[str]) -> bool:
    """Return whether all words are among those that state an answer; behind a reason any may follow."""
    for i, word in enumerate(tokens):
        if i and (word in words.REASONS or (word == "as" and tokens[i + 1 : i + 2] in words.DETERMINERS)):
            return True
        if word not in words.KNOWN:
            return False
    return True
