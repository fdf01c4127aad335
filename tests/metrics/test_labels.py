"""The label of an answer is the only one that it names and does not deny."""

import pytest
from lm_eval.tasks._yaml_loader import load_yaml

from speechiq.metrics.letters.labels import UNPARSED, parse_label
from speechiq.siq_tasks.index import HERE

LABELS = {
    "joy": ["happy", "joyful", "happiness"],
    "anger": ["angry", "furious"],
    "sadness": ["sad"],
    "neutral": ["neutral state", "calm"],
}
READ = [
    ("not angry but sad", "sadness"),
    ("neither happy nor sad; neutral", "neutral"),
    ("Neither happy nor sad, neutral.", "neutral"),
    ("not happy, sad or angry, just neutral", "neutral"),
    ("No, she is happy.", "joy"),
    ("She does not sound angry, she sounds sad.", "sadness"),
    ("There is no sign of anger or joy. Calm.", "neutral"),
    ("She isn't angry; she's sad.", "sadness"),
    ("I wouldn't say happy, I'd say sad.", "sadness"),
    ("sad rather than angry", "sadness"),
    ("more sad than angry", "sadness"),
    ("**Sad**, not *angry*", "sadness"),
    ("Anger is not present. Sadness.", "sadness"),
    ("Anger is absent, sadness is clear.", "sadness"),
    ("Happy? No. Sad.", "sadness"),
    ("Without doubt angry.", "anger"),
    ("No doubt angry.", "anger"),
    ("nothing but sadness", "sadness"),
    ("anything but happy: sad", "sadness"),
    ("The speaker lacks happiness and is sad.", "sadness"),
    ("The speaker shows a lack of joy, so neutral.", "neutral"),
    ("I can't hear any music but she is happy.", "joy"),
    ("Not sure, maybe happy.", "joy"),
    ("neutral state", "neutral"),
    ("not only sad", "sadness"),
]
UNREAD = (
    "lacks happiness", "not happy", "without any anger", "not happy and sad", "neither angry nor sad",
    "not only sad but angry", "happy or sad", "not angry but sad or happy", "unhappy", "I can't tell.", "",
)  # fmt: skip


@pytest.mark.parametrize(("answer", "label"), [*READ, *((answer, UNPARSED) for answer in UNREAD)])
def test_a_denial_ends_with_its_clause_and_one_of_all_or_several_labels_give_none(answer, label):
    assert parse_label(answer, LABELS) == label


YES_NO = {"yes": [], "no": []}
PLAUSIBLE = {"yes": ["plausible"], "no": ["not plausible", "implausible"]}
VALID = {"valid": ["deductively valid"], "invalid": ["not valid"]}
GENDER = {"male": ["man"], "female": ["woman"]}
STATED = [
    (YES_NO, "Yes, you return to the starting point, because there is no net displacement.", "yes"),
    (YES_NO, "There is no net movement, so the answer is yes.", "yes"),
    (YES_NO, "Step 1: no turn. Step 2: none. Final answer: Yes.", "yes"),
    (YES_NO, "Step 1: no turn.\nStep 2: none.\n\n**Final answer:** Yes\n", "yes"),
    (YES_NO, "Answer: Yes. No further steps are needed.", "yes"),
    (YES_NO, "Yes. Wait, one step is missing: the answer is no.", "no"),
    (YES_NO, "No, you do not.", "no"),
    (YES_NO, "no you do not return", "no"),
    (YES_NO, "The answer is no because you move three steps.", "no"),
    (YES_NO, "You take four steps. So no, you are elsewhere.", "no"),
    (YES_NO, "Is the answer yes? No.", "no"),
    (YES_NO, "The answer is not yes.", "no"),
    (YES_NO, "There is no net movement.", UNPARSED),
    (YES_NO, "The answer is yes or no.", UNPARSED),
    (YES_NO, "Yes and no.", UNPARSED),
    (PLAUSIBLE, "It is not very plausible.", "no"),
    (PLAUSIBLE, "It doesn't seem plausible.", "no"),
    (PLAUSIBLE, "Yes, that is plausible, since no rule forbids it.", "yes"),
    (VALID, "The argument is invalid. A valid argument would need another premise.", "invalid"),
    (VALID, "Let us check whether it is valid or invalid. A is B. So the argument is valid.", "valid"),
    (VALID, "Let us check whether it is valid. The premises do not imply it; it is invalid.", "invalid"),
    (VALID, "The answer is invalid because a valid argument would need more.", "invalid"),
    (VALID, "The argument is not only valid but sound.", "valid"),
    (VALID, "Valid or invalid?", UNPARSED),
    (GENDER, "The speaker is a man. A woman laughs behind him.", "male"),
    (GENDER, "not a man or a woman", UNPARSED),
    (LABELS, "Happy, but also sad.", UNPARSED),
    (LABELS, "The answer is sad with a touch of anger.", "sadness"),
]


@pytest.mark.parametrize(("labels", "answer", "label"), STATED)
def test_a_label_that_is_stated_counts_before_others_that_are_named(labels, answer, label):
    assert parse_label(answer, labels) == label


@pytest.mark.parametrize(
    ("task", "answer", "label"),
    [
        ("meld_sentiment", "happy", "positive"),
        ("meld_sentiment", "The speaker sounds annoyed.", "negative"),
        ("meld_sentiment", "unhappy", "negative"),
        ("meld_emotion", "She is delighted.", "joy"),
        ("iemocap_emotion", "irritated", "frustration"),
        ("voxceleb_accent", "The speaker is English.", "UK"),
        ("voxceleb_accent", "An American English accent.", "USA"),
        ("voxceleb_accent", "English with an Indian accent", "India"),
        ("voxceleb_accent", "The language is English.", UNPARSED),
    ],
)
def test_the_labels_of_a_task_have_the_words_that_people_use_for_them(task, answer, label):
    file = HERE / "audiobench" / "voices" / f"audiobench_{task}.yaml"
    assert parse_label(answer, load_yaml(file, resolve_func=False)["metadata"]["labels"]) == label
