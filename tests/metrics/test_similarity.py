import base64
import re

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import use_store
from speechiq.core.usage import since, snapshot
from speechiq.metrics.distance.readers import EMBEDDER as ROLE
from speechiq.metrics.distance.readers import LanguageModel
from speechiq.metrics.models import check_checkpoint, forget_models
from speechiq.metrics.similarity import PROMPTS, Embed, cosine, describe_embedding, read_embedding, similarity
from tests.metrics import tiny_text

DEMO = "demo:SmolLM2-135M-Instruct"
REFERENCES = [
    "I feel pain in the lower back.",
    "The cod quota has been cut by a third, and many small boats no longer leave the harbour.",
    "Gout is caused by crystals of uric acid.",
]
DTYPES = "float32", "bfloat16"
HYPOTHESES = ["I feel painting in the world back.", "The quota was cut.", ""]


@pytest.fixture(scope="module")
def embedder(tiny_cascade):
    return tiny_cascade.llm


@pytest.fixture(scope="module")
def cosines(embedder):
    return embed(HYPOTHESES + REFERENCES, REFERENCES * 2, embedder=embedder)


def embed(hypotheses, references, **options):
    embedding = describe_embedding(options)
    return np.array(Embed().apply(hypotheses, [{"text": text} | embedding for text in references]))[:, :-1]


def read(embedder, texts):
    """Return the states of an embedder itself, without the cache."""
    rows = {}
    embedder.read(texts, "last", lambda places, found: rows.update(zip(places, found, strict=True)), {})
    return np.stack([np.frombuffer(base64.b64decode(rows[i]), "<f4") for i in range(len(texts))])


def test_the_time_of_embedding_is_measured(embedder):
    before = snapshot()
    read(LanguageModel(ROLE, embedder), ["gout"])
    assert since(before).speeds()["embedding"]["work_seconds"] > 0


def test_identical_texts_have_similarity_1_and_others_less(cosines):
    assert cosines[3:] == pytest.approx(1.0, abs=1e-6) and (cosines[:3] < 0.999).all()


def test_the_demos_embedder_finds_an_empty_text_the_least_similar_and_a_dtype_changes_little(demo_models):
    cosines, coarse = (embed(HYPOTHESES, REFERENCES, embedder=DEMO, embedder_dtype=kind) for kind in DTYPES)
    assert cosines[2].max() < cosines[:2].min() and np.abs(coarse - cosines).max() < 0.02
    assert round(cosines[0].min(), 3) == 0.924, "the example of the docstring of similarity"


def test_batches_equal_one_plain_forward_pass_per_text(cosines, embedder):
    tokenizer = AutoTokenizer.from_pretrained(embedder)
    model = AutoModelForCausalLM.from_pretrained(embedder, dtype=torch.float32).eval()

    @torch.inference_mode()
    def plain(text):
        inputs = tokenizer(text, return_tensors="pt")
        return model(**inputs, output_hidden_states=True).hidden_states[-1][0, -1].double()

    for row, (hypothesis, reference) in enumerate(zip(HYPOTHESES, REFERENCES, strict=True)):
        for column, prompt in enumerate(PROMPTS.values()):
            states = plain(prompt.format(text=hypothesis)), plain(prompt.format(text=reference))
            assert cosines[row, column] == pytest.approx(torch.cosine_similarity(*states, dim=0).item(), abs=1e-5)


@pytest.mark.parametrize(("dtype", "difference"), zip(DTYPES, (1e-5, 1e-2), strict=True))
def test_a_text_does_not_depend_on_the_other_texts_of_its_batch(embedder, dtype, difference):
    together, alone = (read(LanguageModel(ROLE, embedder, dtype=dtype, batch_size=size), REFERENCES) for size in (3, 1))
    assert cosine(together, alone).min() > 1 - difference


