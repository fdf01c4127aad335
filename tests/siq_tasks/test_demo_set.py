import json
from collections import Counter

import pytest

from speechiq.metrics.choice import LETTERS
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.loaders.bundled import DEMO

CLIPS = json.loads(DEMO.joinpath("clips.json").read_text(encoding="utf-8"))
QUESTIONS = [json.loads(line) for line in DEMO.joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()]


def test_every_clip_is_in_the_package_as_it_was_made(demo_clips):
    for clip in demo_clips:
        clip.source.check(clip.offset, clip.length)
    assert {clip.source.file for clip in demo_clips} == set(DEMO.joinpath("clips").iterdir())


def test_three_groups_several_voices_and_noise_let_systems_differ():
    assert Counter(clip["domain"] for clip in CLIPS) == {
        "earnings": 4,
        "parliament": 4,
        "medical": 4,
        "human": 2,
    }
    assert len({clip["voice"] for clip in CLIPS}) >= 6
    assert sum(clip["snr_db"] is not None for clip in CLIPS) == 2
    assert sum(clip["duration"] > 30 for clip in CLIPS) >= 3


def test_every_clip_says_where_it_comes_from():
    assert all(clip["origin"] and clip["licence"] and normalize(clip["text"]) for clip in CLIPS)


def test_three_questions_a_clip_with_balanced_letters():
    assert [question["id"] for question in QUESTIONS] == [clip["id"] for clip in CLIPS for _ in range(3)]
    assert len({question["question_id"] for question in QUESTIONS}) == len(QUESTIONS)
    counts = Counter(question["answer"] for question in QUESTIONS)
    assert set(counts) == set(LETTERS[:4]) and max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["question_id"])
def test_a_question_has_four_different_options_and_does_not_give_itself_away(question):
    options = [option.lower() for option in question["options"]]
    assert len(set(options)) == 4
    assert options[LETTERS.index(question["answer"])] not in question["question"].lower()
