"""Test what engines need of transformers and accelerate beyond their documentation; `make test-upstream` runs it too.

No checkpoint is read: the models are tiny, random, and made here.
"""

import logging

import pytest
import torch
import transformers
from transformers import DynamicCache, GenerationConfig, LlamaConfig, LlamaForCausalLM, WhisperConfig

from speechiq.core.checkpoints import names
from speechiq.engines import _transformers as private
from speechiq.engines._shared.checkpoint_writer import can_join, fill_cache, join_caches, loglikelihoods, prefill_text
from speechiq.engines._shared.encodings import cache_encodings
from speechiq.engines.asr.checkpoint import TokenBudget
from speechiq.engines.asr.whisper import WhisperWithBeams

EOS, TIMES = 1, 60  # of the tiny Whisper: the end of a text, the first timestamp
SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
WORDS = [[5, 6, 7, 8], [9, 10]]


@pytest.fixture(scope="module")
def llm():
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=200, **SMALL)).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    with torch.inference_mode():
        yield model


@pytest.fixture(scope="module")
def whisper():
    torch.manual_seed(0)
    sizes = {"layers": 1, "attention_heads": 2, "ffn_dim": 32}
    layers = {f"{half}_{name}": size for half in ("encoder", "decoder") for name, size in sizes.items()}
    model = WhisperWithBeams(
        WhisperConfig(
            vocab_size=TIMES + 1501, d_model=16, num_mel_bins=16, max_source_positions=1500, max_target_positions=32,
            decoder_start_token_id=2, pad_token_id=EOS, bos_token_id=EOS, eos_token_id=EOS, suppress_tokens=None,
            begin_suppress_tokens=None, init_std=0.5, **layers,
        )
    ).eval()  # fmt: skip
    model.generation_config = GenerationConfig(
        no_timestamps_token_id=TIMES - 1, is_multilingual=False, max_length=12,
        eos_token_id=EOS, pad_token_id=EOS, decoder_start_token_id=2,
    )  # fmt: skip
    with torch.inference_mode():
        yield model


def test_generate_samples_by_the_defaults_that_we_name(llm):
    sampled = {"do_sample": True, "max_new_tokens": 12}

    def draw(**settings):
        torch.manual_seed(1)
        return llm.generate(torch.tensor([[5, 6]]), **sampled, **settings).tolist()

    defaults = private.default_sampling()
    named = {name: defaults[name] for name in ("temperature", "top_k", "top_p", "typical_p", "repetition_penalty")}
    assert draw() == draw(**named) != draw(**named | {"top_k": 3})
    assert all(getattr(GenerationConfig(), name) is None for name in named)


def test_the_generation_config_is_saved_and_found_under_its_name(llm, tmp_path):
    file = tmp_path / "generation_config.json"
    with pytest.raises(OSError):
        GenerationConfig.from_pretrained(tmp_path)
    llm.generation_config.save_pretrained(tmp_path)
    assert file.is_file() and GenerationConfig.from_pretrained(tmp_path).pad_token_id == 0
    file.write_text("{")
    with pytest.raises(OSError):
        GenerationConfig.from_pretrained(tmp_path)


def test_the_language_codes_and_the_rules_of_whispers_normalizer():
    codes = private.whisper_language_codes()
    assert codes["english"] == "en" and codes["german"] == "de" and len(codes) >= 99
    basic, english, write_symbol = private.whisper_text_rules()
    assert basic()("Mr. Lee's [noise] colour").split() == ["mr", "lee", "s", "colour"]
    rules = english({"colour": "color"})
    assert rules("Mr. Lee paid two thousand for colour") == "mister lee paid 2000 for color"
    replaced = [pattern.replace(r"\b", "") for pattern in rules.replacers]
    assert all(letters.replace("'", "").replace(" ", "").isalpha() for letters in replaced), "more than letters"
    assert [write_symbol(sign, keep="%") for sign in "%&ßa"] == ["%", " ", "ss", "a"]


