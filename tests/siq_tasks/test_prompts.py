"""Prompts: a changed one needs a new version, and that of Apply is in the language of the data set."""

import hashlib
from itertools import chain

import pytest
from lm_eval.tasks import TaskManager

from speechiq.core.errors import SpeechIQError
from speechiq.engines.languages import OWN
from speechiq.harness_patch.systems import correction
from speechiq.harness_patch.systems.answering import LIKELIHOOD_PROMPT, LIKELIHOOD_PROMPT_VERSION
from speechiq.metrics import similarity
from speechiq.metrics.choice import NONE_OF_THE_ABOVE, list_options
from speechiq.metrics.distance import readers
from speechiq.siq_tasks.conditions.prompts import VERSION, read_phrases, read_prompt_language, write_prompt
from speechiq.siq_tasks.index import HERE, list_language_tasks, read_task
from speechiq.siq_tasks.questions import write
from speechiq.siq_tasks.settings import name_task_type
from tests.runs import evaluate, load_task
from tests.siq_tasks.belebele import question, record, sentence, write_set
from tests.siq_tasks.test_task import FILES

FROZEN = {
    ("remember", 1): "63a210ccc3bf5836",
    ("understand", 1): "756e37b0b5e7f893",
    ("apply", 1): "bb764d8c403d3e43",
    ("distance", 1): "2c6725abc661f373",
    ("choose", 1): "b57713ae386155f4",
    ("answer", 1): "785a645f4a0ff16d",
    ("choice", 1): "e7ef0006cadb6c14",
    ("judged", 1): "c4881e1ff0039688",
    ("labels", 1): "abbfeaf31b9b2caa",
    ("spoken_choice", 1): "fd65b4add160e4d7",
    ("open", 1): "785a645f4a0ff16d",
    ("refusal", 1): "785a645f4a0ff16d",
    ("checks", 1): "785a645f4a0ff16d",
    ("caption", 1): "17ed0290fa3bcd8f",
    ("transcribe", 1): "e55366560f24efa3",
    ("translate", 1): "e55366560f24efa3",
    ("reply", 1): "785a645f4a0ff16d",
    ("likelihood", 1): "9cff446765f2e48c",
    ("correction", 1): "d0fcea2229afac8b",
    ("questions", 1): "7bc8b17d847789c1",
    ("phrases of all languages", 1): "e41e903c4bc0109f",
}
#: Prompts of the models that score, beside that of the system.
MORE = {"understand": similarity.PROMPTS, "distance": readers.PROMPTS}


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def test_the_prompts_of_every_task_are_those_of_their_version():
    for file in FILES:
        config = read_task(file)
        if "group" in config:
            continue
        task_type = name_task_type(config["metadata"])
        found = digest(config["doc_to_text"], *MORE.get(task_type, {}).values())
        assert found == FROZEN[task_type, config["metadata"]["prompt_version"]], f"{file.name}: raise prompt_version"


OTHERS = {
    ("likelihood", LIKELIHOOD_PROMPT_VERSION): [LIKELIHOOD_PROMPT],
    ("correction", correction.PROMPT_VERSION): [correction.PROMPT],
    ("questions", write.PROMPT_VERSION): write.TEXTS.values(),
    ("phrases of all languages", VERSION): chain.from_iterable(each.values() for each in read_phrases().values()),
}


@pytest.mark.parametrize(("version", "texts"), OTHERS.items())
def test_every_other_prompt_is_that_of_its_version(version, texts):
    assert digest(*texts) == FROZEN[version], "raise its version"


TEMPLATE = read_task(HERE / "templates" / "_apply.yaml")["doc_to_text"]
ENGLISH = read_phrases()["en"]


def load(folder, task="siq_belebele_deu_Latn_apply", **metadata):
    about = {"dataset_path": str(folder), **metadata}
    (loaded,) = TaskManager(include_defaults=False, metadata=about).load([task])["tasks"].values()
    return loaded


@pytest.fixture
def german(tmp_path, own_cache):
    rows = [question("a", 1, [sentence(1, "Ein Satz.", record("kennedy", 3.0))])]
    return write_set(tmp_path / "hub", rows)


def test_every_language_has_each_phrase_once():
    for language, phrases in read_phrases().items():
        assert phrases.keys() == ENGLISH.keys(), language
        assert len({*phrases.values()}) == len(phrases) and all(text == text.strip() for text in phrases.values())
    assert all(TEMPLATE.count(text) == 1 for text in ENGLISH.values())


