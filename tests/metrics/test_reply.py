"""Spoken replies: what is transcribed, judged, rated and kept in sample rows."""

import json
import math

import numpy as np
import pytest

from speechiq.core.clip import file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import CarryingText, Response
from speechiq.core.usage import usage
from speechiq.engines._shared.speech import as_speech
from speechiq.metrics import reply
from speechiq.metrics.judge.judging import Judgment
from speechiq.metrics.reply import rate, read_settings
from speechiq.metrics.reply_asr import find_audible, open_reply_asr, transcribe_replies
from speechiq.reducer.runs.judged import read_item, read_stored
from speechiq.siq_tasks.loaders import bundled

ASR = "pocketsphinx:en-us"
GERMAN = "Der Zug fährt um acht Uhr ab, bitte sehr."


@pytest.fixture(scope="module")
def clean():
    """A bundled clip of a clear voice, and its words."""
    clip = next(clip for clip in bundled.list_clips("wildspeech/demo") if clip["id"] == "demo_reply/leap")
    return file_clip(clip), clip["text"]


def docs(count, **doc):
    settings = read_settings({"reply_asr": ASR, "speech_quality": "off"})
    return [{"id": f"a/{i}", "question": "Why?", "keywords": ["leap years"], **settings, **doc} for i in range(count)]


def answers(*responses):
    return [CarryingText(response) for response in responses]


def score(items, asked):
    return [reply.score(doc, [item]) for doc, item in zip(asked, items, strict=True)]


@pytest.mark.slow
def test_said_written_and_silent_replies_are_scored_and_kept_as_json(clean):
    clip, text = clean
    noise = np.random.default_rng(0).standard_normal(len(clip.samples)) * np.std(clip.samples)
    noisy = as_speech(clip.samples + noise, 16_000, "")
    silent = as_speech(np.full(16_000, math.nan), 16_000, "")
    asked = docs(5)
    spoken = [Response(text, sound) for sound in (clip, noisy, silent)]
    items = reply.Reply().apply(answers(*spoken, Response(text), Response("", silent)), asked)
    clear, drowned, mute, typed, nothing = score(items, asked)
    assert clear["speech_text_wer"] < 0.4 and drowned["speech_text_wer"] > clear["speech_text_wer"] + 0.3
    assert clear["spoken"] == 1 and clear["response_seconds"] == pytest.approx(clip.duration)
    assert mute["silent"] == 1 and mute["judge_points"] == 1 and mute["speech_gap"] == -9
    assert mute["speech_text_wer"] == 1 and math.isnan(mute["speech_quality"])
    assert typed["spoken"] == 0 and typed["judge_points"] == typed["text_score"] == 10
    assert all(math.isnan(typed[name]) for name in ("speech_gap", "speech_text_wer", "response_seconds"))
    assert nothing["judge_points"] == 1 and nothing["empty_answer"] == 1 and math.isnan(nothing["speech_text_wer"])
    rows = [json.loads(str(item)) for item in items]
    assert rows[0]["audio"]["sha256"] == clip.source.sha256 and rows[3]["audio"] is None
    assert [read_stored([str(item)]).answer for item in items] == [row["answer"] for row in rows]


def test_a_stored_reply_is_judged_again_by_its_texts():
    item = {"answer": "said", "written": "wrote", "audio": {"path": "a", "sha256": "0a", "duration": 2.0}}
    item |= {"scores": [1.0], "texts": [""], "scores_written": [1.0], "texts_written": [""], "speech_quality": 3.5}
    stored = read_item([str(reply.JudgedItem(item | {"coverage": math.nan}))])
    asked = docs(1)[0] | {"checklist": "Is kind."}
    cases = reply.stored_cases(asked, stored)
    assert [(case.answer, case.checklist) for case in cases] == [("said", "Is kind."), ("wrote", "Is kind.")]
    again = reply.renew(stored, [Judgment((4.0, math.nan), ("4", "?")), Judgment((8.0, 6.0), ("8", "6"))])
    row = reply.score(asked, [again])
    assert (row["judge_points"], row["text_score"], row["speech_gap"]) == (4.0, 7.0, -3.0)
    assert row["speech_quality"] == 3.5 and again["audio"] == item["audio"] and again["scores"] == [4.0, None]


def test_another_language_and_a_long_reply_are_flagged():
    item = {"written": "", "audio": None, "scores": [None], "texts": [""], "scores_written": [None]}
    item |= {"texts_written": [""], "speech_quality": None, "coverage": 1.0}
    said = (GERMAN, "word " * 2000)
    german, long = (reply.score(docs(1)[0], [item | {"answer": answer}]) for answer in said)
    assert german["not_english"] == 1 and german["unjudged"] == 1 and math.isnan(german["judge"])
    assert long["answer_words"] == 2000 and long["not_english"] == 0