def transcribe(whisper, seconds=30, **settings):
    features = torch.randn(1, 16, seconds * 100, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(1, seconds * 100, dtype=torch.long)
    return whisper.generate(features, attention_mask=mask, return_timestamps=True, do_sample=False, **settings)


def test_whisper_asks_the_next_generate_for_each_window_and_keeps_its_beams(whisper):
    found = transcribe(whisper, 45, num_beams=3, return_segments=True)
    (segments,) = found["segments"]
    beams = [segment["result"]["beams"] for segment in segments]
    assert all(of_window.shape[0] == 3 for of_window in beams)
    assert len({tuple(row) for row in beams[0].tolist()}) == 3
    assert len({id(segment["result"]) for segment in segments}) > 1


def test_whisper_warns_of_its_own_call_by_the_text_that_we_hide(whisper):
    name, text = private.WHISPER_NOISE
    logger, lines = logging.getLogger(name), []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(" ".join(record.getMessage().split()))
    transformers.utils.logging.set_verbosity_warning()
    transformers.utils.logging.warning_once.cache_clear()
    logger.addHandler(handler)
    try:
        transcribe(whisper, 45)
    finally:
        logger.removeHandler(handler)
    assert any(text in line for line in lines), lines


def test_a_row_that_used_its_tokens_is_padded_at_once(llm):
    found = llm.generate(
        torch.tensor([[5, 6], [7, 8]]), do_sample=False, max_new_tokens=6, stopping_criteria=[TokenBudget([3, 6])]
    )
    assert found.shape[1] == 6 and found[0, 3:].tolist() == [0, 0, 0] and found[1].count_nonzero() == 6


def test_layers_of_a_cache_have_keys_and_values_and_differ_by_type(llm):
    ids = torch.tensor([WORDS[0]])
    cache = fill_cache(llm, input_ids=ids, attention_mask=torch.ones_like(ids))
    assert can_join(cache) and cache.get_seq_length() == 4
    assert [layer.keys.shape for layer in cache.layers] == [layer.values.shape for layer in cache.layers]
    assert cache.layers[0].keys.shape == (1, 2, 4, 8)
    forgetful = transformers.MistralConfig(sliding_window=2, **SMALL)
    assert not can_join(DynamicCache(config=forgetful)) and can_join(DynamicCache(config=llm.config))


def test_joined_prefixes_continue_like_full_prompts(llm):
    prompts, ends = [[*row, 11, 12] for row in WORDS], [[[3, 4]], [[13]]]
    rows = [torch.tensor([row]) for row in WORDS]
    caches = [fill_cache(llm, input_ids=row, attention_mask=torch.ones_like(row)) for row in rows]
    joined = loglikelihoods(llm, prefill_text(llm, prompts, caches), ends)
    assert join_caches(caches).get_seq_length() == 4
    for prompt, ((end,), (scored,)) in zip(prompts, zip(ends, joined, strict=True), strict=True):
        logits = llm(torch.tensor([prompt + end])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        wanted = sum(logits[i, token].item() for i, token in enumerate(end))
        assert scored[0] == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "audio", "mask"),
    [
        ("Qwen2Audio", {"d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2}, "feature_attention_mask"),
        ("AudioFlamingo3", SMALL, "input_features_mask"),
    ],
)
def test_an_audio_encoder_is_found_and_its_results_are_cached(kind, audio, mask):
    text = {"model_type": "qwen2", "vocab_size": 50, "num_key_value_heads": 2, **SMALL}
    config = getattr(transformers, f"{kind}Config")(audio_config=audio, text_config=text, audio_token_id=7)
    auto_class, part = names.find_audio_language_model(config)
    model = auto_class.from_config(part).eval()
    assert "audio" in type(model).input_modalities and names.find_recognizer(config) is None
    audio = {"input_features": torch.zeros(1, 128, 3000), mask: torch.ones(1, 3000, dtype=torch.long)}
    ids = torch.tensor([[7] * 750 + [3]])
    with cache_encodings(model) as encodings, torch.inference_mode():
        first, again = (model(ids, attention_mask=torch.ones_like(ids), **audio).logits for _ in range(2))
    assert encodings.calls == 1 and torch.equal(first, again)


def test_auto_classes_and_their_mappings_are_public():
    for auto, mapping in (*names.RECOGNIZERS.items(), *names.AUDIO_LANGUAGE_MODELS.items()):
        assert hasattr(getattr(transformers, auto), "from_pretrained") and len(getattr(transformers, mapping))


def test_a_process_knows_whether_its_fork_keeps_it_from_accelerators():
    assert private.is_bad_fork(torch) is False
