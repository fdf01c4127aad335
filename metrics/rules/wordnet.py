"""Find synonyms in WordNet 3.0, offline: a table of its one-word lemmas is part of the package.

`tools/make_wordnet.py` makes the table; Princeton's license is next to it. Only what METEOR reads is in the table:
words of several parts, glosses and relations are not.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_name("wordnet.json.gz")
LICENSE = Path(__file__).with_name("wordnet.LICENSE")


class Lemma(NamedTuple):
    """Hold a word of a synset, as WordNet writes it."""

    word: str

    def name(self) -> str:
        """Return the word."""
        return self.word


class Synset(NamedTuple):
    """Hold words with one meaning."""

    words: Sequence[str]

    def lemmas(self) -> Iterator[Lemma]:
        """Return the words as lemmas."""
        return map(Lemma, self.words)


class WordNet:
    """Find the synsets of a word, as the `WordNetCorpusReader` of NLTK does, in the methods that its METEOR calls.

    Args:
        synsets: Per part of speech (`n`, `v`, `a`, `r`) the words of each synset.
        exceptions: Per part of speech the irregular forms and the base forms of each.
    """

    def __init__(
        self, synsets: Mapping[str, Sequence[Sequence[str]]], exceptions: Mapping[str, Mapping[str, Sequence[str]]]
    ) -> None:
        from nltk.corpus import WordNetCorpusReader

        self._endings: Mapping[str, Sequence[tuple[str, str]]] = WordNetCorpusReader.MORPHOLOGICAL_SUBSTITUTIONS
        self._exceptions = exceptions
        self._synsets: dict[str, dict[str, list[Synset]]] = {}
        for part, groups in synsets.items():
            of_word = self._synsets[part] = defaultdict(list)
            for words in groups:
                synset = Synset(words)
                for word in {word.lower() for word in words}:
                    of_word[word].append(synset)

    def synsets(self, word: str) -> list[Synset]:
        """Return the synsets of all parts of speech that have the word or one of its base forms.

        >>> sorted(lemma.name() for synset in load().synsets("purchases") for lemma in synset.lemmas())
        ['buy', 'leverage', 'purchase', 'purchase', 'purchase']
        """
        return [
            synset
            for part, of_word in self._synsets.items()
            for form in dict.fromkeys([word.lower(), *self._base_forms(word.lower(), part)])
            for synset in of_word.get(form, ())
        ]

    def _base_forms(self, word: str, part: str) -> Sequence[str]:
        if word in self._exceptions[part]:
            return self._exceptions[part][word]
        return [word[: -len(old)] + new for old, new in self._endings[part] if word.endswith(old)]


@cache
def load() -> WordNet:
    """Return the table, read when it is first needed."""
    table = json.loads(gzip.decompress(TABLE.read_bytes()))
    return WordNet(table["synsets"], table["exceptions"])
