"""`hf-audio` on tasks that are not the suite's own: lm-eval's audio task and a third party's, on local files."""

from pathlib import Path

import lm_eval.tasks
import numpy as np
import pytest
from datasets import Dataset

from speechiq.core.clip import as_clip
from speechiq.core.errors import SpeechIQError
from tests.records import items
from tests.runs import evaluate

COMMON_VOICE = Path(lm_eval.tasks.__file__).with_name("common_voice") / "common_voice_en.yaml"
AUDIO_TASK = """
include: {common_voice}
task: {name}
dataset_path: parquet
dataset_name: null
dataset_kwargs: {{data_files: {{test: {rows}}}}}
training_split: null
generation_kwargs: {{until: [], max_gen_toks: 8}}
"""
CHOICE = """
task: {name}
dataset_path: parquet
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "Heard: <audio>\\nThis is"
doc_to_audio: audio
doc_to_choice: choices
doc_to_target: 0
metric_list: [{{metric: acc}}]
"""
TEXT_ALONE = """
task: {name}
dataset_path: parquet
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: generate_until
doc_to_text: "Repeat these words: banana <audio> banana"
doc_to_target: transcript
generation_kwargs: {{until: ["\\n"], max_gen_toks: 12}}
metric_list: [{{metric: exact_match}}]
"""


@pytest.fixture(scope="module")
def rows(references, tmp_path_factory):
    """Write a clip as the Hub's decoded columns come: an array at another rate, texts beside it."""
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    clip = min(references, key=lambda clip: clip.duration)
    row = {
        "audio": {"array": np.repeat(clip.samples, 2), "sampling_rate": 32_000},
        "transcript": references[clip],
        "choices": [references[clip], "qx zzv brr ooo vk"],
    }
    Dataset.from_list([row]).to_parquet(str(file))
    return file


@pytest.fixture(scope="module")
def results(rows, demo_models, tmp_path_factory):
    """One run of three such tasks, from YAML files as their authors write them."""
    folder = tmp_path_factory.mktemp("tasks")
    tasks = {"local_common_voice": AUDIO_TASK, "local_choice": CHOICE, "local_text": TEXT_ALONE}
    for name, text in tasks.items():
        folder.joinpath(f"{name}.yaml").write_text(text.format(common_voice=COMMON_VOICE, name=name, rows=rows))
    system = {"pretrained": "demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct"}
    return evaluate("hf-audio", tasks, include=folder, model_args=system)


def test_lm_evals_own_audio_task_is_answered(results):
    (row,) = results["samples"]["local_common_voice"]
    assert row["filtered_resps"][0]
    assert results["results"]["local_common_voice"]["bleu,none"] >= 0


def test_options_about_audio_are_scored(results):
    assert results["results"]["local_choice"]["acc,none"] == 1


def test_a_task_of_text_alone_goes_to_the_language_model_and_a_mark_in_it_is_a_word(results):
    assert all("banana" in row["filtered_resps"][0].lower() for row in results["samples"]["local_text"])


def test_audio_in_every_form_is_the_same_clip(demo_clips):
    clip = demo_clips[0]
    decoded = as_clip({"array": clip.samples, "sampling_rate": 16_000})
    stereo = as_clip({"array": np.stack([clip.samples] * 2), "sampling_rate": 16_000})
    encoded = as_clip({"bytes": clip.source.file.read_bytes(), "path": None})
    assert decoded.key == stereo.key == encoded.key
    np.testing.assert_array_equal(decoded.samples, clip.samples)
    assert as_clip(items(clip)) == clip


@pytest.mark.parametrize(
    ("audio", "message"),
    [
        ({"array": [], "sampling_rate": 16_000}, "an array without samples"),
        ({"path": "a.wav"}, "dict is not audio.*give a dict with array and sampling_rate"),
        (7, "int is not audio"),
        ({"bytes": b"RIFF of nothing"}, "doc_to_audio: cut off or damaged: no sound can be found in it"),
    ],
)
def test_what_is_no_audio_is_named(audio, message):
    with pytest.raises(SpeechIQError, match=message):
        as_clip(audio)
