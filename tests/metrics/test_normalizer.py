import itertools
import json
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.words.normalizer import RULES, normalize, read_normalizer, refuse_lost_marks
from speechiq.metrics.words.wer import cer, mer, score, wer
from tests.metrics.whisper_texts import hash_outputs, write_texts

OPENAI = json.loads(Path(__file__).with_name("whisper_texts.json").read_text())


@pytest.mark.parametrize("kind", OPENAI)
def test_the_rules_equal_those_of_openais_own_code(kind):
    import speechiq.metrics.words.normalizer as ours

    assert [hash_outputs(texts, ours._normalizer(kind)) for texts in write_texts()] == OPENAI[kind]


#: Two forms of the same words, which Whisper's rules tell apart.
SAME = [
    ("I don’t know, we’ve, O’Neill‘s", "I don't know, we've, O'Neill's"),
    ("They ’ve gone", "They 've gone"),
    ("So it goes...", "so it goes"),
    ("So it goes…", "so it goes"),
    ("Wait … what?..", "wait what"),
    ("Call 0123 now", "call oh one two three now"),
    ("agent 007", "agent double oh seven"),
    ("It is 20 mm, or 35 MM", "it is 20mm or 35mm"),
    ("$0.5", "fifty cents"),
    ("so\u200b it\ufeff goes\u00ad", "so it goes"),
    ("०42 years", "oh four two years"),
    ("It cost $", "it cost"),
    ("% of people", "of people"),
]
#: Two texts of different words, which Whisper's rules take for the same.
DIFFERENT = [("one dollar", "one"), ("$1", "one"), ("1%", "1"), ("D.1", "D one"), ("0123", "123"), ("20 mm", "20")]


@pytest.mark.parametrize(("text", "other"), SAME)
def test_the_english_rules_repair_what_whispers_tell_apart(text, other):
    assert normalize(text) == normalize(other)
    assert normalize(text, "whisper") != normalize(other, "whisper")


@pytest.mark.parametrize(("text", "other"), DIFFERENT)
def test_the_english_rules_tell_apart_what_whispers_take_for_the_same(text, other):
    assert normalize(text) != normalize(other)
    assert normalize(text, "whisper") == normalize(other, "whisper")


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("uh, 20 um mm hats", "20 hats"),
        ("two dollars and seven cents", "$2.07"),
        ("minus one or one hundred and one, plus ones, 1s", "-1 or 101 +1s ones"),
        ("point 05 of 05 percent", ".05 of 05 percent"),
        ("Straße, cœur", "strasse coeur"),
        ("१, १0 ½", "one 10 one 2"),
        ("...", ""),
        ("$", ""),
    ],
)
def test_what_the_english_rules_make_of_edges(text, normalized):
    assert normalize(text) == normalized


def test_the_english_rules_are_whispers_where_no_fault_is_known():
    repaired = re.compile(r"…|\.\.|\b0\d|\b1s?\b|\bones?\b|[.$%¢€£]\s*$|¢\d|^\s*%|\bmm\b|’")
    for text in itertools.chain.from_iterable(write_texts()):
        normalized = normalize(text, "whisper")
        if not repaired.search(text) and not repaired.search(normalized):
            assert normalize(text) == normalized


@pytest.mark.parametrize("language", ["tr", "az", "tr-TR"])
def test_the_i_of_turkish_is_lowered_as_turkish_does(language):
    kind = read_normalizer({"language": language})["normalizer"]
    written = "İstanbul'a gidiyorum. Işıklar yanıyor. İyi günler."
    spoken = "istanbul'a gidiyorum ışıklar yanıyor iyi günler"
    assert wer(written, spoken, kind) == 0 == cer(written, spoken, "multilingual", language[:2])
    assert wer(unicodedata.normalize("NFD", written), spoken, kind) == 0
    assert wer("kız", "kiz", kind) == 1 and wer(written, spoken, "multilingual") > 0
    assert wer("IŞIK 21", "ışık yirmibir", "openasr-tr") == 0


