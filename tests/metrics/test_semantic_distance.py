"""Distances against plain passes of the models, one text after the other, and what is refused."""

import math
import shutil

import numpy as np
import pytest
import torch
import transformers as tf

from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import usage
from speechiq.metrics.distance import readers
from speechiq.metrics.distance.readers import PROMPTS, LanguageModel, find_head, read_vectors
from speechiq.metrics.distance.semantic import KINDS, Distances, measure_distances, read_distance, semantic_distance
from speechiq.metrics.models import TextModel, forget_models
from tests.metrics import tiny_text

PAIRS = [
    ("who invented the jeans", "who invented the genes"),
    ("what are the five boroughs of new york", "what are the fried burgers of new york"),
    ("where is the amazon rainforest located ?", ""),
]
#: The paper's table 6, in the order of its scores; the first three are successes.
TABLE_6 = [
    ("where\u2019s amazon rainforest located", "where\u2019s the amazon rainforest located"),
    ("who who invented calculus", "who is who invented calculus"),
    ("what\u2019s autism spectrum disorder", "what\u2019s autism spectral disorder"),
    ("who invented the jeans", "who invented the genes"),
    ("what are the five boroughs of new york", "what are the fried burgers of new york"),
]


def options(folder):
    return {"assistant": folder, "assistant_dtype": "float32", "assistant_template": "plain"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folders of a tiny assistant of each kind of head, and of an encoder."""
    folder = tmp_path_factory.mktemp("tiny")
    make = tiny_text.language_model
    return {
        "llama": make("Llama", folder / "llama"),
        "biased": make("Phi", folder / "biased"),
        "scaled": make("Granite", folder / "scaled", logits_scaling=7.0),
        "capped": make("Gemma2", folder / "capped", final_logit_softcapping=2.0, head_dim=8, num_key_value_heads=2),
        "encoder": tiny_text.encoder(folder / "encoder"),
    }


@pytest.fixture
def settings(tiny):
    return {
        "assistant": tiny["llama"], "encoder": tiny["encoder"], "assistant_template": "plain",
        "assistant_dtype": "float32", "semdist_text": "raw", "ner": "off",
    }  # fmt: skip


@pytest.fixture
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    forget_models()
    yield tmp_path / "store"
    forget_models()


@torch.inference_mode()
def embed_slowly(folder: str, text: str, kind: str) -> list[float]:
    """Return the embedding of a text by its definition in the paper, in float64."""
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    if kind == "encoder":
        model = tf.AutoModel.from_pretrained(folder, dtype=torch.float64).eval()
        states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].tolist()
        return [sum(column) / len(states) for column in zip(*states, strict=True)]
    prompt = kind if kind in PROMPTS else "raw"
    ids = tokenizer(PROMPTS[prompt].replace("{text}", text)).input_ids or [tokenizer.bos_token_id]
    model = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    found = model(torch.tensor([ids]), output_hidden_states=True)
    layers = [layer[0].tolist() for layer in found.hidden_states]
    if kind == "eowl":
        return found.logits[0, -1].tolist()
    if kind == "raw_tokens":
        return [sum(column) / len(ids) for column in zip(*layers[-1], strict=True)]
    if kind == "raw_layers":
        chosen = [layers[place][-1] for place in (1, 2, 4)]
        return [sum(values) / 3 for values in zip(*chosen, strict=True)]
    return layers[-1][-1]


def distance_slowly(first: list[float], second: list[float]) -> float:
    product = math.fsum(a * b for a, b in zip(first, second, strict=True))
    return 1 - product / math.sqrt(math.fsum(a * a for a in first) * math.fsum(b * b for b in second))


@pytest.mark.parametrize("kind", KINDS)
def test_every_distance_is_that_of_the_papers_definition(tiny, settings, kind):
    folder = tiny["encoder"] if kind == "encoder" else tiny["llama"]
    expected = [distance_slowly(*(embed_slowly(folder, text, kind) for text in pair)) for pair in PAIRS]
    np.testing.assert_allclose(measure_distances(PAIRS, settings, [kind])[kind], expected, rtol=0, atol=1e-6)
    assert min(expected) > 1e-3, "the pairs differ for the model"


@pytest.mark.parametrize(("name", "linear"), [("llama", True), ("biased", True), ("scaled", True), ("capped", False)])
def test_the_distance_of_logits_needs_no_logits_where_the_head_is_linear(tiny, settings, name, linear):
    folder = tiny[name]
    head = find_head(options(folder))
    assert (head is not None) == linear
    logits = [[embed_slowly(folder, text, "eowl") for text in pair] for pair in PAIRS]
    expected = [distance_slowly(*pair) for pair in logits]
    found = measure_distances(PAIRS, settings | {"assistant": folder}, ["eowl"])["eowl"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6)


@pytest.mark.parametrize("bias", [False, True])
def test_the_gram_matrix_is_exact(monkeypatch, bias):
    monkeypatch.setattr(readers, "BLOCK", 7)
    draw = np.random.default_rng(0).standard_normal
    weight, offset, first, second = draw((100, 16)), draw(100), draw((50, 16)), draw((50, 16))
    offset = offset if bias else np.zeros(100)
    logits = [states @ weight.T + offset for states in (first, second)]
    given = (torch.tensor(weight), torch.tensor(offset)) if bias else (torch.tensor(weight),)
    found = readers.distance(first, second, readers.compute_gram(*given))
    expected = [distance_slowly(list(one), list(other)) for one, other in zip(*logits, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_real_states_in_float64_give_the_distance_of_real_logits_to_1e_8(tiny):
    folder = tiny["llama"]
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    model = tf.AutoModelForCausalLM.from_pretrained(folder).eval()
    prompts = [PROMPTS["eowl"].format(text=text) for pair in PAIRS for text in pair]
    expected = [distance_slowly(*(embed_slowly(folder, text, "eowl") for text in pair)) for pair in PAIRS]
    for dtype, error in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
        model.to(dtype)
        with torch.inference_mode():
            passes = [model(**tokenizer(prompt, return_tensors="pt"), output_hidden_states=True) for prompt in prompts]
        rows = np.stack([found.hidden_states[-1][0, -1].numpy() for found in passes])
        head = readers.compute_gram(model.get_output_embeddings().weight.double())
        np.testing.assert_allclose(readers.distance(rows[::2], rows[1::2], head), expected, rtol=0, atol=error)


def test_equal_texts_have_distance_0_exactly(settings):
    for values in measure_distances([(text, text) for pair in PAIRS for text in pair], settings).values():
        assert (values == 0).all()


def test_a_batch_changes_nothing(tiny, settings, monkeypatch):
    alone = measure_distances(PAIRS, settings)
    forget_models()
    monkeypatch.setattr("speechiq.metrics.models.CPU_BATCH", 4)
    for kind, values in measure_distances(PAIRS, settings).items():
        np.testing.assert_allclose(values, alone[kind], rtol=0, atol=1e-5)
    forget_models()


def test_a_text_passes_the_model_once_for_each_prompt_and_costs_kilobytes(own_store, settings, monkeypatch):
    before = usage["embeddings"]
    first = measure_distances([*PAIRS, ("who invented the jeans", "who invented calculus")], settings)
    texts = 7
    assert usage["embeddings"] - before == 4 * texts
    assert max(len(line) for file in own_store.rglob("*.jsonl") for line in file.read_text().splitlines()) < 2000
    forget_models()
    monkeypatch.setattr(TextModel, "load", lambda model: pytest.fail("loaded"))
    again = measure_distances(PAIRS, settings)
    for kind in KINDS:
        np.testing.assert_array_equal(again[kind], first[kind][: len(PAIRS)])


def test_a_head_is_read_once_and_again_if_its_file_is_damaged(own_store, tiny, caplog):
    choice = options(tiny["biased"])
    head = find_head(choice)
    (file,) = own_store.rglob(readers.FILE)
    forget_models()
    np.testing.assert_array_equal(find_head(choice), head)
    file.write_bytes(file.read_bytes()[:-9])
    forget_models()
    np.testing.assert_array_equal(find_head(choice), head)
    assert "damaged, it is computed again" in caplog.text


def test_that_a_head_is_not_linear_is_remembered(own_store, tiny, monkeypatch):
    choice = options(tiny["capped"])
    assert find_head(choice) is None
    forget_models()
    monkeypatch.setattr(TextModel, "load", lambda model: pytest.fail("loaded"))
    assert find_head(choice) is None


def test_one_model_is_in_memory_at_a_time(tiny):
    models = [LanguageModel(readers.ASSISTANT, tiny["llama"]), readers.Encoder(readers.ENCODER, tiny["encoder"])]
    for model in models:
        model.load()
    assert [model._model is None for model in models] == [True, False]


def test_the_call_on_texts_is_the_mean_over_clips(tiny, settings):
    references, hypotheses = (list(side) for side in zip(*PAIRS, strict=True))
    values = measure_distances(PAIRS, settings)
    for kind in KINDS:
        models = {"assistant": tiny["llama"], "encoder": tiny["encoder"]}
        found = semantic_distance(references, hypotheses, kind, **models)
        assert found == pytest.approx(values[kind].mean(), abs=1e-12)
    pair = "Who invented the jeans?", "who invented the jeans"
    assert semantic_distance(*pair, "raw", assistant=tiny["llama"]) > 0
    assert semantic_distance(*pair, "raw", assistant=tiny["llama"], semdist_text="english") == 0
    assert math.isnan(semantic_distance([], [], assistant="x/y"))


def test_a_model_that_is_off_leaves_its_columns_undefined(settings):
    without = measure_distances(PAIRS, settings | {"assistant": "off"})
    assert [kind for kind in KINDS if not np.isnan(without[kind]).any()] == ["encoder"]


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        ("llama", "encoder", r"encoder=.*: a llama model is not a sentence encoder; name a bidirectional one, such as"),
        ("encoder", "assistant", r"assistant=.*: a roberta model is not a language model; name a causal"),
        ("encoder", "ner", r"ner=.*: a roberta model is not a tagger of named entities"),
        ("llama", "ner", r"ner=.*: a llama model is not a tagger"),
    ],
)
def test_a_model_of_another_kind_is_refused_by_its_config(tiny, name, key, message):
    metadata = {"assistant": "off", "encoder": "off", key: tiny[name], "rare_words": "off"}
    with pytest.raises(SpeechIQError, match=message):
        read_distance(metadata)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"assistant_template": "chat"}, r"assistant=.*: has no chat template; leave assistant_template plain"),
        ({"assistant_template": "odd"}, "assistant_template=odd: unknown; give chat or plain"),
        ({"assistant_dtype": "int8"}, "assistant_dtype=int8: unknown; give bfloat16 or float16 or float32"),
        ({"semdist_text": "odd"}, "semdist_text=odd: unknown; give basic or english or multilingual or raw or whisper"),
        ({"assistant": 5}, "assistant=5: not a text; give one"),
        ({"assistant": "./nowhere"}, r"\./nowhere: no folder with a config\.json"),
        ({"normalizer": "odd"}, "normalizer=odd: unknown"),
        ({"rare_words": "./nowhere.txt"}, r"rare_words=\./nowhere\.txt: cannot be read .*; give a file with one word"),
    ],
)
def test_settings_that_cannot_be_are_named_before_a_model_is_loaded(tiny, monkeypatch, given, message):
    monkeypatch.setattr(TextModel, "load", lambda model: pytest.fail("loaded"))
    metadata = {"assistant": tiny["llama"], "encoder": "off", "rare_words": "off"}
    with pytest.raises(SpeechIQError, match=message):
        read_distance(metadata | given)


def test_an_unknown_kind_and_a_damaged_model_are_named(tiny, tmp_path):
    with pytest.raises(SpeechIQError, match=r"^kind='odd': unknown; known are encoder, raw, raw_layers, raw_tokens, "):
        semantic_distance("a", "b", "odd", assistant=tiny["llama"])
    folder = tmp_path / "cut"
    tiny_text.language_model("Llama", folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(SpeechIQError, match=r"assistant=.*cut: model\.safetensors is cut off or damaged"):
        semantic_distance("a", "b", assistant=str(folder))
    bare = shutil.copytree(tiny["encoder"], tmp_path / "bare", ignore=shutil.ignore_patterns("tokenizer*"))
    with pytest.raises(SpeechIQError, match=r"^encoder=.*bare: cannot be loaded \(no vocabulary: a file of its token"):
        semantic_distance("a", "b", "encoder", encoder=str(bare))


def test_a_text_beyond_the_context_is_named_by_its_clip_before_the_model_is_loaded(tiny, settings, monkeypatch):
    monkeypatch.setattr(TextModel, "load", lambda model: pytest.fail("loaded"))
    doc = {"id": "demo/a", "text": "who invented the jeans " * 100} | settings
    with pytest.raises(SpeechIQError, match=r"encoder=.*: the reference of demo/a has 403 tokens, but"):
        Distances().apply(["who"], [doc | {"text": doc["text"] + "genes"}])


def test_the_chat_template_is_another_prompt(tiny, tmp_path):
    folder = tiny_text.language_model("Llama", tmp_path / "chat")
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = "{% for turn in messages %}human : {{ turn.content }} {% endfor %}assistant :"
    tokenizer.save_pretrained(folder)
    plain, chat = (
        semantic_distance(*PAIRS[0], "prompt", assistant=folder, assistant_template=template)
        for template in ("plain", "chat")
    )
    inside = [f"human : {text} assistant :" for text in PAIRS[0]]
    assert chat == pytest.approx(semantic_distance(*inside, "raw", assistant=folder), abs=1e-9)
    assert chat != plain


def test_states_that_overflow_are_refused(tiny):
    model = LanguageModel(readers.ASSISTANT, tiny["llama"])
    model.load().base_model.norm.weight.data[:] = torch.nan
    line = r"its states overflow in float32; give --metadata assistant_dtype=bfloat16"
    with pytest.raises(SpeechIQError, match=line):
        model.read(["who"], "last", lambda *_: None, {})


@pytest.mark.slow
def test_the_demos_model_tells_the_successes_of_table_6_from_the_failures(demo_models):
    name = "demo:SmolLM2-135M-Instruct"
    found = [semantic_distance(*pair, assistant=name) for pair in TABLE_6]
    assert max(found[:3]) < min(found[3:])
    assert np.round(found, 4).tolist() == pytest.approx([0.0416, 0.0103, 0.0649, 0.0721, 0.3260], abs=2e-4)
    assert found != sorted(found), "docs/concepts/semantic_distance.md: the full order is not that of the paper"
    states = read_vectors("last", ["who"], options(name), {})
    assert states.shape == (1, 576)