def test_every_chosen_language_has_a_prompt_of_its_own():
    chosen = [task.keys["metadata"] for task in list_language_tasks() if "siq_belebele" in task.keys["tag"]]
    assert len(chosen) == 3 * 11
    prompts = {write_prompt(TEMPLATE, about | {"prompt_language": OWN}) for about in chosen}
    assert len(prompts) == 11 and TEMPLATE in prompts
    simple, traditional = (
        write_prompt(TEMPLATE, {"language": code, "prompt_language": OWN}) for code in ("zh", "zh-Hant")
    )
    assert "讲话" in simple and "講話" in traditional


@pytest.mark.parametrize("language", [code for code in read_phrases() if code != "en"])
def test_only_the_phrases_differ_between_prompts(language):
    own = write_prompt(TEMPLATE, {"language": language, "prompt_language": OWN})
    for name, phrase in read_phrases()[language].items():
        assert own.count(phrase) == 1 and ENGLISH[name] not in own
        own = own.replace(phrase, ENGLISH[name])
    assert own == TEMPLATE


@pytest.mark.slow
def test_a_task_asks_in_the_language_of_its_set(german):
    task = load(german, prompt_language=OWN)
    (doc,) = task.eval_docs
    assert task.doc_to_text(doc).splitlines() == [
        "Hier ist eine Rede:",
        "<audio>",
        "",
        "Beantworte diese Frage zu der Rede: Frage 1 zu a?",
        *(f"({letter}) Antwort {i}" for i, letter in enumerate("ABCD", 1)),
        "(E) Keine der genannten Antworten",
        "Antworte mit dem Buchstaben der richtigen Option, sonst nichts.",
    ]
    assert list_options(doc)[-1] == task.doc_to_audio(doc)[0]["options"][-1] == "Keine der genannten Antworten"
    about = task.config.metadata
    assert (about["prompt_language"], about["prompt_language_version"]) == (OWN, 1)
    voted = task._filters[0].filters[-1]().apply([["Keine der genannten Antworten", "(E)", "B", "?", ""]], [doc])
    assert voted == [["E", ["E", "E", "B", "?", "?"]]]


@pytest.mark.slow
def test_a_run_asks_and_is_scored_in_the_language(german):
    about = {"dataset_path": str(german), "prompt_language": OWN}
    task = "siq_belebele_deu_Latn_apply"
    results = evaluate("hf-audio", [task], model_args={"pretrained": "letter:B"}, metadata=about)
    (row,) = results["samples"][task]
    assert row["arguments"][0][0].startswith("Hier ist eine Rede:") and row["acc"] == 1
    assert results["configs"][task]["metadata"]["prompt_language"] == OWN
    assert "Beantworte diese Frage" in results["configs"][task]["doc_to_text"]


@pytest.mark.slow
def test_english_is_the_default_and_is_recorded(german):
    task = load(german)
    (doc,) = task.eval_docs
    assert NONE_OF_THE_ABOVE in task.doc_to_text(doc) and list_options(doc)[-1] == NONE_OF_THE_ABOVE
    assert task.config.metadata["prompt_language"] == doc["prompt_language"] == "en"
    remember = load(german, "siq_belebele_deu_Latn_remember", prompt_language=OWN)
    assert "prompt_language" not in remember.config.metadata


def test_english_sets_are_asked_in_english_in_either_case():
    task = load_task("siq_demo_apply", prompt_language=OWN)
    assert task.config.doc_to_text == TEMPLATE and task.config.metadata["prompt_language"] == "en"


@pytest.mark.parametrize(
    ("metadata", "line"),
    [
        ({"prompt_language": "fr"}, "prompt_language=fr: unknown; give en or own"),
        (
            {"prompt_language": OWN, "language": "sw"},
            "prompt_language=own: no prompt is written in sw (there are en, ar, de, el, es, fr, hi, it, ja, ko, ru, "
            "ta, th, zh, zh-Hant); give prompt_language=en",
        ),
    ],
)
def test_a_prompt_that_does_not_exist_is_refused(metadata, line):
    with pytest.raises(SpeechIQError) as refused:
        read_prompt_language(metadata)
    assert str(refused.value) == line


def test_a_template_with_other_words_has_no_prompt_in_the_language():
    with pytest.raises(SpeechIQError, match="doc_to_text has no 'Here is a speech:'; give prompt_language=en"):
        write_prompt("Listen: <audio>", {"prompt_language": OWN, "language": "de"})


@pytest.mark.slow
def test_an_option_that_equals_the_added_one_is_refused(tmp_path, own_cache):
    row = question("a", 1, [sentence(1, "Ein Satz.", record("kennedy", 3.0))])
    folder = write_set(tmp_path / "hub", [row | {"mc_answer3": "keine der genannten Antworten"}])
    assert load(folder).eval_docs
    with pytest.raises(SpeechIQError, match="'Keine der genannten Antworten' is among its options, but is added as"):
        load(folder, prompt_language=OWN)
