"""Score captions of audio: METEOR of a text against one or several references, offline.

Call `meteor` on texts. `score` is what the tasks of lm-eval name.

The function is NLTK's own, with its default weights (alpha 0.9, beta 3, gamma 0.5), as `evaluate.load("meteor")` and
AudioBench call it. Synonyms come from a table of WordNet 3.0 in this package, so nothing is downloaded. Three
properties of NLTK's function are kept, because scores would not compare otherwise:

* Words are stemmed before synonyms are searched, so that many synonyms are not found ("cars" and "automobiles").
* The order of references does not matter, that of words does, and case does not.
* Texts without a common word have score 0; equal texts score slightly below 1.

Texts are split into words by NLTK's tokenizer, in each sentence as `word_tokenize` does. Its sentence model is a
download; the same algorithm without a trained model finds the sentences here, and differs only where an abbreviation
with a period ("Dr.") precedes a capital letter.
"""

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import response_of

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

        >>> sorted(lemma.name() for synset in load_wordnet().synsets("purchases") for lemma in synset.lemmas())
        ['buy', 'leverage', 'purchase', 'purchase', 'purchase']
        """
        found: list[Synset] = []
        for part, of_word in self._synsets.items():
            for form in dict.fromkeys([word.lower(), *self._base_forms(word.lower(), part)]):
                found += of_word.get(form, ())
        return found

    def _base_forms(self, word: str, part: str) -> Sequence[str]:
        if word in self._exceptions[part]:
            return self._exceptions[part][word]
        return [word[: -len(old)] + new for old, new in self._endings[part] if word.endswith(old)]


@cache
def load_wordnet() -> WordNet:
    """Return the table, read when it is first needed."""
    table = json.loads(gzip.decompress(TABLE.read_bytes()))
    return WordNet(table["synsets"], table["exceptions"])


def meteor(reference: str | Sequence[Any], hypothesis: str | Sequence[str]) -> float:
    """Return METEOR of one text, or the mean over several: from 0 to 1; NaN if a reference has no words.

    Args:
        reference: For one hypothesis: a text, or several references, of which the best counts. For a list of
            hypotheses: as many entries, each a text or several references.
        hypothesis: A text, or a list of texts.

    Raises:
        SpeechIQError: The lists have different lengths.

    >>> round(meteor("A dog barks in the yard.", "A dog is barking in a yard."), 2)
    0.72
    >>> meteor(["Music plays.", "A dog barks."], "A dog barks.") == meteor("A dog barks.", "A dog barks.")
    True
    >>> meteor(["Rain falls", ["Birds sing", "A bird"]], ["Wind", ""]), meteor("", "Birds sing")
    (0.0, nan)
    """
    references = [reference] if isinstance(reference, str) or isinstance(hypothesis, str) else list(reference)
    hypotheses = [hypothesis] if isinstance(hypothesis, str) else hypothesis
    if len(references) != len(hypotheses):
        raise SpeechIQError(
            "references",
            f"{len(references)}, hypotheses: {len(hypotheses)} texts",
            "give the references of each hypothesis",
        )
    scores = [best(texts, text) for texts, text in zip(references, hypotheses, strict=True)]
    return math.fsum(scores) / len(scores) if scores else math.nan


def best(references: str | Sequence[str], hypothesis: str) -> float:
    """Return the highest METEOR of a text against its references that have words; NaN if none has."""
    from nltk.translate.meteor_score import meteor_score

    texts = [references] if isinstance(references, str) else references
    words = list(filter(None, map(split_words, texts)))
    if not words:
        return math.nan
    return float(meteor_score(words, split_words(hypothesis), wordnet=load_wordnet()))


def split_words(text: str) -> list[str]:
    """Return the words and punctuation marks of a text.

    >>> split_words("A dog doesn't bark. Birds sing.")
    ['A', 'dog', 'does', "n't", 'bark', '.', 'Birds', 'sing', '.']
    """
    sentences, words = _tokenizers()
    return [word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)]


@cache
def _tokenizers() -> tuple[Any, Any]:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return PunktSentenceTokenizer(), NLTKWordTokenizer()


def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score one caption against its best reference: `answer`, or one of `accepted`, which may be missing.

    >>> score({"answer": "Rain falls.", "accepted": ["It rains."]}, [""])
    {'meteor': 0.0, 'empty_answer': 1.0, 'audio_coverage': nan}
    """
    response = response_of(results[0])
    return {
        "meteor": best([doc["answer"], *doc.get("accepted", ())], response.text),
        "empty_answer": float(not response.text.strip()),
        "audio_coverage": response.coverage,
    }
