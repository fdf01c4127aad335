"""The bundled sets for AudioBench's templates: complete, small, with labels that follow from how the audio is made."""

import json
from collections import Counter

import pytest

from speechiq.core.recordings.audio_file import PACKAGE
from speechiq.metrics.columns import Pooled
from speechiq.siq_tasks.index import IN_PACKAGE, list_tasks, read_task
from speechiq.siq_tasks.loaders.bundled import list_clips
from speechiq.siq_tasks.loaders.clips import load
from speechiq.tools.make_sounds import FILES, RECORDINGS, SOUNDS, make
from tests.commands import as_json
from tests.runs import evaluate, load_task
from tests.siq_tasks.conftest import read_lines

CLIPS = {clip["id"].rpartition("/")[2]: clip for clip in list_clips()}
HERE = PACKAGE / "audiobench" / "demo"
TASKS = [task for task in list_tasks(check_files=False) if task.suite == "audiobench_demo"]
FEMALE = {"flite:slt", "festival:cmu_us_slt_arctic_hts", "espeak-ng:en-us+f3"}


def read(table):
    return read_lines(HERE / f"{table}.jsonl")


def test_there_is_a_set_for_each_template_with_clips_in_the_package():
    assert {task.level for task in TASKS} == {"choice", "judged", "labels", "caption", "transcribe", "translate"}
    for task in TASKS:
        assert task.source == IN_PACKAGE and task.clips == len(read(task.category))
        assert task.needs == ("judge" if task.category == "judged" else "")
    assert sum(file.stat().st_size for file in HERE.rglob("*") if file.is_file()) < 2_000_000


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.category)
def test_each_set_loads_its_rows(task, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    read_yaml = read_task(HERE / f"{task.name}.yaml")
    loaded = load(**read_yaml["metadata"])
    assert {doc["question_id"] for doc in loaded.docs} == {f"{task.dataset}/{row['id']}" for row in read(task.category)}
    assert loaded.record["left_out"] == loaded.record["repaired"] == {}


def test_choices_have_two_to_six_options_and_all_letters_are_right_at_times():
    rows = read("choice")
    assert {len(row["choices"]) for row in rows} == {2, 3, 4, 5, 6}
    assert all(len(set(row["choices"])) == len(row["choices"]) and row["answer"] in row["choices"] for row in rows)
    letters = Counter("ABC"[row["choices"].index(row["answer"])] for row in rows)
    assert max(letters.values()) <= len(rows) / 2 and set(letters) == set("ABC")


def test_the_labels_follow_from_how_the_audio_is_made():
    for row in read("gender"):
        voice = CLIPS[row["id"].removeprefix("gender-")]["voice"]
        assert voice and row["answer"] == ("female" if voice in FEMALE else "male")
    kinds = {"chirp": "sweep"}
    for row in read("sound"):
        name = row["id"].removeprefix("sound-").rpartition("-")[0]
        assert row["answer"] == kinds.get(name, name)
    assert {row["audio"] for row in read("sound")} == {f"sounds/{name}.ogg" for name in SOUNDS}


def test_captions_have_three_references_and_recordings_the_words_of_their_clips():
    for row in read("caption"):
        assert len({row["answer"], *row["accepted"]}) == 3
    for row in read("long"):
        assert row["text"] == " ".join(CLIPS[name]["text"] for name in RECORDINGS[row["id"]])


def test_translations_are_the_same_prompts_in_two_languages():
    spoken, written = (
        {clip["id"].partition("/")[2]: clip["text"] for clip in read_clips(language)} for language in ("es", "en")
    )
    rows = {row["id"].removeprefix("translate-"): row for row in read("translate")}
    assert {name: row["text"] for name, row in rows.items()} == spoken
    assert {name: row["translation"] for name, row in rows.items()} == written


def read_clips(language):
    return json.loads((PACKAGE / "languages" / "demo_languages" / language / "clips.json").read_text(encoding="utf-8"))


def test_a_reference_that_is_given_back_is_a_perfect_translation(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    task = load_task("audiobench_demo_translate")
    rows = [task.process_results(doc, [doc["answer"]]) for doc in task.eval_docs]
    assert {row["chrf"] for row in rows} == {1.0} and task.aggregation()["bleu_corpus"](
        [row["bleu_corpus"] for row in rows]
    ) == pytest.approx(1.0)
    assert task.aggregation()["bleu_corpus"]([Pooled(0.0, (0.0,) * 4 + (0.0, 5.0))]) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tone", "noise", "clicks", "chirp", "beeps", "hum"])
def test_the_audio_can_be_made_again(name):
    file = f"sounds/{name}-2.ogg"
    assert make(file) == (HERE / file).read_bytes()


def test_the_package_has_the_files_of_the_tool():
    assert {str(file.relative_to(HERE)) for file in HERE.rglob("*.ogg")} == set(FILES)


@pytest.mark.slow
def test_the_group_and_a_translation_run_by_lm_eval_and_are_scored(tiny_cascade, tmp_path):
    runs, tasks = tmp_path / "runs", ["audiobench_demo", "audiobench_demo_translate"]
    # The tiny recognizer knows English alone.
    options = {"metadata": {"language": "en", "target_language": "es"}, "limit": 1, "gen_kwargs": "max_gen_toks=16"}
    for recognizer in (tiny_cascade.asr, "silence"):
        system = {"pretrained": f"{recognizer}+{tiny_cascade.llm}"}
        evaluate("hf-audio", tasks, output=runs, model_args=system, **options)
    content = as_json("score", runs, "--bootstrap", "0")
    systems = content["suites"]["audiobench_demo"]["systems"]
    assert len(systems) == 2
    for system in systems:
        assert {*system["categories"]} == {"choice", "judged", "gender", "sound", "caption", "long", "translate"}
    assert [row["direction"] for row in content["translations"]] == ["en to es"] * 2
