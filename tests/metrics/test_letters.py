# ruff: noqa: E501  (answers of models are long)
"""The letter of an answer, in the forms in which audio models give it, and how often the rules err on hard wordings."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speechiq.metrics.choice import LETTERS, NONE_OF_THE_ABOVE
from speechiq.metrics.letters.reading import UNPARSED, parse_letter
from speechiq.siq_tasks.conditions.prompts import read_phrases
from speechiq.siq_tasks.loaders.bundled import DEMO
from speechiq.siq_tasks.questions.file import read_questions
from tests.metrics.phrasings import TONGUES, write_answers, write_own_answers

HERE = Path(__file__).parent
OPTIONS = ["a factory fire", "higher diesel prices", "a legal fine", "a labour strike", NONE_OF_THE_ABOVE]
FOUR = OPTIONS[:4]
CHURCH = ["Church", "School", "Clock tower", "Fire station"]
#: Answers with a letter: text, letter, and the options if they are not `FOUR`.
CLEAR = [
    ("B", "B"),
    ("(B)", "B"),
    ("**B**", "B"),
    ("\\boxed{B}", "B"),
    ('{"answer": "B"}', "B"),
    ('```json\n{"reason": "A is not named", "answer": "(B) higher diesel prices"}\n```', "B"),
    ("(B) higher diesel prices", "B"),
    ("(B) The price didn't fall.", "B"),
    ("The answer is (B) The price didn't fall.", "B"),
    ("The answer is B", "B"),
    (
        "The answer to 'Why did the margin fall? Choices: (A) a factory fire (B) higher diesel prices (C) a legal fine (D) a labour strike' is: B",
        "B",
    ),
    ("In reply to 'Why did the margin fall?', the answer is: B", "B"),
    ("The correct answer of 'Why did it fall?' is: It fell because of higher diesel prices.", "B"),
    ("The speaker blames fuel, so the correct option is (B).", "B"),
    ("Higher diesel prices.", "B"),
    ("It fell due to the higher diesel prices (B).", "B"),
    ("The reason given is (B) higher diesel prices. Neither a fire nor a strike is mentioned.", "B"),
    ("B\nmodel", "B"),
    ("- A: not mentioned\n- B: mentioned twice\n- C: not mentioned\n- D: not mentioned\n\n**Final answer: B**", "B"),
    ("The answer is B. Upon closer listening, the answer is D.", "D"),
    ("The answer is A.\n\nWait, the speaker says diesel. The answer is B.", "B"),
    ("The area is $\\boxed{A}=5$. Answer: D", "D"),
    ("\\boxed{A}\n\nLet me check again. \\boxed{B}", "B"),
    ("While B is true, it is D that caused the delay.", "D"),
    ("Either A or B fits, but the answer is B.", "B"),
    ("The speaker was not talking about a legal fine but about higher diesel prices.", "B"),
    ("It was not a legal fine. It was higher diesel prices.", "B"),
    ("None of these.", "E", OPTIONS),
    ("We can hear three knocks.", "C", ["1", "2", "3", "4"]),
    ("There are 3 speakers.", "B", ["Two", "Three", "Four"]),
    ("The speaker is a woman.", "A", ["Woman", "Man"]),
    ("The speaker is female.", "B", ["Male", "Female"]),
    ("The conversation takes place in an office setting.", "A", ["In an office", "In a shop"]),
    ("(C) The movie will not be shown.", "C", ["They want to buy it.", "It was sold.", "It was stopped."]),
    ("答案是B。", "B"),
    ("Die richtige Antwort ist B.", "B"),
    ("It sounds like a woman speaking.", "A", ["Woman", "Man"]),
    ("The audio contains the sound of a dog barking, which suggests the answer is (A).", "A", ["Dog", "Cat"]),
    ("The correct answer is (B) because the speaker mentions it; (A) is incorrect as it refers to last year.", "B"),
    ("The emotion conveyed by the speaker is happiness. Therefore, the correct option is:\n\n(C) a legal fine", "C"),
    ("Sure! The answer is:\n\n**B) higher diesel prices**\n\nLet me know if you need anything else!", "B"),
    (
        "Answer: (B) higher diesel prices\n\nExplanation: The speaker explicitly says that diesel prices rose, not that there was a labour strike.",
        "B",
    ),
    (
        "The options are: (A) a factory fire, (B) higher diesel prices, (C) a legal fine, (D) a labour strike. The speaker says fuel. So (B).",
        "B",
    ),
    ("Based on the conversation, the most appropriate answer is (D) a labour strike, as both A and B are denied.", "D"),
    ("The speaker does mention a labour strike, but the correct answer is (B) higher diesel prices.", "B"),
    ("B\n\nQuestion: What else?\nAnswer: A", "B"),
    ("(A) is the most likely option. However, without more context it's hard to say.", "A"),
    ("It is difficult to determine, but the most likely answer is (C).", "C"),
    ("I'm sorry, but I can't hear it well. However, based on the context, the answer is (C).", "C"),
    ("There are no church bells; it is a school.", "B", CHURCH),
    ("It's hard to tell, but I'd say it's a school.", "B", CHURCH),
    ("The bells belong neither to a church nor to a school, they are in a clock tower.", "C", CHURCH),
    ("No, he doesn't.", "B", ["Yes", "No"]),
    ("I think it's a school rather than a church.", "B", CHURCH),
    (
        "Let's analyze the options. (A) a factory fire is not mentioned. (B) higher diesel prices are mentioned. (C) a legal fine is not mentioned. (D) a labour strike is not mentioned. So the answer is (B).",
        "B",
    ),
    ("(A) a factory fire - incorrect\n(B) higher diesel prices - correct\n(C) a legal fine - incorrect", "B"),
    ("The statement is true, so (A).", "A", ["True", "False"]),
    ("The speaker is in his 30s, (B).", "B"),
    ("oil spills", "B", ["oil", "oil spills", "disease", "seals", NONE_OF_THE_ABOVE]),
    ("oil", "A", ["oil", "oil spills", "disease", "seals", NONE_OF_THE_ABOVE]),
]
#: Answers without a letter to `FOUR`, to `CHURCH` and to other options.
OPEN = [
    "Speaker A: Good morning.\nSpeaker B: Good morning, how are you?",
    "A: Good morning. B: Hello.\nA: How are you?",
    "Person A says hello to Person B.",
    "<reasoning>The answer is B because",
    "<think>A or B?</think>",
    "(A) a factory fire (B) higher diesel prices (C) a legal fine (D) a labour strike",
    "A. a factory fire\nB. higher diesel prices\nC. a legal fine\nD. a labour strike",
    "It could be a legal fine or a labour strike.",
    "Both (A) and (B).",
    "The answer is A or B.",
    "Is it B? I do not know.",
    "",
    "I don't know.",
    "The answer is F.",
    "They discuss the weather.",
    "(B) a legal fine",
    "They mention a labour strike, also higher diesel prices.",
    "A plan was made.",
    "The key is C minor.",
    "The audio is in a language other than English.",
    "The provided audio doesn't contain any speech, so none of the options can be selected.",
]
OPEN_CHURCH = [
    "I'm unable to identify the source of the church bells.",
    "Sorry, I can't listen to audio, so I don't know if it is a church.",
    "I cannot process audio. A church would have bells.",
    "As an AI language model, I do not have access to the recording. Could you describe the bells of the church?",
    "Without the audio, I cannot answer. Please provide the recording of the school.",
    "The recording does not say whether it was a church or a school.",
    "It is impossible to say whether B is right.",
    "The source of the bells is not specified as a church.",
    "Insufficient information. The audio has no church bells.",
    "The speaker's voice sounds like that of a school teacher at a church.",
    "I did not hear a church.",
]
OPEN_OTHERS = [
    ("I can't hear the recording, but if a storm was mentioned, B would be right.", ["a flood", "a storm"]),
    ("The answer is none of the choices (A) Four, (B) Three.", ["Four", "Three", "Two"]),
    ("none of the choices (A) Four, (B) Three, (C) Two is right", ["Four", "Three", "Two"]),
]


@pytest.mark.parametrize("case", CLEAR, ids=str)
def test_a_clear_answer_has_its_letter(case):
    answer, letter, *options = case
    assert parse_letter(answer, *options or [FOUR]) == letter


VERBS = [
    "follows", "describes", "sounds right", "represents", "aligns", "contains", "uses", "captures", "reflects",
    "answers", "appears", "works", "makes sense", "corresponds", "shows", "gives", "refers", "expresses",
]  # fmt: skip
SOUNDS = [f"sound {number}" for number in range(1, 16)]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("noun", ["Option", "Choice", "So I think option"])
def test_behind_a_word_for_options_every_letter_is_read_whatever_follows(noun, verb):
    assert [parse_letter(f"{noun} {letter} {verb}.", SOUNDS) for letter in "ABCDEINO"] == list("ABCDEINO")
    assert parse_letter(f"Sentence A {verb}.", SOUNDS) == "A"


def test_a_pronoun_behind_the_option_is_no_letter():
    assert parse_letter("The option I find best is B.", SOUNDS) == "B"


@pytest.mark.parametrize(
    ("answer", "options"),
    [*((answer, FOUR) for answer in OPEN), *((answer, CHURCH) for answer in OPEN_CHURCH), *OPEN_OTHERS],
)
def test_refusals_conditions_dialogues_and_lists_have_none(answer, options):
    assert parse_letter(answer, options) == UNPARSED


def read_hard():
    for answer, letter, *options in json.loads((HERE / "hard_answers.json").read_text(encoding="utf-8")):
        yield answer, letter, options[0] if options else OPTIONS


def read_fresh():
    for row in map(json.loads, (HERE / "fresh_answers.jsonl").read_text(encoding="utf-8").splitlines()):
        yield row["answer"], row["letter"], row["options"]


def read_models():
    """Yield answers of SmolLM2-135M-Instruct and gemma-3-270m to the demo's questions, judged by hand."""
    questions = read_questions(DEMO / "questions.jsonl")
    options = {row["question_id"]: [*row["options"], NONE_OF_THE_ABOVE] for row in questions}
    for row in map(json.loads, (HERE / "model_answers.jsonl").read_text(encoding="utf-8").splitlines()):
        yield row["answer"], row["letter"], options[row["question"]]