def test_an_embedder_too_large_for_memory_names_a_smaller_dtype(embedder, monkeypatch):
    def from_pretrained(*args, **options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(AutoModel, "from_pretrained", from_pretrained)
    with pytest.raises(SpeechIQError, match=r"does not fit into memory in float32; .* --metadata embedder_dtype=bfl"):
        read(LanguageModel(ROLE, embedder), ["x"])


def test_similarity_of_texts_is_what_the_level_scores(cosines, embedder):
    pairs = zip(REFERENCES, HYPOTHESES, cosines[:3].min(axis=1), strict=True)
    for reference, hypothesis, expected in pairs:
        assert similarity(reference, hypothesis, embedder=embedder) == expected
    mean = similarity(reference=REFERENCES, hypothesis=HYPOTHESES, embedder=embedder)
    assert mean == pytest.approx(cosines[:3].min(axis=1).mean())
    pair = "It's $2000.", "it is two thousand dollars"
    assert similarity(*pair, embedder) < 1 - 1e-6 < similarity(*pair, embedder, embedder_text="english")


def test_similarity_of_empty_texts(embedder):
    assert similarity("", "", embedder) == pytest.approx(1)
    assert similarity("", "so it goes", embedder) == similarity("so it goes", "", embedder) < 1


def test_similarity_of_no_texts_is_undefined_and_loads_nothing():
    assert np.isnan(similarity([], [], embedder="x/y"))
    with pytest.raises(SpeechIQError, match=r"^references: 1 text, hypotheses: 2; give one hypothesis per reference$"):
        similarity("so", ["so", "it"], embedder="x/y")


@pytest.mark.parametrize("name", [5, [], ["demo:x"], {}, ""])
def test_an_embedder_that_is_not_a_name_is_refused(name):
    with pytest.raises(SpeechIQError, match=r"^embedder=.*: not a text; give one"):
        read_embedding({"embedder": name})


def test_the_chat_template_is_another_place_to_read(cosines, embedder):
    chat = embed(HYPOTHESES, REFERENCES, embedder=embedder, embedder_template="chat")
    assert (np.abs(chat - cosines[:3]) > 1e-4).any() and (chat < 1).all()


@pytest.mark.parametrize("option", ["embedder_template", "embedder_text", "embedder_dtype"])
def test_an_unknown_way_to_embed_is_named(embedder, option):
    with pytest.raises(SpeechIQError, match=f"{option}=odd: unknown; give .*(plain|raw|float32)"):
        read_embedding({"embedder": embedder, option: "odd"})


def test_a_text_beyond_the_context_is_refused_by_its_clip_before_the_embedder_is_loaded(embedder, monkeypatch):
    monkeypatch.setattr(AutoModel, "from_pretrained", lambda *_, **__: pytest.fail("loaded"))
    forget_models()
    doc = {"id": "demo/a", "text": "so"} | describe_embedding({"embedder": embedder})
    with pytest.raises(SpeechIQError, match=r"the transcript of demo/a has [\d,]{6} tokens, but the model takes 2,048"):
        Embed().apply(["so it goes " * 4000], [doc])
    with pytest.raises(SpeechIQError, match=r"the reference of demo/a has"):
        Embed().apply(["so"], [doc | {"text": "so it goes " * 4000}])


def test_an_embedder_that_is_not_available_names_another_one(tmp_path):
    with pytest.raises(SpeechIQError, match=r"^embedder=x/y: its config .* --metadata embedder=demo:.* is gated"):
        check_checkpoint(ROLE, "x/y")


def test_a_script_that_the_embedder_does_not_know_is_said_with_the_share(embedder, capsys):
    texts = ["रेलगाड़ी आठ बजे प्लेटफ़ॉर्म दो से निकलती है।", "Gout."]
    similarity(texts, texts, embedder)
    line = capsys.readouterr().err
    assert f"embedder={embedder}: 67 % of the tokens of the references are unknown or parts of characters" in line
    similarity(REFERENCES, ["रेलगाड़ी आठ बजे।"] * 3, embedder)
    similarity(["Поезд отправляется в восемь часов."], ["Поезд."], embedder)
    assert "parts of characters" not in capsys.readouterr().err


@pytest.fixture(scope="module")
def tiny_embedder(tmp_path_factory):
    """Return the folder of a language model of four layers."""
    return tiny_text.language_model("Llama", tmp_path_factory.mktemp("embedder"))


TEXTS = ["who invented calculus ?", "what is the amazon ?"], ["who invented cactus ?", "where is new york ?"]


@pytest.mark.parametrize(
    ("layer", "read"),
    [(-1, [4]), (4, [4]), (-2.0, [3]), ("1", [1]), ("1+-1", [1, 4]), ("0+-1", [0, 4]), ("-4+-2", [1, 3])],
)
def test_another_layer_is_that_of_a_plain_forward_pass(tiny_embedder, layer, read):
    tokenizer = AutoTokenizer.from_pretrained(tiny_embedder)
    model = AutoModel.from_pretrained(tiny_embedder, dtype=torch.float32).eval()

    @torch.inference_mode()
    def state(text):
        layers = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        return torch.stack([layers[number][0, -1] for number in read]).mean(dim=0)

    found = embed(TEXTS[1], TEXTS[0], embedder=tiny_embedder, embedder_layer=layer)
    for row, (reference, hypothesis) in enumerate(zip(*TEXTS, strict=True)):
        for column, prompt in enumerate(PROMPTS.values()):
            states = [state(prompt.format(text=text)) for text in (reference, hypothesis)]
            assert found[row, column] == pytest.approx(torch.cosine_similarity(*states, dim=0).item(), abs=1e-5)


def test_layers_are_cached_apart_and_a_layer_by_any_name_once(tiny_embedder, tmp_path):
    def count(layer):
        before = snapshot()
        similarity(*TEXTS, tiny_embedder, embedder_layer=layer)
        return since(before).usage.get("embeddings", 0)

    with use_store(str(tmp_path)):
        assert [count(layer) for layer in (-1, -2, 3, "3", 4, "1+-2", "3+1")] == [8, 8, 0, 0, 0, 8, 0]


def test_docs_name_the_layer_only_if_the_run_does(tiny_embedder):
    of_layer = {}
    for layer in (None, -1.0, -2, "-1+1"):
        settings = describe_embedding({"embedder": tiny_embedder, "embedder_layer": layer})
        of_layer[layer] = settings.get("embedder_layer")
    assert of_layer == {None: None, -1.0: -1, -2: "3", "-1+1": "1+4"}


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (5, "has 4 layers; give 1 to 4, or -1, the last, to -4"),
        ("1+-6", "has 4 layers; give"),
        (0, "the same for all texts; give 1 to 4"),
        ("-5", "the same for all texts"),
        ("first", "; write a layer, such as -2, or several joined by [+], such as 1[+]-1"),
        ("1,-1", "; write a layer"),
        (1.5, "; write a layer"),
        (True, "; write a layer"),
    ],
)
def test_a_layer_that_the_embedder_lacks_is_refused_before_it_is_loaded(tiny_embedder, layer, message, monkeypatch):
    monkeypatch.setattr(AutoModel, "from_pretrained", lambda *_, **__: pytest.fail("loaded"))
    with pytest.raises(SpeechIQError, match=rf"^embedder_layer={re.escape(str(layer))}: .*{message}"):
        read_embedding({"embedder": tiny_embedder, "embedder_layer": layer})
