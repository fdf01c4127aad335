"""Answers by likelihood: drawn from the scores, or the best score."""

import pytest
import torch

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, Scored
from speechiq.core.usage import since, snapshot
from speechiq.harness_patch.systems.answering import Question, way_of_answering
from tests.engines.opener import build
from tests.records import named

GOLD = "gold+demo:SmolLM2-135M-Instruct"
OPTIONS = ["a fire", "a strike", "a fine", "a price", "None of the above"]


class Scores:
    """A system for which the speech adds `gains`, and silence nothing."""

    def __init__(self, gains):
        self.gains = gains

    def loglikelihood(self, prompts, continuations):
        return [[Scored(-9.0 + gain * bool(prompt.clips), False) for gain in self.gains] for prompt in prompts]


def ask(number):
    return about(named(str(number)))


def about(clip, **settings):
    return Question(Prompt.about("<audio>\nWhat?", [clip]), settings, "What?", tuple(OPTIONS))


def answer(way, gains, seed=0, questions=200):
    return way_of_answering(way, "answer").answer(Scores(gains), [ask(i) for i in range(questions)], 5, seed)


def test_the_best_score_is_the_answer_with_any_seed():
    gains = [0.1, 0.5, 0.4, -1.0, 0.0]
    assert answer("argmax", gains) == answer("argmax", gains, seed=1) == [["B"] * 5] * 200
    assert answer("likelihood", gains) != answer("likelihood", gains, seed=1)


def test_only_equal_scores_are_drawn_from_so_without_audio_the_score_is_chance():
    letters = [letter for row in answer("argmax", [0.0] * 5) for letter in row]
    assert all(150 < letters.count(letter) < 250 for letter in "ABCDE")
    assert {letter for row in answer("argmax", [1.0, 0.0, 1.0, 0.0, 0.0]) for letter in row} == {"A", "C"}


def test_draws_follow_the_softmax_of_the_scores():
    gains = [1.0, 0.0, 0.5, -1.0, 0.2]
    letters = [letter for row in answer("likelihood", gains, questions=2000) for letter in row]
    for letter, share in zip("ABCDE", torch.tensor(gains).softmax(0).tolist(), strict=True):
        assert letters.count(letter) / len(letters) == pytest.approx(share, abs=0.02)


def test_answers_that_end_at_the_limit_are_counted_also_from_the_response_cache(demo_models, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    clip = named("0")
    system = build(GOLD, references={clip: OPTIONS[0]})
    question = about(clip, do_sample=False, max_gen_toks=3)
    for cached in (False, True):
        before = snapshot()
        system.answer([question], 2)
        done = since(before)
        assert done.replies == {"written": 2, "at_limit": 2}
        assert bool(done.usage["prefills"]) is not cached


@pytest.mark.parametrize("way", ["argmax", "generate"])
def test_a_cascade_asks_its_recognizer_once_for_the_clips_of_questions(demo_models, monkeypatch, way):
    texts = dict(zip(map(named, "01"), OPTIONS, strict=False))
    system = build(GOLD, llm_answer=way, references=texts)
    asked, transcribe = [], system.engine.asr.transcribe
    monkeypatch.setattr(
        system.engine.asr, "transcribe", lambda clips, **keep: asked.append(len(clips)) or transcribe(clips, **keep)
    )
    questions = [about(clip, max_gen_toks=2) for clip in texts]
    answers = system.answer(questions, 1)
    assert [answer.coverage for (answer,) in answers] == [1.0, 1.0]
    assert asked == [2] and not system.engine._known
    system.answer(questions[:1], 1)
    assert asked == [2, 1]


def test_what_was_chosen_is_recorded_and_named_in_errors(demo_models):
    system = build(GOLD, llm_answer="argmax")
    assert system.describe()["answering"] == {"way": "argmax", "prompt_version": 1}
    with pytest.raises(SpeechIQError, match=r"^llm_answer=argmax: a question without a clip has no options"):
        system.check([Question(Prompt.about("What?"), {})], 5)
