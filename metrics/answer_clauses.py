"""Split an answer into clauses, each of which claims, excludes or leaves open the options that it names.

Options are single private characters here (`metrics/answer_mentions.py`). A clause claims an option only in the voice
of the answerer: what others would say, what would hold under a condition, and what holds in part is left open.
"""

from __future__ import annotations

import re
from functools import cached_property

from speechiq.metrics import answer_words as words
from speechiq.metrics.answer_mentions import BARE_LETTER, MENTION, OPTION, named_letter

# How clear a claim is.
SPOKEN, BARE, STATED = 1, 2, 3

SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+|(?<=[.!?])(?=[\ue000-\ue1ff])|(?<=[。！？])(?![。！？])|(?<=\.\.)\s*(?=\w)")
_AND = "and|or|nor|&|und|oder|noch|y|o|ni|et|ou|e|of|en|и|или"
_LIST = re.compile(rf"{MENTION}(?:[\s()]*[,/][\s()]*{MENTION})*(?:[\s()]*,?\s*(?:{_AND})[\s()]+{MENTION})?")
_CLAUSE = re.compile(
    rf"(?<=[\ue000-\ue1ff])[\s)]*(?::|\s[-–—]+\s)\s*|,(?!\d)\s*|[;、]|\s*[()\[\]]\s*|\s[-–—]+\s|\s//\s|"
    r"\s*(?:=+>|-+>|[→⇒])\s*|(?<=\bno):\s+|"
    rf":\s+(?={MENTION}\s+(?:is|was)\b)|"
    r":\s+(?=(?:it'?s|it is|i|options?|the (?:\w+ )?answer)\b)|"
    r"(?<!not)(?<!nicht)\s+(?=(?:but|therefore|thus|hence|because|since|although|while|whereas|rather than|"
    r"instead of|so(?!\s+(?:is|are|was|do|does)\b|\s*(?:,|$))|"
    rf"sondern|sino|mais|mas|ma|maar|weil|porque|car|perché|omdat|pero|aber)\b|"
    r"and\s+(?:i\s+)?(?:choose|pick|select|take|go|recommends?|confirms?|prefers?)\b|"
    rf"as\s+(?:option\s+)?{MENTION}\s+(?:is|was|isn't|wasn't|would)\b|"
    rf"(?:and |but )?not\s+(?:option |"
    rf"answer )?[\s(]*{MENTION})",
    re.IGNORECASE,
)
_BETTER_THAN = re.compile(
    rf"\b(?:over|(?:rather\s+)?than|as opposed to|unlike)\s+(?:option\s+|answer\s+)?(?={MENTION})", re.IGNORECASE
)
_IF_AFTER = re.compile(r",\s+(?=(?:if|unless|wenn|falls|если)\b)", re.IGNORECASE)
_TWO = re.compile(rf"^([^\ue000-\ue1ff(]*{MENTION}),\s+(?:and\s+)?(?={MENTION}\s+(?:is|was|isn't|wasn't)\b)")
_ALONE_IN_CHINESE = re.compile(rf"({MENTION}),\s*(?={MENTION}(?:只|仅|不))")
_CHANGED = re.compile(rf"\bfrom\s+{MENTION}\s+(?=to\s+{MENTION})", re.IGNORECASE)
_NO = re.compile(rf"(?<=[\ue000-\ue0ff]),\s*no\s+(?={MENTION}\W*$)", re.IGNORECASE)
_NOT_BUT = re.compile(rf"\bnot\s+{MENTION},\s*(?={MENTION}\W*$)", re.IGNORECASE)
_TO_THE_QUESTION = re.compile(
    r"\b(?:to|for) (?:(?:the|this|your|that) )?(?:\w+ )?question\b(?: \d+)?|\bof (?:the|all(?: the)?|these) options?\b",
    re.IGNORECASE,
)
_SPLIT_WORDS = re.compile(r"[^\w\s'\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f\ue000-\ue1ff]+")
_MAX_GAP = 7


