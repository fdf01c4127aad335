"""The bundled demo of languages: its files, licenses and questions, its sources, and runs of three levels."""

import gzip
import json

import numpy as np
import py3langid
import pytest

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.data_sets import list_clips
from speechiq.tools.make_language_clips import PACKAGES, SET, SOUNDS, VERSION, decode, unpack
from tests.debian import fetch_package
from tests.runs import evaluate
from tests.siq_tasks.conftest import read_lines

CLIPS = {language: json.loads(SET.joinpath(language, "clips.json").read_bytes()) for language in PACKAGES}
QUESTIONS = {language: read_lines(SET / language / "questions.jsonl") for language in PACKAGES}
NAMES = [clip["id"].partition("/")[2] for clip in CLIPS["en"]]
#: Language -> sha256 of Debian's package with the texts.
TEXTS = {
    "en": "973e797d28e37fa6ca3c0a9d6fa717e77cf1268ae916bf09fd3503113cdffa50",
    "es": "9afdab7f559f036649fb406e625899306ca1004df8ebe39c30bfbd5912d66f74",
    "fr": "04c82c78c570c43a7136cbc5e2488d0c470b775468dff9fbce4a131b18cf1056",
    "it": "3884d9457e12f21caa018c18f0d587df5d53ebea14b673d8453a134c5941ab3b",
    "ru": "28a61616bb0cd3345a7ea532dec4df9f071e5d0fa9f8c1a563ea9669002f39ab",
}


@pytest.mark.parametrize("language", PACKAGES)
def test_every_clip_has_its_origin_and_license(language):
    for clip in list_clips(f"demo_languages_{language}"):
        assert f"asterisk-core-sounds-{language}-g722" in clip["origin"]
        assert SET.joinpath(f"{clip['license']}.LICENSE").is_file()


def test_the_set_is_small_and_has_the_same_prompts_in_all_languages():
    assert sum(file.stat().st_size for file in SET.rglob("*")) < 1_300_000
    prompts = [[(clip["id"].partition("/")[2], clip["prompt"]) for clip in clips] for clips in CLIPS.values()]
    assert all(each == prompts[0] for each in prompts) and len(set(NAMES)) == 8


@pytest.mark.parametrize("language", PACKAGES)
def test_references_and_questions_are_in_the_language_and_references_have_no_digits(language):
    for clip in CLIPS[language]:
        assert not any(char.isdigit() for char in clip["text"]) and "www" not in clip["text"]
        assert clip.get("package_text") != clip["text"]
    for texts in ([clip["text"] for clip in CLIPS[language]], [each["question"] for each in QUESTIONS[language]]):
        assert py3langid.classify(" ".join(texts))[0] == language


@pytest.mark.parametrize("language", PACKAGES)
def test_every_clip_has_questions(language):
    assert len(QUESTIONS[language]) == 10
    assert {each["id"] for each in QUESTIONS[language]} == {clip["id"] for clip in CLIPS[language]}


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("language", PACKAGES)
def test_a_reference_is_the_text_of_its_package(language):
    name = f"asterisk-core-sounds-{language}"
    folder = fetch_package(name, VERSION, TEXTS[language]) / "usr/share/doc" / name
    text = gzip.decompress(folder.joinpath(f"core-sounds-{language}.txt.gz").read_bytes()).decode("utf-8-sig")
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line and not line.startswith(";"))
    for clip in CLIPS[language]:
        assert clip.get("package_text", clip["text"]) == " ".join(lines[clip["prompt"]].split())


@pytest.mark.slow
@pytest.mark.network
def test_a_clip_is_the_recording_of_its_package():
    folder = fetch_package("asterisk-core-sounds-ru-g722", VERSION, PACKAGES["ru"]) / SOUNDS / "ru_RU_f_IvrvoiceRU"
    for clip in list_clips("demo_languages_ru"):
        source, ours = decode(folder / f"{clip['prompt']}.g722"), file_clip(clip).samples
        assert len(source) == len(ours)
        assert np.corrcoef(source, ours)[0, 1] > 0.9


def test_a_package_that_is_missing_or_another_one_is_named(tmp_path):
    with pytest.raises(SpeechIQError, match="is missing; get it by apt-get download asterisk-core-sounds-it-g722=1"):
        unpack("it", tmp_path, tmp_path)
    tmp_path.joinpath(f"asterisk-core-sounds-it-g722_{VERSION}_all.deb").write_bytes(b"another")
    with pytest.raises(SpeechIQError, match="has another sha256"):
        unpack("it", tmp_path, tmp_path)


@pytest.mark.slow
def test_gold_and_silence_bound_three_levels_of_a_language(tiny_cascade):
    task = "siq_demo_languages_ru"

    def run(asr):
        system = {"pretrained": f"{asr}+{tiny_cascade.llm}", "llm_answer": "likelihood"}
        return evaluate("hf-audio", [task], model_args=system, metadata={"embedder": tiny_cascade.llm})

    gold, silence = (run(name) for name in ("gold", "silence"))
    assert [run["results"][f"{task}_remember"]["wer,transcript"] for run in (gold, silence)] == [0, 1]
    similarities = [run["results"][f"{task}_understand"]["similarity,embedding"] for run in (silence, gold)]
    assert similarities[0] < similarities[1] == pytest.approx(1, abs=1e-6)
    assert gold["n-samples"][f"{task}_apply"]["effective"] == 10
    about = gold["configs"][f"{task}_remember"]["metadata"]
    assert (about["language"], about["normalizer"], about["unit"]) == ("ru", "multilingual", "word")


@pytest.mark.slow
def test_a_multilingual_recognizer_hears_a_clip_in_its_language(tiny_cascade, demo_models):
    system, task = {"pretrained": f"demo:whisper-base+{tiny_cascade.llm}"}, "siq_demo_languages_it_remember"
    (row,) = evaluate("hf-audio", [task], model_args=system, limit=1)["samples"][task]
    assert row["doc"]["id"] == CLIPS["it"][0]["id"] and row["wer"] < 0.3 and row["wrong_language"] == 0
