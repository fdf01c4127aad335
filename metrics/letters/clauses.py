"""Split an answer into clauses, each of which claims, excludes or leaves open the options that it names.

Options are single private characters here (`metrics/letters/mentions.py`). A clause claims a letter only in words that
are all known: what others say, and what holds under a condition or in part, has other words and is left open.
"""

from __future__ import annotations

import re
from functools import cached_property

from speechiq.metrics.letters import words
from speechiq.metrics.letters.mentions import BARE_LETTER, LETTER_AND_TEXT, MENTION, OPTION, named_letter

# How clear a claim is: by an option's text in any sentence, with its letter, by a letter, by a statement.
SPOKEN, PAIRED, BARE, STATED = 1, 2, 3, 4

SENTENCE = re.compile(
    r"\n+|(?<=[.!?;])\s+|(?<=[.!?])(?=[\ue000-\ue1ff])|(?<=[。！？।؟])(?![。！？])|(?<=\.\.)\s*(?=\w)"
)
_AND = "and|or|nor|&|und|oder|noch|y|o|ni|et|ou|e|of|en|и|или|και|ή|ούτε|أو|و|या|और|அல்லது|หรือ"
_LIST = re.compile(rf"{MENTION}(?:[\s()]*[,/][\s()]*{MENTION})*(?:[\s()]*,?\s*(?:{_AND})[\s()]+{MENTION})?")
_CLAUSE = re.compile(
    rf"(?<=[\ue000-\ue1ff])[\s)]*(?::|\s[-–—]+\s)\s*|,(?!\d)\s*|[;、،؛]|(?<=아니라)\s+|\s*[()\[\]]\s*|\s[-–—]+\s|\s//\s|"
    r"\s*(?:=+>|-+>|[→⇒])\s*|(?<=\bno):\s+|"
    rf":\s+(?={MENTION}\s+(?:is|was)\b)|"
    r":\s+(?=(?:it'?s|it is|i|options?|the (?:\w+ )?answer)\b)|"
    r"(?<!not)(?<!nicht)\s+(?=(?:but|therefore|thus|hence|because|since|although|while|whereas|rather than|"
    r"instead of|so(?!\s+(?:is|are|was|do|does|ist|war|wäre)\b|\s*(?:,|$))|"
    rf"sondern|sino|mais|mas|ma|maar|weil|porque|car|perché|omdat|pero|aber|αλλά|بل|बल्कि)\b|"
    r"and\s+(?:i\s+)?(?:choose|pick|select|take|go|recommends?|confirms?|prefers?)\b|"
    rf"as\s+(?:option\s+)?{MENTION}\s+(?:is|was|isn't|wasn't|would)\b|"
    rf"(?:and |but )?not\s+(?:option |"
    rf"answer )?[\s(]*{MENTION})",
    re.IGNORECASE,
)
_BETTER_THAN = re.compile(
    rf"\b(?:over|(?:rather\s+)?than|as opposed to|unlike)\s+(?:option\s+|answer\s+)?(?={MENTION})", re.IGNORECASE
)
_IF_AFTER = re.compile(r",\s+(?=(?:if|unless|wenn|falls|если|αν|لو)\b)", re.IGNORECASE)
_TWO = re.compile(rf"^([^\ue000-\ue1ff(]*{MENTION}),\s+(?:and\s+)?(?={MENTION}\s+(?:is|was|isn't|wasn't)\b)")
_ALONE_IN_CHINESE = re.compile(rf"({MENTION}),\s*(?={MENTION}(?:只|仅|不))")
_CHANGED = re.compile(rf"\bfrom\s+{MENTION}\s+(?=to\s+{MENTION})", re.IGNORECASE)
_NOT_BUT = re.compile(rf"\bnot\s+{MENTION},\s*(?={MENTION}\W*$)", re.IGNORECASE)
_TO_THE_QUESTION = re.compile(
    r"\b(?:to|for) (?:(?:the|this|your|that) )?(?:\w+ )?question\b(?: \d+)?|\bof (?:the|all(?: the)?|these) options?\b",
    re.IGNORECASE,
)
_EXPLAINED = re.compile(rf"({MENTION}[^\ue000-\ue1ff:]{{1,60}}):\s+(?!{MENTION})")
_SPLIT_WORDS = re.compile(
    r"[^\w\s'\u0300-\u036f\u064b-\u0652\u0900-\u0963\u0966-\u097f\u0b80-\u0bff\u0e00-\u0e7f\ue000-\ue1ff]+"
)
#: Letters of other scripts than Latin.
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1dff\u3040-\ud7af]")
#: Words before a colon up to which they may name another person whose answer follows.
_LABEL = 4


def split_clauses(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence, with "not" in the place of phrases that deny."""
    if words.RETRACTED.search(sentence) or sentence.lower().startswith("no"):
        sentence = _NOT_BUT.sub(" ", sentence)
    sentence = _CHANGED.sub(" ", sentence)
    sentence = words.HARMLESS.sub(" ", _TO_THE_QUESTION.sub(" ", sentence))
    sentence = words.DENYING.sub(" not ", _BETTER_THAN.sub(" not ", sentence))
    sentence = _EXPLAINED.sub(r"\1; ", sentence)
    sentence = _ALONE_IN_CHINESE.sub(r"\1; ", sentence)
    sentence = _TWO.sub(r"\1; ", _IF_AFTER.sub(" ", sentence))
    sentence = _LIST.sub(lambda found: found[0].replace(",", " ").replace("/", " "), " ".join(sentence.split()))
    return [Clause(text) for text in _CLAUSE.split(sentence) if text]


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
        self.tokens = _split_words(text)
        self.at = [i for i, word in enumerate(self.tokens) if "\ue000" <= word <= "\ue1ff"]

    @property
    def first(self) -> str:
        """Return the first word; empty without words."""
        return self.tokens[0] if self.tokens else ""

    @cached_property
    def in_other_script(self) -> bool:
        """Return whether it has words in another script than Latin."""
        return bool(_OTHER_SCRIPT.search(self.text))

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


def _split_words(text: str) -> list[str]:
    return _SPLIT_WORDS.sub(" ", re.sub(f"({MENTION})", r" \1 ", text)).lower().split()


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