def split_clauses(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence, with "not" in the place of phrases that deny."""
    if words.RETRACTED.search(sentence) or sentence.lower().startswith("no"):
        sentence = _NOT_BUT.sub(" ", sentence)
    sentence = _CHANGED.sub(" ", _NO.sub(", wait ", sentence))
    sentence = _BETTER_THAN.sub(" not ", sentence)
    sentence = words.DENYING.sub(" not ", words.HARMLESS.sub(" ", _TO_THE_QUESTION.sub(" ", sentence)))
    sentence = _ALONE_IN_CHINESE.sub(r"\1; ", sentence)
    sentence = _TWO.sub(r"\1; ", _IF_AFTER.sub(" ", sentence))
    sentence = _LIST.sub(lambda found: found[0].replace(",", " ").replace("/", " "), " ".join(sentence.split()))
    return [Clause(text) for text in _CLAUSE.split(sentence) if text]


class Clause:
    """A part of a sentence.

    Attributes:
        text: As it is written.
        tokens: Its words in lower case; a mention of an option is one.
        at: Where the mentions are among the tokens.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _SPLIT_WORDS.sub(" ", re.sub(f"({MENTION})", r" \1 ", text)).lower().split()
        self.at = [i for i, word in enumerate(self.tokens) if "\ue000" <= word <= "\ue1ff"]

    @property
    def first(self) -> str:
        """Return the first word; empty without words."""
        return self.tokens[0] if self.tokens else ""

    @cached_property
    def letters(self) -> set[str]:
        """Return the letters of the options that are named."""
        return {named_letter(self.tokens[i]) for i in self.at}

    @property
    def retracts(self) -> bool:
        """Return whether it takes back the answer before it."""
        return bool(words.RETRACTED.search(self.text))

    @property
    def concludes(self) -> bool:
        """Return whether the next claim replaces those before."""
        names_letter = any(ord(self.tokens[i]) < OPTION for i in self.at)
        concluding = words.CONCLUDES | words.LEFT if names_letter else words.CONCLUDES
        return not concluding.isdisjoint(self.tokens) or bool(words.CONCLUDES_WITHIN.search(self.text))

    @property
    def contrasts(self) -> bool:
        """Return whether it is opposed to the clauses before it."""
        opposed = self.first in words.CONTRASTS or bool(words.CONTRASTING.match(self.text))
        return opposed and not {"also", "auch", "too"}.intersection(self.tokens)

    @property
    def supposes(self) -> bool:
        """Return whether it is a condition or an assumption, so that its consequences are not claimed."""
        is_condition = self.first in words.CONDITIONS - {"whether"} and len(self.tokens) > 1
        return is_condition or bool(words.SUPPOSES.search(self.text))

    @property
    def denies(self) -> bool:
        """Return whether it excludes the options that it is about."""
        return (
            not words.DENIALS.isdisjoint(self.tokens)
            or any(word.startswith(words.STEMS) for word in self.tokens)
            or bool(words.DENIES_WITHIN.search(self.text))
        )

    @property
    def denies_all(self) -> bool:
        """Return whether a remark such as "the speaker does not say this" denies all of the option named before it."""
        return not words.DENIALS.isdisjoint(self.tokens[:3]) or (
            self.tokens[-1] in words.ALL_OF_IT and Clause(" ".join(self.tokens[:6])).denies
        )

    @property
    def leaves_open(self) -> bool:
        """Return whether it gives the opinion of others, an earlier one, or one that holds in part."""
        names_letter = any(ord(self.tokens[i]) < OPTION for i in self.at) or not words.CUES.isdisjoint(self.tokens)
        if names_letter and (not words.DISTANT.isdisjoint(self.tokens) or words.DISTANT_WITHIN.search(self.text)):
            return True
        return not words.OPEN.isdisjoint(self.tokens) or bool(words.OPENING.search(self.text))

    @property
    def strength(self) -> int:
        """Return how clearly it claims the only option, or the list of options, that it names; 0 if it does not."""
        before, after = self.tokens[: self.at[0]], self.tokens[self.at[-1] + 1 :]
        kind = ord(self.tokens[self.at[0]])
        stated = BARE if not words.MODALS.isdisjoint(self.tokens) or after[:1] == ["would"] else STATED
        is_named = before[-1:] and before[-1] in words.NAMES and words.OPENERS.issuperset(before[:-1])
        for i in range(-1 if is_named else len(before) - 1, -1, -1):
            if i == len(before) - 1 and before[i] in words.NAMES:
                continue
            if before[i] in words.CUES or before[i] in words.PRAISE:
                return stated
            if before[i] not in words.BETWEEN:
                break
        else:
            if self._praises(after):
                return stated
            is_bracketed = kind < BARE_LETTER and not is_named
            is_plain = not after or not after[0].isascii() or after in (["is"], ["was"], ["does"])
            if kind < OPTION and (is_plain or set(after) <= words.LINKS - words.VERBS):
                return BARE
            if (is_bracketed and after[0] not in words.VERBS) or (
                (is_bracketed or is_named) and words.STATES.issuperset(after)
            ):
                return BARE
        text_before = re.split(MENTION, self.text, maxsplit=1)[0].rstrip(" (")
        if words.CUE_AT_END.search(text_before):
            return stated
        if kind >= OPTION:
            return SPOKEN
        if not after and text_before.endswith(":"):
            return BARE
        return SPOKEN if not after and (kind < BARE_LETTER or (before and before[-1] in words.LINKS)) else 0

    def _praises(self, after: list[str]) -> bool:
        """Return whether the words after the mention say that this option is the answer."""
        remark = " ".join(after)
        if words.QUALIFIED.search(remark):
            return False
        return (
            not words.PRAISE.isdisjoint(after[:_MAX_GAP])
            or bool(words.PRAISES.search(remark))
            or bool(words.PRAISES_WITHIN.search(self.text))
            or after in (["it", "is"], ["only"])
        )
