"""Find the words of an English text that say something: all but function words.

A function word is an article, a pronoun, a preposition, a conjunction, an auxiliary, or an adverb that only links or
weakens. Negations are not among them, since they change what is said, and neither are numbers, which the normalizer
writes as digits: "twenty" and "20" are one word.
"""

from collections.abc import Iterable

from rapidfuzz.distance import Prefix

from speechiq.metrics.words.normalizer import DEFAULT, normalize

_ENGLISH = """
a an the this that these those some any each every either both all such other another own same
i you he she it we they me him her us them my your his its our their mine yours hers ours theirs
myself yourself himself herself itself ourselves yourselves themselves
who whom whose which what when where why how
of in on at by for from to with about into onto over under after before between through during against among
within upon towards toward as than like per via out up down off
and or but nor so if then because since while though although unless until whether
is are was were be been being am do does did doing done has have had having
will would shall should can could may might must
there here just only also very more most much many too still already even again ever quite rather really
"""
FUNCTION_WORDS = frozenset(_ENGLISH.split())
#: Letters of an ending that do not count, and letters that a stem has at least.
ENDING, STEM = 3, 4


def find_content_words(text: str, rules: str = DEFAULT) -> list[str]:
    """Return the distinct words of a text that are no function words, in order; `rules` is the normalizer's name.

    >>> find_content_words("They paid the twenty drivers in January")
    ['paid', '20', 'drivers', 'january']
    """
    return [word for word in dict.fromkeys(normalize(text, rules).split()) if word not in FUNCTION_WORDS]


def has_word(word: str, words: Iterable[str]) -> bool:
    """Return whether a word is among others; of words without digits, endings of up to three letters do not count.

    >>> has_word("drivers", ["a", "driver"]), has_word("delayed", ["delaying"]), has_word("paid", ["pain"])
    (True, True, False)
    >>> has_word("2000", ["20000"])
    False
    """
    return any(word == other or _is_one_stem(word, other) for other in words)


def _is_one_stem(word: str, other: str) -> bool:
    if not (word.isalpha() and other.isalpha()):
        return False
    return Prefix.similarity(word, other) >= max(STEM, len(word) - ENDING, len(other) - ENDING)
