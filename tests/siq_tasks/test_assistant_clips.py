"""Test the bundled queries: audio, entities and answers."""

import json
from collections import Counter

import pytest

from speechiq.core.recordings.audio_file import PACKAGE, AudioFile
from speechiq.metrics.choice import LETTERS
from speechiq.metrics.words.normalizer import normalize
from speechiq.tools.make_clips import VOICES

HERE = PACKAGE / "assistant" / "demo"
CLIPS = json.loads(HERE.joinpath("clips.json").read_text(encoding="utf-8"))
CHOICES, ANSWERS = (
    {row["id"]: row for row in map(json.loads, HERE.joinpath(f"{name}.jsonl").read_text(encoding="utf-8").splitlines())}
    for name in ("choose", "answer")
)


def test_every_clip_is_in_the_package_as_it_was_made():
    for clip in CLIPS:
        AudioFile(f"assistant/demo/{clip['file']}", clip["sha256"]).check(0.0, clip["duration"])
    files = {HERE / clip["file"] for clip in CLIPS}
    assert files == set(HERE.joinpath("clips").iterdir())
    assert sum(file.stat().st_size for file in files) < 1_500_000


def test_kinds_voices_noise_and_letters_are_mixed():
    assert len({clip["id"] for clip in CLIPS}) == len(CLIPS) >= 60
    kinds = Counter(clip["kind"] for clip in CLIPS)
    assert set(kinds) == {"entity", "rare", "confusable"} and min(kinds.values()) >= 20
    assert {clip["id"] for clip in CLIPS} == CHOICES.keys() == ANSWERS.keys()
    assert {clip["voice"] for clip in CLIPS} < set(VOICES)
    assert {clip["noise"] for clip in CLIPS} == {None, "white", "babble"}
    assert all((clip["noise"] is None) == (clip["snr_db"] is None) for clip in CLIPS)
    assert 1 / 4 < sum(clip["snr_db"] is not None for clip in CLIPS) / len(CLIPS) < 1 / 2
    assert set(Counter(row["answer"] for row in CHOICES.values()).values()) == {len(CLIPS) // 4}


@pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip["id"])
def test_a_query_has_marked_entities_and_an_answer_that_it_does_not_give_away(clip):
    assert all(entity in clip["text"] for entity in clip["entities"])
    assert bool(clip["entities"]) == (clip["kind"] == "entity")
    choice = CHOICES[clip["id"]]
    options = [normalize(option) for option in choice["options"]]
    right = options[LETTERS.index(choice["answer"])]
    assert len(set(options)) == len(options) == 4
    assert right not in normalize(clip["text"]).split()
    accepted = [normalize(answer) for answer in ANSWERS[clip["id"]]["accepted"]]
    assert any(answer in right for answer in accepted)
    wrong = [option for option in options if option != right]
    assert not any(answer in option.split() for answer in accepted for option in wrong)
