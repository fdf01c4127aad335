"""Sample files of lm-eval and of lmms-eval."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.imports.harness_samples import LM_EVAL, LMMS_EVAL
from speechiq.reducer.imports.rows import say_once

DATE = "2026-11-27T16-19-18.246316"
LM_EVAL_NAME = f"samples_spoken_qa_{DATE}.jsonl"
LMMS_EVAL_NAME = "20261127_161918_samples_librispeech_test.jsonl"
OPTIONS = ["a cat", "a dog", "a car"]


def make_row(number=0, **changes):
    row = {"doc_id": number, "doc": {"question": "What barks?"}, "target": "a dog", "filtered_resps": ["The dog."]}
    return row | changes


def write(folder, rows, name=LM_EVAL_NAME, **results):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    beside = f"results_{DATE}.json" if name == LM_EVAL_NAME else "20261127_161918_results.json"
    if results:
        (folder / beside).write_text(json.dumps(results))
    return path


def read(path, form=LM_EVAL):
    return [*form.read([path])]


def test_an_answer_with_options(tmp_path):
    doc = {"id": "clip7", "question": "What barks?", "options": OPTIONS, "duration": 3}
    row = make_row(doc=doc, target="B", filtered_resps=["(B) a dog"], metrics=["acc"], acc=1.0)
    (found,) = read(write(tmp_path, [row], model_name="org/model"))
    assert (found.system, found.clip, found.question_id, found.category) == ("org/model", "clip7", "0", "spoken_qa")
    assert (found.question, found.options, found.key, found.answer) == ("What barks?", (*OPTIONS,), "B", "(B) a dog")
    assert found.score is None and found.reference is None and found.duration == 3


@pytest.mark.parametrize(
    ("doc", "names"),
    [({"id": 7}, ("7", "4")), ({"audio_id": "call", "question_id": "q1"}, ("call", "q1")), ({"id": None}, ("4", "4"))],
)
def test_a_question_is_named_by_its_doc_or_its_number(tmp_path, doc, names):
    (found,) = read(write(tmp_path, [make_row(4, doc=doc)]))
    assert (found.clip, found.question_id) == names


@pytest.mark.parametrize(
    ("choices", "target", "key"),
    [
        (OPTIONS, "1", "B"),
        (OPTIONS, "a dog", "a dog"),
        (OPTIONS, "3", "3"),
        ({"text": OPTIONS, "label": ["1", "2", "3"]}, "2", "C"),
        ({"A": "a cat", "B": "a dog"}, "A", "A"),
        (["1", "2"], "1", "1"),
    ],
)
def test_the_right_option_is_a_letter_a_text_or_a_number(tmp_path, choices, target, key):
    (found,) = read(write(tmp_path, [make_row(doc={"choices": choices}, target=target)]))
    assert found.key == key and len(found.options) == len(choices) if isinstance(choices, list) else found.options


def test_likelihoods_of_options_are_no_answer_but_have_a_score(tmp_path):
    likelihoods = [["-12.5", "False"], ["-3.0", "True"]]
    row = make_row(doc={"choices": OPTIONS[:2]}, target="1", filtered_resps=likelihoods, metrics=["acc"], acc=1.0)
    (found,) = read(write(tmp_path, [row]))
    assert (found.answer, found.options, found.score) == (None, (), 1.0)


@pytest.mark.parametrize("response", ["Good day", ["Good day"], [["Good day"]], [["Good day", "Hello"]]])
def test_a_task_with_an_error_rate_of_words_has_transcripts(tmp_path, response):
    row = make_row(target="good day", filtered_resps=response, metrics=["acc", "asr_wer"], asr_wer=0.0, acc=1)
    (found,) = read(write(tmp_path, [row]))
    assert (found.reference, found.transcript, found.score) == ("good day", "Good day", None)
    assert (found.clip, found.question_id) == ("0", None)


def test_the_rows_of_lmms_eval_have_no_doc(tmp_path):
    row = make_row(input="Write what you hear.", wer={"gt": "a dog", "pred": "The dog."}, doc_hash="5e")
    del row["doc"]
    path = write(tmp_path, [row], LMMS_EVAL_NAME, model_name="org/model")
    (found,) = read(path, LMMS_EVAL)
    assert (found.system, found.category, found.clip) == ("org/model", "librispeech_test", "0")
    assert (found.reference, found.transcript) == ("a dog", "The dog.")


def test_an_answer_without_options_has_its_first_metric_from_0_to_1(tmp_path):
    rows = [make_row(0, rating=1, f1=None, match=True), make_row(1, rating=4, f1=0.5, match=False)]
    first, second = read(write(tmp_path, rows, LMMS_EVAL_NAME), LMMS_EVAL)
    assert (first.score, second.score) == (1.0, 0.0)
    assert (first.question, first.key, first.answer) == ("What barks?", "a dog", "The dog.")


@pytest.mark.parametrize("metric", [{"overall": 1.0, "task": "x"}, {"score": "1"}, {"overall": 1, "score": 0}])
def test_a_metric_may_have_parts(tmp_path, metric):
    (found,) = read(write(tmp_path, [make_row(accuracy=metric, submission={"id": 1})], LMMS_EVAL_NAME), LMMS_EVAL)
    assert found.score == 1.0


@pytest.mark.parametrize("name", [LM_EVAL_NAME, LMMS_EVAL_NAME])
def test_a_metric_of_which_less_is_better_is_no_score(tmp_path, capsys, name):
    task, form = ("spoken_qa", LM_EVAL) if name == LM_EVAL_NAME else ("librispeech_test", LMMS_EVAL)
    rows = [make_row(error=1.0, loss=0.1, match=0.0), make_row(1, error=0.0, loss=0.2, match=1.0)]
    directions = {task: {"error": False, "loss": False, "match": None}, "other": {"match": False}}
    path = write(tmp_path, rows, name, higher_is_better=directions)
    say_once.cache_clear()
    assert [row.score for row in read(path, form) + read(path, form)] == [0.0, 1.0] * 2
    assert capsys.readouterr().err == f"siq: the score of task {task!r} is its metric 'match'\n"
    write(tmp_path, rows, name, higher_is_better={task: dict.fromkeys(["error", "loss", "match"], False)})
    assert [row.score for row in read(path, form)] == [None, None] and not capsys.readouterr().err


@pytest.mark.parametrize("metrics", [{"rating": 100}, {"verdict": {"score": 100}}, {"submission": {"task": "x"}}, {}])
def test_an_answer_without_such_a_metric_has_no_score(tmp_path, metrics):
    (found,) = read(write(tmp_path, [make_row(**metrics)], LMMS_EVAL_NAME), LMMS_EVAL)
    assert found.score is None and found.reference is None and found.answer == "The dog."


def test_only_the_rows_of_the_first_filter_are_read(tmp_path):
    rows = [make_row(number, filter=name, metrics=[]) for name in ("strict", "loose") for number in (0, 1)]
    assert [row.question_id for row in read(write(tmp_path, rows))] == ["0", "1"]


@pytest.mark.parametrize("results", [{}, {"model_name": None}, {"model_name": 7}])
def test_without_a_name_in_the_results_the_folder_names_the_system(tmp_path, results):
    (found,) = read(write(tmp_path / "org__model", [make_row()], **results))
    assert found.system == "org__model"


def test_odd_rows_are_yielded_with_what_they_have(tmp_path):
    odd = [make_row(2, target=None), make_row(3, filtered_resps=[]), make_row(4, doc=[1]), {"doc_id": 5}]
    rows = [row | {"metrics": ["wer"]} for row in [make_row(1), *odd]]
    found = read(write(tmp_path, rows))
    assert [row.reference for row in found] == ["a dog", None, "a dog", "a dog", None]
    assert [row.transcript for row in found] == ["The dog.", "The dog.", None, "The dog.", None]


def test_a_file_with_other_columns_is_refused(tmp_path):
    path = write(tmp_path, [{"doc_id": 0, "target": "a"}])
    assert not LM_EVAL.fits(path)
    with pytest.raises(
        SpeechIQError, match=f"{LM_EVAL_NAME}' line 1: no column 'filtered_resps'; it has doc_id, target; n"
    ):
        read(path)