def read_phrasings():
    for answer, letter, options, _ in write_answers(seed=7, rounds=2):
        yield answer, letter, options


def read_languages():
    for language in TONGUES:
        yield from write_own_answers(language)


@pytest.mark.parametrize(
    ("read", "answers", "wrong", "unread"),
    [
        (read_models, 160, 7, 3),
        (read_hard, 300, 8, 15),
        (read_fresh, 1235, 71, 128),
        (read_phrasings, 2096, 93, 137),
        (read_languages, 12180, 174, 36),
    ],
)
def test_the_benchmark_of_hard_wordings_is_read_as_often_as_the_docs_say(read, answers, wrong, unread):
    """The figures of docs/concepts/levels.md: real answers are simpler."""
    rows = [(letter, parse_letter(answer, options)) for answer, letter, options in read()]
    misread = sum(found not in (letter, UNPARSED) for letter, found in rows)
    missed = sum(letter != found == UNPARSED for letter, found in rows)
    assert (len(rows), misread, missed) == (answers, wrong, unread)


def test_answers_in_every_language_with_a_prompt_are_tried():
    assert {"en", *TONGUES} == read_phrases().keys()


def test_options_that_differ_in_a_vowel_sign_alone_are_told_apart():
    options = ["काल", "कील", "कल", "कुल", "उपरोक्त में से कोई नहीं"]
    assert [parse_letter(option, options) for option in options] == list(LETTERS)
    assert parse_letter("कला", options) == UNPARSED


def test_an_answer_that_repeats_the_speech_names_no_option_by_its_words():
    speech = "We closed the year with a loss, and I want to say why. " * 8
    assert parse_letter(speech + "In March we paid a legal fine.", FOUR) == UNPARSED
    assert parse_letter(speech + "The answer is a legal fine.", FOUR) == "C"


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


@pytest.mark.parametrize(
    "unit",
    ["a ", "(A) ", "B, ", "A or B ", "not ", "not sure ", "to the question ", "[[", '{"answer": ', "<b>", "\\boxed{",
     " '", "*", "。", "\n", "- ", "A:", "higher diesel ", "answer is ", "no wait ", "<answer>", "答案", "to 'A",
     "<B>", "<think>", "(", "the "],
)  # fmt: skip
def test_the_cost_grows_with_the_length_of_the_answer_and_not_with_its_square(unit):
    def seconds(length: int) -> float:
        answer = (unit * length)[:length]
        started = time.process_time()
        parse_letter(answer, OPTIONS)
        return time.process_time() - started

    short, long = (min(seconds(length) for _ in range(2)) for length in (2_000, 32_000))
    assert long < 16 * 6 * max(short, 0.001)
