"""Error rates by language: words, characters and mixed units, against counts by hand, jiwer and kaldialign."""

import math
import random

import jiwer
import kaldialign
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.words.normalizer import normalize, read_normalizer
from speechiq.metrics.words.units import describe_measure, read_unit
from speechiq.metrics.words.wer import align_compounds, cer, mer, score, wer

#: Language, unit, reference, transcript, errors and units, counted by hand.
CASES = [
    ("zh", "character", "我不知道。", "我不知到", 1, 4),
    ("zh", "character", "今天天气很好", "今天 天气 好", 1, 6),
    ("zh", "character", "北京", "北京大学", 2, 2),
    ("yue", "character", "我哋去食飯", "我地去食飯", 1, 5),
    ("ja", "character", "東京に行く", "東京へ行く", 1, 5),
    ("ja", "character", "コーヒーを飲む", "コーヒ飲む", 2, 7),
    ("ja", "character", "これは本です", "これは本です。", 0, 6),
    ("th", "character", "มาก", "มา", 1, 3),
    ("th", "character", "ไปไหน", "ไป ไหน", 0, 5),
    ("th", "character", "น้ำ", "นำ", 1, 4),  # the normal form NFKC writes the last vowel as two signs
    ("lo", "character", "ສະບາຍດີ", "ສະບາຍດ", 1, 7),
    ("my", "character", "မြန်မာ", "မြန်မ", 1, 6),
    ("km", "character", "ខ្មែរ", "ខ្មរ", 1, 5),
    ("bo", "character", "བོད་ཡིག", "བད་ཡིག", 1, 6),
    ("hi", "word", "वह घर की ओर गया", "वह घर कि ओर गया", 1, 5),
    ("hi", "character", "की", "कि", 1, 2),
    ("ar", "word", "ذهب الولد إلى المدرسة", "ذهب الولد المدرسة", 1, 4),
    ("ar", "word", "كَتَبَ", "كتب", 1, 1),
    ("ru", "word", "Он пошёл домой.", "он пошел домой", 1, 3),
    ("ru", "character", "да нет", "да не", 1, 6),
    ("ko", "word", "나는 학교에 간다", "나는 학교 간다", 1, 3),
    ("ko", "character", "학교에", "학교", 1, 3),
    ("el", "word", "καλημέρα σας", "καλημερα σας", 1, 2),
    ("de", "word", "Es ist schön hier.", "es ist schon hier", 1, 4),
    ("fr", "word", "L'été arrive", "l été arrive", 0, 3),
    ("tr", "word", "bir iki üç", "bir üç", 1, 3),
    ("zh", "mixed", "我爱the Beatles", "我爱 the beagles", 1, 4),
    ("zh", "mixed", "请打开PowerPoint文件", "请打开 power point 文件", 2, 6),
    ("ja", "mixed", "これはtestです", "これはテストです", 3, 6),
    ("en", "mixed", "the food at 老地方 is good", "the food at 老地 is good", 1, 8),
    ("th", "mixed", "มาก very", "มาก", 1, 2),
    ("ko", "mixed", "나는 漢字 를 쓴다", "나는 漢子 를 쓴다", 1, 5),
]
RATES = {"word": "wer", "character": "cer", "mixed": "mer"}
WORDS = ["white", "paper", "whitepaper", "a", "whitepapera", "papera", "b"]


@pytest.mark.parametrize(("language", "unit", "reference", "transcript", "errors", "units"), CASES)
def test_rates_are_those_counted_by_hand_and_those_of_jiwer(language, unit, reference, transcript, errors, units):
    doc = {"text": reference, "normalizer": "multilingual", "unit": unit, "spoken_language": language}
    row = score(doc, [transcript])
    assert row[RATES[unit]] == pytest.approx(errors / units)
    assert row["substitutions"] + row["deletions"] + row["insertions"] == pytest.approx(errors / units)
    assert score(doc, [reference])[RATES[unit]] == 0 and score(doc, [""])[RATES[unit]] == 1
    texts = [normalize(text, "multilingual") for text in (reference, transcript)]
    if unit == "word":
        found, theirs = wer(reference, transcript, "multilingual"), jiwer.wer(*texts)
    elif unit == "character":
        if language in ("zh", "yue", "ja", "th", "lo", "my", "km", "bo"):
            texts = [text.replace(" ", "") for text in texts]
        found, theirs = cer(reference, transcript, "multilingual", language), jiwer.cer(*texts)
    else:
        spaced = ["".join(f" {sign} " if "\u3040" <= sign <= "\u9fff" else sign for sign in text) for text in texts]
        found, theirs = mer(reference, transcript, "multilingual"), jiwer.wer(*spaced)
    assert found == pytest.approx(theirs)


def test_a_language_without_spaces_has_no_rate_of_words():
    doc = {"text": "我不知道", "normalizer": "multilingual", "unit": "character", "spoken_language": "zh"}
    row = score(doc, ["我不知到"])
    assert all(math.isnan(row[column]) for column in ("wer", "wer_basic", "wer_corpus", "wer_first", "wer_oracle"))
    assert "mer" not in row and row["wrong_language"] == 0


