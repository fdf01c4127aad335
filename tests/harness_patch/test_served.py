"""The endpoints' clients against `transformers serve`: the demo's Whisper, and a tiny random audio language model."""

import jiwer
import pytest
import torch
from transformers import (
    AutoTokenizer,
    Qwen2AudioConfig,
    Qwen2AudioForConditionalGeneration,
    Qwen2AudioProcessor,
    WhisperFeatureExtractor,
)

from speechiq.core.checkpoints.names import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.engines.asr.openai import OpenAIASR
from speechiq.engines.audio.openai import AudioEndpoint
from speechiq.metrics.words.normalizer import normalize
from tests.engines.opener import open_engine
from tests.served import transformers_serve

SAMPLED = {"until": [], "do_sample": True, "max_gen_toks": 8}


@pytest.fixture(scope="module")
def url(demo_models, tmp_path_factory):
    with transformers_serve(tmp_path_factory.mktemp("serve") / "log", "--dtype", "float32") as url:
        yield url


@pytest.fixture(scope="module")
def ear(demo_models, tmp_path_factory):
    """A folder with a Qwen2-Audio of one layer and random weights, and its processor."""
    tokenizer = AutoTokenizer.from_pretrained(resolve("demo:SmolLM2-135M-Instruct"))
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]})
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 32}
    config = Qwen2AudioConfig(
        audio_config={"num_mel_bins": 80, "d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2},
        text_config={"model_type": "qwen2", "vocab_size": len(tokenizer), "hidden_size": 32, **sizes},
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    torch.manual_seed(1)
    model = Qwen2AudioForConditionalGeneration(config)
    model.generation_config.update(do_sample=True, eos_token_id=tokenizer.eos_token_id)
    folder = tmp_path_factory.mktemp("ear")
    model.save_pretrained(folder)
    Qwen2AudioProcessor(WhisperFeatureExtractor(feature_size=80), tokenizer).save_pretrained(folder)
    return str(folder)


def open_ear(model, url, **options):
    return open_engine(AudioEndpoint, model, batch_size=1, base_url=url, **options)


def test_a_served_whisper_transcribes_a_long_clip_to_its_end_in_chunks(url, demo_clips, references):
    longest = max(demo_clips, key=lambda clip: clip.duration)
    shortest = min(demo_clips, key=lambda clip: clip.duration)
    model = resolve("demo:whisper-tiny.en")
    asr = open_engine(OpenAIASR, model, batch_size=1, base_url=url, max_audio_s=30, num_concurrent=2)
    for transcript, clip in zip(asr.transcribe([longest, shortest]), [longest, shortest], strict=True):
        reference = normalize(references[clip])
        assert jiwer.wer(reference, normalize(transcript.text)) < 0.25
        assert normalize(transcript.text).split()[-4:] == reference.split()[-4:]


def test_a_served_audio_model_transcribes_answers_five_times_and_repeats_itself_by_seeds(url, ear, demo_clips):
    one, other = (clip.part(0.0, 1.0) for clip in demo_clips[:2])
    prompts = [Prompt.about("Hear <audio> now. Which?", (one,)), Prompt.about("Hear <audio> now. Which?", (other,))]
    seeds = [[1, 2, 3, 4, 5]] * 2
    seeded = {"seed_per_call": True, "num_concurrent": 1}  # this server's seed is of its process, not of a call
    first, second = open_ear(ear, url, **seeded).generate(prompts, seeds, SAMPLED)
    assert len(set(first)) == 5 and first != second
    as_url = open_ear(ear, url, audio_part="audio_url", **seeded).generate(prompts, seeds, SAMPLED)
    assert as_url == [first, second]
    (answers,) = open_ear(ear, url).generate(prompts[:1], seeds[:1], SAMPLED)
    assert len(set(answers)) == 5 and answers[1:] == first[1:]


def test_a_model_that_is_not_on_the_server_is_one_line(url, demo_clips):
    with pytest.raises(SpeechIQError, match=r"^openai:/nowhere at 127\.0\.0\.1: answered \d+, "):
        clip = demo_clips[0].part(0.0, 1.0)
        open_ear("/nowhere", url, max_retries=1).generate([Prompt.about("<audio>", (clip,))], [[1]], SAMPLED)
