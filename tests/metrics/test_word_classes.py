"""Error rates of rare and of entity words: against every optimal alignment, and what cannot be read."""

import math
from functools import cache
from importlib.util import find_spec

import pytest
import transformers as tf
from hypothesis import given
from hypothesis import strategies as st

from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.metrics.distance.semantic import score
from speechiq.metrics.models import forget_models
from speechiq.metrics.words import word_classes
from speechiq.metrics.words.wer import Errors, count_errors, pool
from speechiq.metrics.words.word_classes import check_entities, entity_wer, find_entities, rare_wer, read_rare_words
from tests.metrics import tiny_text

WORDS = ["who", "the", "calculus", "cactus", "new", "york"]
RARE = {"calculus", "cactus", "york"}
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
needs_wordfreq = pytest.mark.skipif(not find_spec("wordfreq"), reason="the extra rare-words is not installed")


def all_counts(reference: list[str], hypothesis: list[str]) -> set[tuple[int, int, int, int]]:
    """Return (hits, substitutions, deletions, insertions) of rare words for every alignment with the fewest errors."""

    @cache
    def best(i: int, j: int) -> tuple[int, frozenset]:
        if i == j == 0:
            return 0, frozenset({(0, 0, 0, 0)})
        steps = []
        if i and j:
            same = reference[i - 1] == hypothesis[j - 1]
            steps.append((*best(i - 1, j - 1), int(not same), int(not same), reference[i - 1]))
        if i:
            steps.append((*best(i - 1, j), 1, 2, reference[i - 1]))
        if j:
            steps.append((*best(i, j - 1), 1, 3, hypothesis[j - 1]))
        fewest = min(errors + cost for errors, _, cost, _, _ in steps)
        found = set()
        for errors, counts, cost, kind, word in steps:
            if errors + cost == fewest:
                found |= {tuple(n + (k == kind and word in RARE) for k, n in enumerate(each)) for each in counts}
        return fewest, frozenset(found)

    return set(best(len(reference), len(hypothesis))[1])


@given(texts, texts)
def test_counts_are_those_of_an_alignment_with_the_fewest_errors(reference, hypothesis):
    found = word_classes.count_rare(reference, hypothesis, RARE.__contains__)
    counts = found.hits, found.substitutions, found.deletions, found.insertions
    assert counts in all_counts(reference.split(), hypothesis.split())
    assert found.reference_length == sum(word in RARE for word in reference.split())


@given(texts, texts)
def test_a_class_and_its_complement_have_all_errors(reference, hypothesis):
    rare = word_classes.count_rare(reference, hypothesis, RARE.__contains__)
    common = word_classes.count_rare(reference, hypothesis, lambda word: word not in RARE)
    assert rare + common == count_errors(reference, hypothesis)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "entities", "errors"),
    [
        ("who is in new york", "who is in new york", ["new york"], Errors(hits=2)),
        ("who is in new york", "who is in new york new york", ["new york"], Errors(hits=2, insertions=2)),
        ("a new way to new york", "an old way to york", ["new york"], Errors(hits=1, deletions=1)),
        ("who is in new york", "", ["new york"], Errors(deletions=2)),
        ("who is it", "who is york", [], Errors()),
        ("", "york", [], Errors()),
    ],
)
def test_words_of_entities_count_in_their_place(reference, hypothesis, entities, errors):
    assert word_classes.count_entities(reference, hypothesis, entities) == errors


@pytest.mark.parametrize(
    ("reference", "hypothesis", "entity", "rate"),
    [
        ("We leave at 2 PM.", "we leave at two p.m.", "2 PM", 0),
        ("We leave at 2:00 PM.", "We leave at 2 o'clock p.m.", "2:00 PM", 0),
        ("We leave at nine forty five a m", "we leave at 9:45 AM", "nine forty five a m", 0),
        ("We leave at nine forty five a m", "we leave at 9.45 a.m.", "nine forty five a m", 0),
        ("We leave at nine forty five a m", "we leave at 9:54 AM", "nine forty five a m", 1 / 2),
        ("We leave at one p m", "we leave at 1 PM", "one p m", 0),
        ("My code is K Q four O T", "My code is KQ4OT.", "K Q four O T", 0),
        ("My code is K Q four O T", "my code is K-Q-4-O-T", "KQ4OT", 0),
        ("My code is K Q four O T", "my code is KQ4OD", "KQ4OT", 1),
        ("Seat thirty one C", "seat 31C", "thirty one C", 0),
        ("Write to kim dot roe at mail dot org", "Write to kim.roe@mail.org", "kim.roe@mail.org", 0),
        ("It cost one hundred ten dollars", "It cost $110.00", "one hundred ten dollars", 0),
    ],
)
def test_an_entity_is_kept_however_it_is_written(reference, hypothesis, entity, rate):
    assert entity_wer(reference, hypothesis, [[entity]]) == pytest.approx(rate)
    check_entities({"id": "a", "text": reference, "entities": [entity], "normalizer": "english"})