def test_a_transcript_in_another_language_is_marked():
    doc = {"text": "Der Zug fährt um acht Uhr ab.", "normalizer": "multilingual", "spoken_language": "de"}
    texts = (doc["text"], "The train is leaving at eight o'clock in the morning.", "我不知道这件事情", "Der Zug")
    rates = [score(doc, [text])["wrong_language"] for text in texts]
    assert rates[:3] == [0, 1, 1] and math.isnan(rates[3])
    assert math.isnan(score(doc | {"spoken_language": "luo"}, [doc["text"]])["wrong_language"])
    assert "wrong_language" not in score({"text": "so it goes"}, ["so it goes"])


def test_the_unit_follows_the_language():
    expected = dict.fromkeys(("zh-TW", "yue", "ja", "th", "lo", "bo"), "character") | {"de": "word", "ko": "word"}
    assert {code: read_unit({"language": code})["unit"] for code in expected} == expected
    assert read_unit({"unit": "mixed", "language": "zh"}) == {"unit": "mixed"} and read_unit({}) == {}


def test_the_measure_has_the_column_and_the_heading_of_the_unit():
    measure = {"column": "wer", "direction": "lower", "unit": "WER %", "alternatives": {"cer": {"unit": "CER %"}}}
    changed, columns = describe_measure({"measure": measure, "language": "zh"})
    assert changed["measure"] == measure | {"column": "cer", "unit": "CER %", "alternatives": {}}
    assert [column.name for column in columns] == ["wrong_language"]
    changed, columns = describe_measure({"measure": measure, "unit": "mixed"})
    assert changed["measure"]["unit"] == "MER %" and set(changed["measure"]["alternatives"]) == {"wer", "cer"}
    assert [column.name for column in columns] == ["mer"]
    assert describe_measure({"measure": measure}) == ({}, ())


@pytest.mark.parametrize(
    ("metadata", "line"),
    [
        ({"language": "th", "unit": "word"}, "unit=word: th is written without spaces.*; give unit=auto"),
        ({"unit": "letter"}, "unit=letter: unknown; give auto or character or mixed or word"),
        ({"language": "deu_Latn"}, "metadata.language: 'deu_Latn' is not the code of a language; did you mean de?"),
        ({"language": 7}, "metadata.language: '7' is not the code of a language"),
    ],
)
def test_a_unit_or_language_that_cannot_be_is_one_line(metadata, line):
    with pytest.raises(SpeechIQError, match=line):
        read_unit(metadata)


def test_the_normalizer_follows_the_language():
    kinds = {code: read_normalizer({"language": code})["normalizer"] for code in ("en", "de", "tr")}
    assert kinds == {"en": "english", "de": "multilingual", "tr": "multilingual-tr"}
    settings = read_normalizer({"language": "de", "normalizer": "openasr"})
    assert settings["normalizer"] == "openasr-de" and "num2words" in settings["normalizer_version"]
    for kind, language in (("english", "de"), ("whisper", "de"), ("openasr", "en")):
        line = f"normalizer={kind}.*: not for the language {language}; give normalizer=a"
        with pytest.raises(SpeechIQError, match=line):
            read_normalizer({"language": language, "normalizer": kind})


def test_numbers_are_written_in_words_of_the_language():
    texts = {"fr": "Il a 21 chats.", "de": "2.000 Euro!", "ru": "21 год", "luo": "21 (aa)"}
    assert {code: normalize(text, f"openasr-{code}") for code, text in texts.items()} == {
        "fr": "il a vingt et un chats",
        "de": "zweitausend euro",
        "ru": "двадцать один год",
        "luo": "21",
    }


def test_without_num2words_one_line_names_the_extra(monkeypatch):
    monkeypatch.setattr("speechiq.metrics.words.normalizer.find_spec", lambda package: None)
    with pytest.raises(SpeechIQError, match=r"normalizer=openasr-nl: the package num2words is not inst.*\[openasr\]"):
        read_normalizer({"language": "nl", "normalizer": "openasr"})


def test_compounds_are_merged_as_kaldialign_does():
    draws = random.Random(7)
    for _ in range(2000):
        spoken, written = (draws.choices(WORDS, k=draws.randint(low, 7)) for low in (1, 0))
        theirs = kaldialign.edit_distance(spoken, written, merge_compounds=True)
        ours = align_compounds(" ".join(spoken), " ".join(written))
        assert ours.total == theirs["total"]
        assert ours.reference_length == len(spoken)


def test_the_rate_of_openasr_is_that_of_kaldialign():
    pairs = [
        ("Das Weißbuch kostet 21 Euro.", "das Weiß Buch kostet einundzwanzig Euro"),
        ("Er fuhr mit dem Fahr Rad weg", "er fuhr mit Fahrrad weg"),
        ("Nein", "Nein danke sehr"),
    ]
    texts = [[normalize(text, "openasr-de").split() for text in pair] for pair in pairs]
    theirs = kaldialign.batch_error_rate(*zip(*texts, strict=True), merge_compounds=True)["err_rate"]
    assert wer(*map(list, zip(*pairs, strict=True)), "openasr-de") == pytest.approx(theirs) and theirs > 0
    assert wer(*pairs[0], "openasr-de") == 0