@pytest.mark.parametrize(
    ("rule", "said", "wrote", "points"),
    [
        ("lowest", GERMAN, "The train leaves at eight.", (1.0, 8.0, -7.0)),
        ("lowest", "The train leaves at eight.", GERMAN, (6.0, 1.0, 5.0)),
        ("lowest", "Ja.", "Ja.", (6.0, 8.0, -2.0)),
        ("off", GERMAN, GERMAN, (6.0, 8.0, -2.0)),
        (None, GERMAN, GERMAN, (6.0, 8.0, -2.0)),
    ],
)
def test_another_language_gets_the_lowest_points_by_the_rule_alone(rule, said, wrote, points):
    item = {"answer": said, "written": wrote, "audio": {"duration": 2.0}, "scores": [6.0], "texts": ["6"]}
    item |= {"scores_written": [8.0], "texts_written": ["8"], "speech_quality": None, "coverage": 1.0}
    settings = read_settings({"reply_asr": ASR, "speech_quality": "off", "language_rule": rule})
    assert settings.get("language_rule") == ("lowest" if rule == "lowest" else None)
    doc = docs(1)[0] | settings
    row = reply.score(doc, [item])
    assert (row["judge_points"], row["text_score"], row["speech_gap"]) == points
    unread = reply.score(doc, [item | {"scores": [None]}])
    assert unread["unjudged"] == (points[0] != 1)
    assert row["judge"] == pytest.approx((points[0] - 1) / 9)


def test_a_rule_is_recorded_and_holds_for_replies_that_are_judged_again():
    asked = docs(1)[0] | {"language_rule": "lowest"}
    item = {"answer": GERMAN, "written": GERMAN, "audio": None, "speech_quality": None, "coverage": 1.0}
    again = reply.renew(item, [Judgment((9.0,), ("9",)), Judgment((9.0,), ("9",))])
    assert reply.score(asked, [again])["judge_points"] == 1.0 and again["scores"] == [9.0]


def test_without_keywords_there_is_no_match_and_no_score_by_rule():
    asked = docs(1, keywords=[])
    assert reply.Reply().apply([], []) == []
    (row,) = score(reply.Reply().apply(answers(Response("Yes.")), asked), asked)
    assert math.isnan(row["keyword_share"]) and row["unjudged"] == 1


def test_equal_settings_share_a_recognizer_and_one_without_an_identity_is_not_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    opened = open_reply_asr(ASR, {})
    assert open_reply_asr(ASR, {}) is opened and opened.cache.folder.parent == tmp_path
    assert opened.cache.stage.items() > {"stage": "reply transcript", "model": "en-us"}.items()
    assert open_reply_asr("silence:", {}).cache.folder is None


def test_a_transcript_of_another_process_is_kept_once_and_silence_is_never_transcribed(clean, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    before, silent = usage["asr_clips"], as_speech(np.zeros(16_000), 16_000, "")
    given = [Response("", clean[0]), Response("", silent), Response(""), Response("", clean[0])]
    replies = find_audible([*docs(3), {}], given)
    assert list(replies) == [0]
    replies[0].keep(["leap years"])
    assert transcribe_replies(list(replies.values())) == [["leap years"]] and usage["asr_clips"] == before
    replies[0].keep(["something else"])
    (file,) = tmp_path.rglob("*.jsonl")
    assert len(file.read_text().splitlines()) == 1


BAD = {
    "an engine": (
        {"reply_asr": "sphinx:en"},
        "reply_asr=sphinx:en: no recognizer engine 'sphinx'; did you mean pocketsphinx",
    ),
    "a model": ({"reply_asr": "demo:no-such"}, "demo:no-such: no such demo model"),
    "no name": ({"reply_asr": ""}, "reply_asr=: not a text"),
    "references": ({"reply_asr": "gold:"}, "reply_asr=gold:: does not listen to audio"),
    "a rater": ({"speech_quality": "utmso:a.pt"}, "utmso:a.pt: unknown; did you mean utmos? known are distillmos, utm"),
    "no weights": ({"speech_quality": "utmos"}, "names no weights; download utmos22_strong_step7459_v1.pt from https:"),
    "a file": ({"speech_quality": "distillmos:a.pt"}, "takes no file; write speech_quality=distillmos"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_settings_that_cannot_work_are_refused_before_any_system_runs(change, message):
    with pytest.raises(SpeechIQError) as refused:
        read_settings({"reply_asr": ASR, "speech_quality": "off"} | change)
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_the_rating_needs_its_model(monkeypatch, tmp_path):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    with pytest.raises(SpeechIQError, match="run `siq demo fetch distillmos`"):
        read_settings({"reply_asr": ASR})


@pytest.mark.parametrize("samples", [np.zeros(16_000), np.ones(100), np.full(16_000, np.nan)])
def test_silence_has_no_quality(samples):
    assert rate(samples.astype(np.float32), None) is None
