import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.metrics.choice import LETTERS, NONE_OF_THE_ABOVE
from speechiq.metrics.letters.reading import UNPARSED, parse_letter
from speechiq.siq_tasks.languages.prompts import read_phrases
from speechiq.siq_tasks.loaders.bundled import DEMO
from speechiq.siq_tasks.questions.file import read_questions
from tests.metrics.phrasings import BLOCKS, TONGUES, write_answers, write_own_answers

OPTIONS = ["a factory fire", "higher diesel prices", "a legal fine", "a labour strike", NONE_OF_THE_ABOVE]
HERE = Path(__file__).parent
HARD = json.loads((HERE / "hard_answers.json").read_text())


@pytest.mark.parametrize("case", HARD, ids=lambda case: repr(case[0]))
def test_hard_answers_are_read_as_a_careful_reader_reads_them(case):
    answer, letter, *options = case
    assert parse_letter(answer, options[0] if options else OPTIONS) == letter


@pytest.mark.parametrize("block", BLOCKS)
def test_phrasings_give_no_wrong_letter_and_few_are_unparsed(block):
    answers = list(write_answers(seed=7, rounds=6, blocks=[block]))
    read = [(answer, letter, parse_letter(answer, options)) for answer, letter, options, _ in answers]
    assert [(answer, letter, found) for answer, letter, found in read if found not in (letter, UNPARSED)] == []
    missed = [answer for answer, letter, found in read if found != letter]
    assert len(missed) < 0.05 * len(read), missed[:20]


def test_answers_in_every_language_with_a_prompt_are_tried():
    assert {"en", *TONGUES} == read_phrases().keys()


@pytest.mark.parametrize("language", TONGUES)
def test_phrasings_of_each_language_give_no_wrong_letter_and_few_are_unparsed(language):
    read = [(answer, letter, parse_letter(answer, options)) for answer, letter, options in write_own_answers(language)]
    assert [(answer, letter, found) for answer, letter, found in read if found not in (letter, UNPARSED)] == []
    missed = [answer for answer, letter, found in read if found != letter]
    assert len(missed) < 0.05 * len(read), missed[:20]


def test_options_that_differ_in_a_vowel_sign_alone_are_told_apart():
    options = ["काल", "कील", "कल", "कुल", "उपरोक्त में से कोई नहीं"]
    assert [parse_letter(option, options) for option in options] == list(LETTERS)
    assert parse_letter("कला", options) == UNPARSED


def test_a_sentence_with_unknown_words_of_another_script_claims_no_option():
    """An unknown word may deny."""
    options = ["пожар", "штраф", "забастовка", "дождь", "Ничего из перечисленного"]
    for answer in ["Едва ли штраф.", "Насчёт (B) штраф, думаю, вряд ли.", "Отнюдь не штраф."]:
        assert parse_letter(answer, options) == UNPARSED
    assert parse_letter("Штраф.", options) == parse_letter("(B) штраф", options) == "B"


@given(st.text(max_size=60))
def test_no_answer_gives_anything_but_a_letter_of_an_option_or_unparsed(answer):
    assert parse_letter(answer, OPTIONS) in {*LETTERS, UNPARSED}


@given(
    st.lists(
        st.sampled_from(["A", "(B)", "not", "is", "right", ",", ".", "\n", "so", "wait", "?", "or", "a legal fine"])
    )
)
def test_neither_does_a_heap_of_the_words_that_count(words):
    assert parse_letter(" ".join(words), OPTIONS) in {*LETTERS, UNPARSED}


def test_an_option_inside_a_longer_one_does_not_confuse():
    options = ["oil", "oil spills", "disease", "seals", NONE_OF_THE_ABOVE]
    assert parse_letter("oil spills", options) == "B"
    assert parse_letter("oil", options) == "A"


@pytest.mark.parametrize(
    "unit",
    ["a ", "(A) ", "B, ", "A or B ", "not ", "not sure ", "to the question ", "[[", '{"answer": ', "<b>", "\\boxed{",
     " '", "*", "。", "\n", "- ", "A:", "higher diesel ", "answer is ", "no wait ", "<answer>", "答案"],
)  # fmt: skip
def test_the_cost_grows_with_the_length_of_the_answer_and_not_with_its_square(unit):
    def seconds(length: int) -> float:
        answer = (unit * length)[:length]
        started = time.process_time()
        parse_letter(answer, OPTIONS)
        return time.process_time() - started

    short, long = (min(seconds(length) for _ in range(2)) for length in (2_000, 32_000))
    assert long < 16 * 6 * max(short, 0.001)


@pytest.mark.parametrize(
    ("batch", "wrong", "unread", "with_letter"),
    [(1, 0, 4, 158), (2, 0, 7, 75), (3, 0, 1, 46), (4, 0, 3, 52),
     (5, 0, 6, 154), (6, 0, 5, 154), (7, 0, 8, 154), (8, 4, 20, 154)],
)  # fmt: skip
def test_fresh_answers_are_read_as_often_as_the_docs_say(batch, wrong, unread, with_letter):
    """Batch 8 was read once, after the last change of the rules, so its errors are those of new wording."""
    lines = (HERE / "fresh_answers.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["batch"] == batch]
    read = [(row["answer"], row["letter"], parse_letter(row["answer"], row["options"])) for row in rows]
    misread = [row for row in read if row[2] not in (row[1], UNPARSED)]
    assert len(misread) == wrong, misread
    missed = [row for row in read if row[1] != UNPARSED == row[2]]
    assert (len(missed), sum(letter != UNPARSED for _, letter, _ in read)) == (unread, with_letter), missed


def test_a_letter_in_unknown_words_is_left_open():
    for answer in [
        "The zookeeper reckons on B.",
        "In my neighbour's opinion, B.",
        "For the drivers B.",
        "Option B crops up.",
    ]:
        assert parse_letter(answer, OPTIONS) == UNPARSED
    assert parse_letter("The zookeeper reckons on B. So the answer is A.", OPTIONS) == "A"


def test_answers_of_real_models_are_read_as_a_person_read_them():
    """Answers of SmolLM2-135M-Instruct and gemma-3-270m to the demo's questions, judged by hand."""
    options = {
        row["question_id"]: [*row["options"], NONE_OF_THE_ABOVE] for row in read_questions(DEMO / "questions.jsonl")
    }
    rows = [json.loads(line) for line in (HERE / "model_answers.jsonl").read_text(encoding="utf-8").splitlines()]
    read = [(row["answer"], row["letter"], parse_letter(row["answer"], options[row["question"]])) for row in rows]
    assert [(answer, letter, found) for answer, letter, found in read if found not in (letter, UNPARSED)] == []
    judged = [letter == found for _, letter, found in read if letter != UNPARSED]
    assert judged.count(False) < 0.05 * len(judged)
