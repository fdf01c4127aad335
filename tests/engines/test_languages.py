"""Codes of languages: which are read, and what is suggested for the others."""

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.engines._transformers import whisper_language_codes
from speechiq.engines.languages import read_language, refuse_language
from speechiq.siq_tasks.index import list_language_tasks


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("de", "de"), ("pt-BR", "pt"), ("German", "de"), ("cantonese", "yue"), ("yue", "yue"),
        ("cmn", "cmn"), ("ckb", "ckb"), ("kea", "kea"), ("jw", "jw"), ("no", "no"), ("auto", None), (None, None),
    ],
)  # fmt: skip
def test_codes_and_english_names_are_read(written, code):
    assert read_language({"language": written}) == code


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        ("frn", "did you mean fr? it knows af, am, ar, as, az, ba, be, bg, bn, bo, br, bs and 88 more"),
        ("deu", "did you mean de? it knows af, am, ar, as, az, ba, be, bg, bn, bo, br, bs and 88 more"),
        ("xx", "it knows af, am, ar, as, az, ba, be, bg, bn, bo, br, bs and 88 more"),
    ],
)
def test_a_language_that_a_recognizer_does_not_know_is_refused_with_the_nearest(asked, fix):
    with pytest.raises(SpeechIQError) as refused:
        refuse_language(asked, "whisper", sorted({*whisper_language_codes().values()}))
    assert str(refused.value) == f"asr_language={asked}: unknown to whisper; {fix}"


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("deu_Latn", "did you mean de?"),
        ("DE", "did you mean de?"),
        ("Germn", "did you mean de?"),
        ("arb_Arab", "did you mean ar?"),
        ("xx", "write one such as de"),
        ("gr", "write one such as de"),
        ("", "write one such as de"),
        (7, "write one such as de"),
        (False, "write 'no' in quotes, which YAML reads as false without them"),
    ],
)
def test_other_words_are_refused_with_the_nearest_code(written, fix):
    with pytest.raises(SpeechIQError) as refused:
        read_language({"language": written})
    assert str(refused.value) == f"metadata.language: '{written}' is not the code of a language; {fix}"


def test_every_language_of_the_list_has_a_code():
    about = {
        task.keys["metadata"]["dataset_name"]: task.keys["metadata"]
        for task in list_language_tasks()
        if "belebele" in task.name
    }
    assert len(about) == 92 and all(read_language(metadata) for metadata in about.values())
