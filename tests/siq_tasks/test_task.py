"""Every YAML of the suite, loaded as lm-eval loads it."""

import shutil
from itertools import permutations
from pathlib import Path

import pytest
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml

import speechiq.siq_tasks.index as suite
import speechiq.siq_tasks.loaders.bundled as bundled
import speechiq.siq_tasks.task as speech_task
from speechiq.core.errors import SpeechIQError
from speechiq.core.recordings import audio_file
from speechiq.core.transforms import read_transforms
from tests.runs import load_task

SUITE = suite.HERE
MEASURE = {"column": "we", "direction": "lower", "unit": "WER %"}
FILES = sorted(file for file in SUITE.rglob("*.yaml") if not file.name.startswith("_"))
LEVELS = {"remember": "wer", "understand": "similarity", "apply": "acc"}


@pytest.fixture(scope="module")
def manager(demo_models):
    return TaskManager(include_defaults=False)


@pytest.fixture(scope="module")
def demo_tasks(manager):
    return manager.load("siq_demo")["tasks"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_yaml_loads_with_its_functions(file, manager):
    config = load_yaml(file, resolve_func=True)
    assert config["task"] == file.stem and file.stem in manager.all_tasks


def test_no_task_name_is_part_of_another(manager):
    assert not [(a, b) for a, b in permutations(manager.all_subtasks, 2) if a in b]


def test_task_metadata_says_level_dataset_and_versions(demo_tasks):
    for name, task in demo_tasks.items():
        metadata = task.config.metadata
        assert name == f"siq_{metadata['dataset']}_{metadata['level']}"
        assert metadata["version"] and metadata["prompt_version"]
        assert LEVELS[metadata["level"]] in task.aggregation()
        assert metadata.get("normalizer") == ("english" if metadata["level"] == "remember" else None)


def test_docs_hold_references_to_clips_and_nothing_heavy(demo_tasks):
    counts = {name: len(task.eval_docs) for name, task in demo_tasks.items()}
    assert counts == {"siq_demo_remember": 14, "siq_demo_understand": 14, "siq_demo_apply": 42}
    doc = demo_tasks["siq_demo_apply"].eval_docs[0]
    assert set(doc["audio"]) == {"path", "sha256", "sampling_rate", "duration"}
    assert not Path(doc["audio"]["path"]).is_absolute()


def test_remember_and_understand_ask_for_the_same_transcript(demo_tasks):
    prompts = {name: task.doc_to_text(task.eval_docs[0]) for name, task in demo_tasks.items()}
    assert prompts["siq_demo_remember"] == prompts["siq_demo_understand"]
    assert all(prompt.count("<audio>") == 1 for prompt in prompts.values())


@pytest.mark.parametrize(("level", "filtered"), [("remember", "so it goes"), ("apply", ["B", ["B"] * 5])])
def test_the_reasoning_of_a_model_is_dropped_from_its_answers_and_stays_in_the_samples(demo_tasks, level, filtered):
    task = demo_tasks[f"siq_demo_{level}"]
    answer = "<think>Or A?</think>\n" + ("so it goes" if level == "remember" else "(B)")
    task._instances = [Instance("generate_until", task.eval_docs[0], (), 0, (level, 0, 5), resps=[answer] * 5)]
    task.apply_filters()
    assert list(task.instances[0].filtered_resps.values()) == [filtered] and task.instances[0].resps == [answer] * 5


def test_the_embedder_is_given_by_metadata_and_recorded_in_every_doc(demo_models):
    task = load_task("siq_demo_understand", embedder=str(demo_models[-1]))
    assert set(task.eval_docs["embedder"]) == {str(demo_models[-1])}
    assert task.config.metadata["embedder"] == str(demo_models[-1])


def test_a_condition_is_recorded_in_its_one_form():
    task = load_task("siq_demo_remember", condition="band:300.0-3400 + white@10.0db")
    assert task.config.metadata["condition"] == "band:300-3400+white@10dB"


def test_a_task_with_a_condition_of_its_own_refuses_another(manager):
    task = manager.load("siq_demo_noisy_phone_apply")["tasks"]["siq_demo_noisy_phone_apply"]
    assert task.config.metadata["condition"] == "band:300-3400+codec:gsm"
    assert {len(read_transforms(audio["transforms"])) for audio in task.eval_docs["audio"]} == {2}
    with pytest.raises(
        SpeechIQError, match=r"condition=white@0dB: task siq_demo_noisy_phone_apply has the condition b"
    ):
        load_task("siq_demo_noisy_phone_apply", condition="white@0dB")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"level": "rember"}, r"metadata\.level: 'rember' is not one of .*; did you mean remember\? correct it"),
        ({"task_type": "spoken_choise"}, r"metadata\.task_type: 'spoken_choise' is .*; did you mean spoken_choice\?"),
        ({"measure": MEASURE}, r"metadata\.measure\.column: 'we' is not one of wer, .*; did you mean wer\?"),
        (
            {"measure": {"direction": "lower"}},
            r"task 'siq_demo_remember': metadata has no measure\.column; name the col",
        ),
        ({"measure": MEASURE | {"direction": "down"}}, r"metadata\.measure\.direction: 'down' is not valid"),
        ({"item": "id"}, r"metadata\.item: 'id' is not valid .*; list fields of doc, the clip first"),
    ],
)
def test_an_unknown_type_or_measure_is_refused_before_docs_are_loaded(changed, message):
    config = load_yaml(SUITE / "demo" / "siq_demo_remember.yaml", resolve_func=True)
    with pytest.raises(SpeechIQError, match=message):
        speech_task.resolve_task(config | changed)


