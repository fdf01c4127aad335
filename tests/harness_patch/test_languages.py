"""Data sets of several languages: what their tasks record, what recognizers are given, and what is refused."""

import math

import pytest
from lm_eval.tasks import TaskManager

import speechiq.siq_tasks.index as suite
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.engines.base import Setup
from speechiq.engines.registry import build_engine
from tests import runs
from tests.commands import refusal, siq
from tests.engines.tiny_cascade import save_recognizer

pytestmark = pytest.mark.slow

TEXTS = {
    "de": "Der Zug fährt um acht Uhr vom Gleis zwei ab.",
    "zh": "火车八点从二号站台出发",
    "hi": "रेलगाड़ी आठ बजे निकलती है",
}


@pytest.fixture
def task_of(tmp_path, demo_models, demo_clips, monkeypatch):
    """Return what writes the task file of a set with one clip in a language, and returns the name of the task."""

    cache = tmp_path / "cache"
    cache.mkdir()
    cache.joinpath("models").symlink_to(demo_models[0].parent)
    monkeypatch.setenv("SIQ_CACHE", str(cache))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))

    def write(code, text=None, **metadata):
        folder = tmp_path / "tasks" / code
        folder.mkdir(parents=True, exist_ok=True)
        clip = min(demo_clips, key=lambda clip: clip.duration)
        assert isinstance(clip.source, AudioFile)
        folder.joinpath("clip.audio").write_bytes(clip.source.file.read_bytes())
        folder.joinpath("clips.csv").write_text(f"audio,text\nclip.audio,{text or TEXTS[code]}\n")
        name = f"siq_{code}_own_remember"
        about = {"version": 1.0, "dataset": f"{code}own", "dataset_path": "folder:clips.csv", "subset": "all"}
        lines = [f"  {key}: {value}" for key, value in (about | {"language": code} | metadata).items() if value]
        header = [f"include: [{suite.HERE}/templates/_remember.yaml]", f"task: {name}", "metadata:"]
        folder.joinpath(f"{name}.yaml").write_text("\n".join([*header, *lines]) + "\n")
        return name

    return write


def evaluate(folder, *tasks, system="gold", output=None, **options):
    arguments = {"pretrained": system, **options}
    return runs.evaluate("hf-audio", tasks, output=output, include=folder / "tasks", model_args=arguments)


def test_each_set_is_scored_in_the_unit_of_its_language_and_has_a_table_of_its_own(task_of, tmp_path):
    tasks = [task_of(language) for language in ("de", "zh")]
    results = evaluate(tmp_path, *tasks, output=tmp_path / "runs")
    german, chinese = (results["configs"][task]["metadata"] for task in tasks)
    assert (german["unit"], german["normalizer"], german["measure"]["unit"]) == ("word", "multilingual", "WER %")
    assert (chinese["unit"], chinese["measure"]["column"], chinese["measure"]["unit"]) == ("character", "cer", "CER %")
    rows = [results["samples"][task][0] for task in tasks]
    assert [row["doc"]["spoken_language"] for row in rows] == ["de", "zh"]
    assert (rows[0]["wer"], rows[1]["cer"], rows[0]["wrong_language"], rows[1]["wrong_language"]) == (0, 0, 0, 0)
    assert math.isnan(rows[1]["wer"]) and results["config"]["siq"]["system"]["languages"] == ["de", "zh"]
    text = siq("score", tmp_path / "runs", "--levels", "remember", "--bootstrap", "0")
    german, chinese = text.index("Levels, without Speech IQ: de"), text.index("Levels, without Speech IQ: zh")
    assert german < text.index("WER %") < chinese < text.index("CER %") and "by language" not in text


def test_mixed_units_have_a_column_and_a_heading_of_their_own(task_of, tmp_path):
    task = task_of("zh", "请 打开 PowerPoint", unit="mixed")
    for system in ("gold", "silence"):
        results = evaluate(tmp_path, task, system=system, output=tmp_path / "runs" / system)
        assert results["samples"][task][0]["mer"] == (system == "silence")
    assert "MER %" in siq("score", tmp_path / "runs", "--levels", "remember", "--bootstrap", "0")


def test_systems_that_were_scored_in_other_ways_share_no_table(task_of, tmp_path):
    for system, normalizer in (("gold", "multilingual"), ("silence", "openasr")):
        task = task_of("de", normalizer=normalizer)
        evaluate(tmp_path, task, system=system, output=tmp_path / "runs" / system)
    line = refusal("score", tmp_path / "runs", "--levels", "remember", "--bootstrap", "0")
    assert "normalizer is " in line and "'openasr-de'" in line and "'multilingual'" in line


@pytest.mark.parametrize(
    ("system", "line"),
    [
        ("pocketsphinx:en-us", "pocketsphinx:en-us: knows English, and the clips are in de; give a recognizer that"),
        ("faster-whisper:tiny.en", r"asr_language=de: unknown to faster-whisper:tiny\.en; it knows en"),
    ],
)
def test_an_english_recognizer_is_refused_before_it_is_loaded(task_of, tmp_path, system, line):
    with pytest.raises(SpeechIQError, match=line):
        evaluate(tmp_path, task_of("de"), system=system)


def test_a_recognizer_gets_the_language_of_the_set(task_of, tmp_path):
    task, system = task_of("de"), save_recognizer(tmp_path / "asr", "demo:whisper-base")
    results = evaluate(tmp_path, task, system=system, asr_language="auto")
    assert results["config"]["siq"]["system"]["asr"]["language"] == "de"
    with pytest.raises(SpeechIQError, match="asr_language=fr: the clips are in de; give asr_language=auto"):
        evaluate(tmp_path, task, system=system, asr_language="fr")


def test_a_language_that_is_alike_takes_the_place_of_an_unknown_one(demo_models):
    languages = {"yue": "zh", "nb": "no", "jv": "jw", "de": "de"}
    for language, used in languages.items():
        engine = build_engine("asr", "demo:whisper-base", {}, Setup(engine="hf", prefix="asr_", language=language))
        assert engine.describe()["language"] == used
    assert (
        build_engine("asr", "demo:whisper-base", {}, Setup(engine="hf", prefix="asr_")).describe()["language"] == "en"
    )


@pytest.mark.parametrize(
    ("language", "metadata", "line"),
    [
        ("hi", {"normalizer": "basic"}, "normalizer=basic: deletes vowel signs: .*; give normalizer=multilingual"),
        ("hi", {"normalizer": "openasr"}, "normalizer=openasr-hi: deletes vowel signs"),
        ("hi", {"language": None}, "normalizer=english: deletes vowel signs"),
        ("zh", {"language": None}, "1 of 1 references have no spaces, such as '火车八.*; give the language, such as "),
        ("zh", {"unit": "word"}, "unit=word: zh is written without spaces, so a sentence is one word; give unit=auto"),
        ("de", {"language": "germn_x"}, "metadata.language: 'germn_x' is not the code of a language"),
    ],
)
def test_what_would_damage_the_references_is_refused(task_of, tmp_path, language, metadata, line):
    task = task_of(language, **metadata)
    manager = TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False, metadata={})
    with pytest.raises(SpeechIQError, match=line):
        manager.load([task])


def test_references_in_another_language_are_said(task_of, tmp_path, capsys):
    for language, count in (("fr", 1), ("de", 0)):
        name = task_of("de", language=language)
        TaskManager(include_path=str(tmp_path / "tasks"), include_defaults=False, metadata={}).load([name])
        line = f"metadata.language={language}: 1 of 1 references seem to be in another language, such as 'Der Zug fährt"
        assert capsys.readouterr().err.count(line) == count