def test_a_set_is_pooled_and_a_clip_without_such_a_word_has_no_rate(tmp_path):
    file = tmp_path / "rare.txt"
    file.write_text("Calculus\n\nBoroughs\n")
    clips = [("who invented calculus", "who invented cactus"), ("the five boroughs", "the five boroughs"), ("so", "no")]
    rows = []
    for reference, hypothesis in clips:
        doc = {"text": reference, "normalizer": "english", "rare_words": str(file)}
        rows.append(score(doc, [{"text": hypothesis, "distances": {}, "entities": [], "audio_coverage": 1.0}]))
    assert [row["rare_wer"] for row in rows[:2]] == [1.0, 0.0] and math.isnan(rows[2]["rare_wer"])
    together = rare_wer(*(list(side) for side in zip(*clips, strict=True)), rare_words=str(file))
    assert pool(row["rare_wer_corpus"] for row in rows) == together == 0.5
    assert math.isnan(pool(row["entity_wer_corpus"] for row in rows))


def test_a_file_names_rare_or_common_words(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("who\ninvented\n", encoding="utf-8-sig")
    pair = "who invented calculus", "how invented cactus"
    assert rare_wer(*pair, rare_words=str(file)) == 0.5
    assert rare_wer(*pair, rare_words=f"common:{file}") == 1.0
    settings = read_rare_words({"rare_words": f"common:{file}"})
    assert settings["rare_words"] == f"common:{file}" and len(settings["rare_words_sha256"]) == 64


@needs_wordfreq
def test_words_are_rare_by_their_frequency_in_the_package():
    is_rare = word_classes.find_rare_words("wordfreq")
    words = ["boroughs", "burgers", "calculus", "genes", "jeans", "amazon", "the"]
    assert [is_rare(word) for word in words] == [True, True, True, False, False, False, False]
    assert read_rare_words({}) == {"rare_words": "wordfreq"}


def test_without_the_package_there_is_no_rare_word_unless_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(word_classes, "find_spec", lambda name: None)
    assert read_rare_words({}) == {"rare_words": "off"}
    assert math.isnan(rare_wer("calculus", "cactus", rare_words="off"))
    word_classes.find_rare_words.cache_clear()
    with pytest.raises(SpeechIQError, match=r"^rare_words=wordfreq: the package wordfreq is not installed; `pip inst"):
        read_rare_words({"rare_words": "wordfreq"})
    word_classes.find_rare_words.cache_clear()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (b"", "has no words; give a file with one word per line, wordfreq or off"),
        (b"\n ?\n", "has no words"),
        ("ä".encode("latin-1"), "not UTF-8"),
    ],
)
@pytest.mark.parametrize("kind", ["", "common:"])
def test_a_file_of_words_that_cannot_be_is_named(tmp_path, content, message, kind):
    file = tmp_path / "words.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SpeechIQError, match=rf"^rare_words={kind}.*words\.txt: {message}"):
        read_rare_words({"rare_words": f"{kind}{file}"})


def test_entities_are_given_or_found(tmp_path):
    with pytest.raises(SpeechIQError, match=r"^entity_wer: neither entities nor a tagger"):
        entity_wer("a", "b")
    with pytest.raises(SpeechIQError, match=r"^references: 1 texts, entities: 2; give one list per reference"):
        entity_wer("a", "b", [["a"], []])
    with pytest.raises(SpeechIQError, match=r"^demo/a: its entity 'Peru' is not in its reference; correct the column"):
        doc = {"id": "demo/a", "text": "Where is Lima?", "entities": ["lima", "Peru"], "normalizer": "english"}
        check_entities(doc)


def test_a_tagger_finds_the_words_that_the_pipeline_of_transformers_finds(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    folder = tiny_text.tagger(tmp_path / "tagger")
    references = ["who invented calculus in new york ?", "what are the five boroughs of new york", "who ?", ""]
    found = find_entities(references, folder)
    theirs = tf.pipeline("token-classification", model=folder, aggregation_strategy="first", device="cpu")
    for text, entities in zip(references, found, strict=True):
        expected = [word for group in theirs(text) for word in text[group["start"] : group["end"]].split()]
        assert [word for entity in entities for word in entity.split()] == expected
    assert any(found), "the random tagger finds something"
    before = usage["embeddings"]
    forget_models()
    assert find_entities(references, folder) == found and usage["embeddings"] == before
    assert entity_wer(references[:2], ["", ""], ner=folder) == 1.0


def test_a_tagger_without_a_label_for_no_entity_is_refused(tmp_path):
    folder = tiny_text.tagger(tmp_path / "tagger", labels=["NOUN", "VERB"])
    with pytest.raises(SpeechIQError, match=r"ner=.*: a bert model is not a tagger of named entities .*label O"):
        find_entities(["a"], folder)
