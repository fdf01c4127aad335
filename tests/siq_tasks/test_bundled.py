"""Test the sets in the package: complete, unchanged, with valid questions that do not reveal their answers."""

from collections import Counter

import pytest

from speechiq.core.recordings.audio_file import PACKAGE, TOLERANCE_S, file_sha256, inspect
from speechiq.metrics.choice import LETTERS
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.loaders.bundled import list_clips
from speechiq.siq_tasks.questions.file import find_question_fault
from speechiq.tools.make_clips import VOICES
from tests.siq_tasks.conftest import read_lines

BUNDLES = sorted(file.parent.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("clips.json"))
CLIPS = list_clips("demo")
QUERIES = list_clips("assistant/demo")
#: File of questions with options -> its lines.
QUESTIONS = {
    f"{bundle}/questions.jsonl": read_lines(PACKAGE / bundle / "questions.jsonl")
    for bundle in BUNDLES
    if "assistant" not in bundle and "wildspeech" not in bundle
}
CHOICES, ANSWERS = (
    {row["id"]: row for row in read_lines(PACKAGE / f"assistant/demo/{name}.jsonl")} for name in ("choose", "answer")
)


@pytest.mark.parametrize("bundle", BUNDLES)
def test_every_clip_is_in_the_package_as_it_was_made(bundle):
    clips = list_clips(bundle)
    for clip in clips:
        file = PACKAGE / clip["path"]
        assert file_sha256(file) == clip["sha256"]
        assert inspect(file, clip["id"]).duration == pytest.approx(clip["duration"], abs=TOLERANCE_S)
    files = {PACKAGE / clip["path"] for clip in clips}
    assert files == set(PACKAGE.joinpath(bundle, "clips").iterdir())
    assert len({clip["id"] for clip in clips}) == len(clips)
    assert sum(file.stat().st_size for file in files) < 1_500_000


@pytest.mark.parametrize("file", QUESTIONS)
def test_letters_are_balanced_and_questions_do_not_give_themselves_away(file):
    questions = QUESTIONS[file]
    assert len({question["question_id"] for question in questions}) == len(questions)
    counts = Counter(question["answer"] for question in questions)
    assert set(counts) == set(LETTERS[:4]) and max(counts.values()) - min(counts.values()) <= 1
    for question in questions:
        assert find_question_fault(question) is None
        right = question["options"][LETTERS.index(question["answer"])]
        assert right.lower() not in question["question"].lower(), question["question_id"]


def test_the_clips_of_the_demo_have_three_questions_each():
    asked = [question["id"] for question in QUESTIONS["demo/questions.jsonl"]]
    assert asked == [clip["id"] for clip in CLIPS for _ in range(3)]


def test_groups_voices_and_noise_of_the_demo_let_systems_differ():
    assert Counter(clip["domain"] for clip in CLIPS) == {"earnings": 4, "parliament": 4, "medical": 4, "human": 2}
    assert len({clip["voice"] for clip in CLIPS}) >= 6
    assert sum(clip["snr_db"] is not None for clip in CLIPS) == 2
    assert sum(clip["duration"] > 30 for clip in CLIPS) >= 3
    assert all(clip["origin"] and clip["licence"] and normalize(clip["text"]) for clip in CLIPS)


def test_kinds_voices_noise_and_letters_of_the_queries_are_mixed():
    assert len(QUERIES) >= 60
    kinds = Counter(clip["kind"] for clip in QUERIES)
    assert set(kinds) == {"entity", "rare", "confusable"} and min(kinds.values()) >= 20
    assert {clip["id"] for clip in QUERIES} == CHOICES.keys() == ANSWERS.keys()
    assert {clip["voice"] for clip in QUERIES} < set(VOICES)
    assert {clip["noise"] for clip in QUERIES} == {None, "white", "babble"}
    assert all((clip["noise"] is None) == (clip["snr_db"] is None) for clip in QUERIES)
    assert 1 / 4 < sum(clip["snr_db"] is not None for clip in QUERIES) / len(QUERIES) < 1 / 2
    assert set(Counter(row["answer"] for row in CHOICES.values()).values()) == {len(QUERIES) // 4}


def test_a_query_has_marked_entities_and_an_answer_that_it_does_not_give_away():
    for clip in QUERIES:
        assert all(entity in clip["text"] for entity in clip["entities"])
        assert bool(clip["entities"]) == (clip["kind"] == "entity")
        choice = CHOICES[clip["id"]]
        options = [normalize(option) for option in choice["options"]]
        right = options[LETTERS.index(choice["answer"])]
        assert len(set(options)) == len(options) == 4
        assert right not in normalize(clip["text"]).split(), clip["id"]
        accepted = [normalize(answer) for answer in ANSWERS[clip["id"]]["accepted"]]
        assert any(answer in right for answer in accepted)
        wrong = [option for option in options if option != right]
        assert not any(answer in option.split() for answer in accepted for option in wrong), clip["id"]
