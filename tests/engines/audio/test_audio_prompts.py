"""Test which checkpoints are refused before their weights are loaded, and that audio is encoded once."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LlavaConfig, WhisperFeatureExtractor

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.engines._shared.encodings import LastFeatures, cache_encodings
from speechiq.engines.audio.hf import AudioLLM
from tests.engines import tiny
from tests.engines.opener import build, open_engine

#: The form of chat templates which take words only.
WORDS = """{% for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}<|im_end|>
{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"""


@pytest.fixture(scope="module")
def made(tmp_path_factory, demo_models):
    return Path(tiny.make("audioflamingo3", tmp_path_factory.mktemp("audioflamingo3")))


def test_a_model_that_only_reads_and_one_for_images_are_refused(demo_models, tmp_path):
    line = "^demo:SmolLM2-135M-Instruct: a llama .*; it only reads text: put a recognizer before it, pretrained=ASR"
    with pytest.raises(SpeechIQError, match=line):
        build("demo:SmolLM2-135M-Instruct")
    LlavaConfig().save_pretrained(tmp_path)
    with pytest.raises(SpeechIQError, match="a llava checkpoint is not an audio model"):
        build(tmp_path)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        (["processor_config.json", "chat_template.jinja"], "processor"),
        (["chat_template.jinja"], "its chat template takes no audio .*chat_template.jinja"),
    ],
)
def test_a_checkpoint_without_processor_or_chat_template_is_refused(made, tmp_path, missing, message):
    part = shutil.copytree(made, tmp_path / "part", ignore=shutil.ignore_patterns(*missing))
    with pytest.raises(SpeechIQError, match=f"^{part}: .*{message}"):
        build(part)


def test_a_model_that_takes_one_clip_a_prompt_says_so(made, demo_clips):
    two = Prompt.about("<audio><audio>Which is louder?", tuple(clip.part(0.0, 1.0) for clip in demo_clips[:2]))
    with pytest.raises(SpeechIQError, match=r"takes one clip per prompt, and demo/clips/.* comes with others"):
        open_engine(AudioLLM, str(made), batch_size=1).generate([two], [[0]], {"max_gen_toks": 2})


def test_a_template_of_words_gets_the_audio_token(tmp_path, demo_clips, demo_models):
    folder = tiny.make("qwen2_audio", tmp_path)
    Path(folder, "chat_template.jinja").write_text(WORDS)
    model = open_engine(AudioLLM, folder, batch_size=2)
    fed = model.prompts.ask(["Here: ", demo_clips[0].samples[:16_000], "What?"])
    text = model.prompts.tokenizer.decode(fed.ids)
    assert text == f"<|im_start|>user\nHere: {'<|AUDIO|>' * 25}What?<|im_end|>\n<|im_start|>assistant\n"


def test_a_spectrogram_is_made_once_for_questions_that_follow_one_another():
    extractor = WhisperFeatureExtractor(feature_size=8)
    calls = []
    counting = LastFeatures(lambda *args, **kwargs: calls.append(1) or extractor(*args, **kwargs))
    noise = np.random.default_rng(0).normal(size=(2, 16_000)).astype(np.float32)
    one, again, other = (counting([sound], sampling_rate=16_000) for sound in (noise[0], noise[0].copy(), noise[1]))
    assert len(calls) == 2 and np.array_equal(one["input_features"], again["input_features"])
    one.pop("input_features")
    assert "input_features" in again and not np.array_equal(again["input_features"], other["input_features"])


class Ear(torch.nn.Module):
    base_model = None

    def get_audio_features(self, sound):
        return {"pooled": sound.mean(-1)}


def test_encodings_that_do_not_fit_are_made_anew():
    sounds = torch.randn(2, 3, 16)
    ear = Ear()
    with cache_encodings(ear, free_bytes=3 * 4) as encodings:
        for _ in range(2):
            for sound in sounds:
                assert torch.equal(ear.get_audio_features(sound)["pooled"], sound.mean(-1))
    assert encodings.calls == 3
    ear.get_audio_features(sounds[1])
    assert encodings.calls == 3
