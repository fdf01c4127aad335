"""The metrics as modules of `evaluate`, loaded without network."""

import math
import sys
from itertools import count

import evaluate
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.evaluate import MODULES, path
from speechiq.metrics.evaluate.module import CITATION
from speechiq.metrics.rules.meteor import meteor
from speechiq.metrics.similarity import compute_cosines, read_embedding, similarity
from speechiq.metrics.words.wer import score, wer

REFERENCES = ["So it goes, for two thousand years.", "yes", "we are very glad"]
HYPOTHESES = ["so he goes on for 2000 years", "", "Thank you. " * 4]


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Return `evaluate.load` for our modules, with caches of its own and no way to the network."""
    cache = tmp_path_factory.mktemp("evaluate")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluate.config.HF_MODULES_CACHE", str(cache / "modules"))
        patch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", True)
        patch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was used"))
        patch.setattr("sys.path", list(sys.path))
        for name in [name for name in sys.modules if name.startswith("evaluate_modules")]:
            patch.delitem(sys.modules, name)  # of another cache
        numbers = map(str, count())  # otherwise a module waits a second for the file of the one before it
        yield lambda name: evaluate.load(path(name), cache_dir=str(cache), experiment_id=next(numbers))


@pytest.mark.parametrize("name", MODULES)
def test_each_module_describes_itself(load, name):
    module = load(name)
    assert module.name == f"speechiq_{name}" and module.citation == CITATION
    assert "SpeechIQ" in module.description and {"predictions", "references"} <= set(module.inputs_description.split())


def test_the_rates_are_those_of_the_level_remember(load):
    found = load("wer").compute(predictions=HYPOTHESES, references=REFERENCES)
    rows = [score({"text": r}, [h]) for r, h in zip(REFERENCES, HYPOTHESES, strict=True)]
    for name in ("wer", "cer", "substitutions", "deletions", "insertions", "repetition"):
        assert found[name] == pytest.approx(sum(row[name] for row in rows) / 3)
    assert found["wer_corpus"] == wer(REFERENCES, HYPOTHESES)
    assert found["repetition"] == pytest.approx(1 / 3) and len(found) == 7


def test_the_rates_take_a_normalizer(load):
    pair = {"predictions": ["it cost $2000"], "references": ["It cost two thousand dollars."]}
    assert load("wer").compute(**pair)["wer"] == 0
    assert load("wer").compute(**pair, normalizer="basic")["wer"] == wer(
        pair["references"], pair["predictions"], normalizer="basic"
    )
    with pytest.raises(SpeechIQError, match=r"^normalizer=odd: unknown"):
        load("wer").compute(**pair, normalizer="odd")


def test_a_clip_without_reference_words_is_left_out_of_the_means_and_counted_in_the_pooled_rate(load):
    found = load("wer").compute(predictions=["so it goes on", "hmm hello"], references=["so it goes", "uh"])
    assert found["wer"] == pytest.approx(1 / 3) and found["wer_corpus"] == pytest.approx(2 / 3)
    found = load("wer").compute(predictions=["hello"], references=[""])
    assert math.isnan(found["wer"]) and math.isnan(found["wer_corpus"])


def test_letters_are_voted_on_and_scored(load):
    five = [["A", "B", "B", "B", "?"], ["E", "E", "A", "A", "E"]]
    expected = {"acc": 0.5, "acc_strict": 0.5, "agreement": 0.6, "unparsed": 0.1, "none_of_the_above": 0.5}
    assert load("choice").compute(predictions=five, references=["B", "A"]) == pytest.approx(expected)
    found = load("choice").compute(predictions=["B", "?"], references=["B", "A"])
    assert (found["acc"], found["agreement"], found["unparsed"]) == (0.5, 0.5, 0.5)


def test_letters_are_read_from_answers_if_there_are_options(load):
    answers = [["The answer is (B).", "It was a legal fine."], ["A strike.", "I cannot say."]]
    options = [["a strike", "a legal fine"]] * 2
    found = load("choice").compute(predictions=answers, references=["B", "A"], options=options)
    assert (found["acc"], found["agreement"], found["unparsed"]) == (1.0, 0.75, 0.25)


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        (["Answer: B"], None, "^predictions: question 0 has the answer 'Answer: B', not a letter or [?]; give opt"),
        ([["B"], []], None, "^predictions: question 1 has no answer; give [?] for an answer without a letter"),
        (["B"], [["a", "b"]] * 2, "^options: those of 2 questions, references: 1; give the options of each question"),
    ],
)
def test_answers_that_cannot_be_scored_are_refused(load, answers, options, message):
    with pytest.raises(SpeechIQError, match=message):
        load("choice").compute(predictions=answers, references=["B"] * len(answers), options=options)


@pytest.mark.parametrize(
    ("right", "options"), [("b", None), ("2", None), ("", None), ("AB", None), ("2", [["a", "b"]]), ("C", [["a", "b"]])]
)
def test_a_reference_that_is_no_letter_of_an_option_is_refused(load, right, options):
    fault = f"^references: question 0 has the right answer '{right}', not the letter of an option; give a capital"
    with pytest.raises(SpeechIQError, match=fault):
        load("choice").compute(predictions=["B"], references=[right], options=options)


def test_the_similarity_is_that_of_the_level_understand(load, tiny_cascade):
    embedder = tiny_cascade.llm
    found = load("similarity").compute(predictions=HYPOTHESES, references=REFERENCES, embedder=embedder)
    assert found["similarity"] == pytest.approx(similarity(REFERENCES, HYPOTHESES, embedder=embedder))
    pairs = list(zip(REFERENCES, HYPOTHESES, strict=True))
    background, summary = compute_cosines(pairs, read_embedding({"embedder": embedder})).mean(axis=0)
    assert found["similarity_background"] == pytest.approx(background)
    assert found["similarity_summary"] == pytest.approx(summary)


def test_captions_have_one_or_several_references(load):
    captions, single = ["A dog barks.", "Rain"], ["A hound barks.", "Wind"]
    assert load("meteor").compute(predictions=captions, references=single)["meteor"] == meteor(single, captions)
    several = [["A dog barks.", "A hound barks."], ["Wind", "Birds"]]
    assert load("meteor").compute(predictions=captions, references=several)["meteor"] == meteor(several, captions)


def test_an_unknown_module_is_named():
    message = r"^evaluate module 'bleu': unknown; known are wer, similarity, choice, meteor, judge$"
    with pytest.raises(SpeechIQError, match=message):
        path("bleu")


def test_answers_are_judged_as_by_the_filter(load):
    given = {"predictions": ["It is 4.", "no idea", ""], "references": ["four", "five", "six"]}
    found = load("judge").compute(**given, questions=["2 + 2?"] * 3)
    assert found["judge"] == found["exact_match"] == found["empty_answer"] == pytest.approx(1 / 3)
    assert found["judge_points"] == pytest.approx(5 / 3) and math.isnan(found["judge_agreement"])
    with pytest.raises(SpeechIQError, match="questions: 1 texts for 3 answers"):
        load("judge").compute(**given, questions=["2 + 2?"])
    with pytest.raises(SpeechIQError, match="judge_draws=2: judge=exact_match is a rule"):
        load("judge").compute(**given, draws=2)