def test_an_item_is_named_by_fields_of_the_docs():
    config = load_yaml(SUITE / "demo" / "siq_demo_remember.yaml", resolve_func=True)
    with pytest.raises(SpeechIQError, match=r"metadata\.item: docs have no field 'nope'; name some of id, dataset"):
        speech_task.SpeechTask(config | {"item": ["nope"]})


def test_a_spoilt_clip_stops_the_task_from_loading(manager, tmp_path, monkeypatch):
    copy = shutil.copytree(SUITE / "demo", tmp_path / "demo")
    monkeypatch.setattr(bundled, "PACKAGE", tmp_path)
    monkeypatch.setattr(audio_file, "PACKAGE", tmp_path)
    assert manager.load("siq_demo_apply")["tasks"]
    copy.joinpath("clips", "kennedy.ogg").write_bytes(b"")
    with pytest.raises(
        SpeechIQError, match=r"clips/kennedy\.ogg': its sha256 is not [0-9a-f]{12}\.\.\., the file has changed"
    ):
        manager.load("siq_demo_apply")


def test_only_the_level_that_asks_questions_reads_them(manager, monkeypatch):
    monkeypatch.setattr(bundled, "read_objects", lambda file, fix: pytest.fail("questions were read"))
    assert manager.load(["siq_demo_remember", "siq_demo_understand"])["tasks"]


def test_an_embedder_that_is_no_language_model_stops_the_task_from_loading(demo_models):
    with pytest.raises(SpeechIQError, match="is not a language model"):
        load_task("siq_demo_understand", embedder="demo:whisper-base")


def test_metrics_keep_their_names_where_lm_eval_searches_names_among_its_own(monkeypatch):
    metrics = [{"metric": "acc", "aggregation": "mean"}, {"metric": "unparsed", "aggregation": "mean"}]
    assert speech_task._named_metrics(metrics) == metrics
    monkeypatch.setattr(speech_task, "find_spec", lambda name: name == "lm_eval.scorers" or None)
    named = speech_task._named_metrics(metrics)
    assert [metric["metric"].__name__ for metric in named] == ["acc", "unparsed"]
    assert all(metric["aggregation"] == "mean" for metric in named)