#: Language, a text, and the same text as others write it.
EQUAL = [
    ("km", "សួស្តី\u200bបង", "សួស្តីបង"),
    ("th", "ไป\u200bไหน", "ไปไหน"),
    ("my", "မြန်\u2060မာ", "မြန်မာ"),
    ("he", "\u200fשלום\u200e", "שלום"),
    ("ar", "\u202bكتــاب\u202c", "كتاب"),
    ("ar", "\u2067كتاب\u2069", "كتاب"),
    ("fa", "می\u200cخواهم", "میخواهم"),
    ("fa", "می\u200cخواهم ۴۲", "می\u200cخواهم 42"),
    ("hi", "क्\u200dया २०", "क्या 20"),
    ("si", "ක්\u200dෂ", "ක්ෂ"),
    ("ml", "അവന്\u200d", "അവൻ"),
    ("uk", "п\u02bcять", "п'ять"),
    ("uk", "п’ять", "п'ять"),
    ("uz", "o\u02bbzbek", "o'zbek"),
    ("de", "\ufeffDonau\u00addampf", "Donaudampf"),
    ("de", "gut 👩\u200d💻 gemacht ✌\ufe0f 1\ufe0f\u20e3", "gut gemacht 1"),
    ("ja", "葛\U000e0100城", "葛城"),
    ("bn", "১২৩", "123"),
]


@pytest.mark.parametrize(("language", "written", "plain"), EQUAL)
def test_invisible_characters_apostrophes_and_digits_have_one_form(language, written, plain):
    assert cer(written, plain, "multilingual", language) == 0 == mer(written, plain, "multilingual")
    assert wer(written, plain, "multilingual") == 0 == wer(written, plain, f"openasr-{language}")


def test_a_chillu_of_malayalam_is_a_letter_of_its_own():
    assert wer("അവന്\u200d", "അവന്", "multilingual") == 1


def test_invisible_characters_are_no_lost_marks():
    refuse_lost_marks(["so it goes ✌\ufe0f", "\u034fso"], "basic")


def test_a_cause_is_not_a_because():
    assert wer("the cause of the pain", "the because of the pain") == pytest.approx(1 / 5)
    assert normalize("kinda dunno sorta") == "kinda dunno sorta"


def test_vowel_signs_count_in_the_multilingual_rules_alone():
    assert wer("कि", "की") == 0 == wer("कि", "की", "basic")
    assert wer("कि", "की", "multilingual") == 1
    assert normalize("Ça, c'est \uff2f\uff2b: Straße!", "multilingual") == "ça c est ok strasse"


#: Words that rules join to others, write as several or leave out, and signs.
JOINED = """
    a and an i he'd she's been gone done got can't let's ain't wanna i'ma mr dr. sen uh um, hmm mm 20 20mm 3.5 1,000
    0123 007 1 1s 2nd st rd th s colour twenty-one u.s. U.S. rock'n'roll .5 5. ... - , 'tis 't 's uh's x. one. and,
    two three hundred thousand million point double oh zero o minus percent per cent dollars cents half first ones
"""
APART = [" "] * 12 + ["  ", "\n", ", ", ". ", " - "]


def test_a_text_in_parts_equals_the_text_as_a_whole():
    """Cover brackets too: words in them are dropped, and a text with brackets is not cut."""
    chance = random.Random(0)
    for plain in (0, 1, 3):
        words = JOINED.split() + ["the", "word", "Colour.", "of", "people,", "mister"] * 7 * plain
        for _ in range(700):
            text = "".join(chance.choice(words) + chance.choice(APART) for _ in range(chance.randint(1, 12)))
            assert normalize(text) == normalize(f"{text} (x)"), text


def test_a_number_of_thousands_of_digits_is_normalized_too():
    assert normalize("1" * 9_000).replace(" ", "") == "1" * 9_000


def test_rates_follow_the_normalizer_of_the_doc():
    doc, text = {"text": "It cost two thousand dollars."}, "it cost $2000"
    english, basic = score(doc, [text]), score(doc | {"normalizer": "basic"}, [text])
    assert english["wer"] == 0 and basic["wer"] > 0
    assert basic["wer"] == basic["wer_basic"] == english["wer_basic"] == basic["wer_first"] == basic["wer_oracle"]
    assert basic["wer_corpus"] == basic["wer"] and basic["substitutions"] + basic["deletions"] > 0


def test_an_unknown_normalizer_is_refused_with_the_known_ones():
    with pytest.raises(SpeechIQError, match="unknown; known are auto, english, whisper, basic, multilingual, openasr"):
        read_normalizer({"normalizer": "German"})


def test_the_version_of_the_rules_is_recorded():
    assert [read_normalizer({"normalizer": kind})["normalizer_version"] for kind in RULES] == list(RULES.values())


def test_normalizing_imports_neither_torch_nor_transformers():
    code = "import sys; from speechiq.metrics.words.normalizer import normalize; normalize('a'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers"} & {*done.stdout.split()}
