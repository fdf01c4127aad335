"""Conditions and variants: what `--metadata condition=` and `listen=` do to the docs of a task, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os

import numpy as np
import pytest
import soundfile
from datasets import Dataset

from speechiq.core.clip import SAMPLING_RATE, as_clip, file_clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.transforms import read_transforms
from speechiq.siq_tasks.conditions.apply import check_listen, with_condition, with_listen
from speechiq.siq_tasks.conditions.spec import KINDS, MUTED, SWAPPED, TEXT, parse_condition, write_condition
from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.loaders.content import digest_content
from speechiq.siq_tasks.settings import TASK_TYPES
from tests.commands import refusal
from tests.conftest import run


@pytest.fixture(scope="module")
def docs():
    return bundled.load(level="apply").docs


def changes(doc):
    return read_transforms(doc["audio"]["transforms"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "noise"])
def test_every_kind_changes_every_clip_and_every_digest(docs, kind):
    changed = with_condition(docs, KINDS[kind].example)
    assert all(len(changes(doc)) == 1 for doc in changed)
    assert digest_content(changed) != digest_content(docs)
    clean, clip = file_clip(docs[0]["audio"]), file_clip(changed[0]["audio"])
    assert clip.key.startswith(clean.key + "|") and clip.source == clean.source
    assert changed[0]["text"] == docs[0]["text"]


def test_a_condition_is_seeded_by_the_clip_and_shared_by_its_questions(docs):
    changed = with_condition(docs, "white@10dB")
    by_clip = {}
    for doc in changed:
        by_clip.setdefault(doc["id"], set()).add(doc["audio"]["transforms"])
    assert all(len(found) == 1 for found in by_clip.values())
    assert len(set().union(*by_clip.values())) == len(by_clip)
    again = with_condition(docs.select(range(len(docs) - 1, -1, -1)), "white@10dB")
    assert {doc["question_id"]: doc["audio"] for doc in again} == {doc["question_id"]: doc["audio"] for doc in changed}
    (louder,) = changes(with_condition(docs, "white@0dB")[0])
    assert louder.seed == changes(changed[0])[0].seed


@pytest.mark.parametrize(
    "text",
    [
        *("white@infdB", "pink@infdB", "hum@infdB", "babble:3@0", "babble:3@infdB", "noise:FOLDER@infdB"),
        *("reverb:0s", "speed:1", "gain:0dB", "clip:0dB", "white@infdB+gain:0dB"),
    ],
)
def test_strength_0_is_the_clean_set_to_the_byte(docs, text):
    changed = with_condition(docs, text)
    assert changed.to_list() == docs.to_list() and digest_content(changed) == digest_content(docs)


def test_babble_is_other_clips_of_the_set(docs):
    for doc in with_condition(docs, "babble:3@0.5"):
        (babble,) = changes(doc)
        voices = {span.sha256 for span in babble.spans}
        assert len(voices) == 3 and doc["audio"]["sha256"] not in voices
        assert babble.snr_db == pytest.approx(6.02, abs=0.001)


def test_babble_of_a_clip_changes_only_with_its_voices(docs):
    """Without one clip, as in a subset or at a level that does not ask about it."""
    whole = {doc["question_id"]: doc["audio"] for doc in with_condition(docs, "babble:3@0.5")}
    removed = docs[0]
    left = docs.filter(lambda doc: doc["id"] != removed["id"])
    for doc in with_condition(left, "babble:3@0.5"):
        (before,), (after,) = (read_transforms(of["transforms"]) for of in (whole[doc["question_id"]], doc["audio"]))
        kept = [span for span in before.spans if span.sha256 != removed["audio"]["sha256"]]
        assert list(after.spans[: len(kept)]) == kept
        assert len(kept) < 3 or before == after


def test_a_chain_is_applied_in_its_order(docs):
    chain = changes(with_condition(docs, "band:300-3400 + codec:gsm + white@20dB")[0])
    assert [type(step).__name__ for step in chain] == ["Band", "Codec", "Noise"]


def test_noise_of_a_folder_is_stored_by_content(docs, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "noises@home"
    folder.joinpath("deep").mkdir(parents=True)
    for number in range(3):
        sound = np.random.default_rng(number).standard_normal(SAMPLING_RATE) * 0.1
        soundfile.write(folder / "deep" / f"{number}.wav", sound, SAMPLING_RATE)
    changed = with_condition(docs, f"noise:{folder}@5dB")
    used = {span.path for doc in changed for span in changes(doc)[0].spans}
    assert len(used) == 3 and all(path.startswith("clips/") for path in used)
    folder.rename(tmp_path / "moved")
    clean, noisy = file_clip(docs[0]["audio"]).samples, file_clip(changed[0]["audio"]).samples
    assert 20 * np.log10(np.std(clean) / np.std(noisy - clean)) == pytest.approx(5, abs=0.1)


def test_a_request_has_the_changed_sound(docs):
    doc = with_condition(docs, "gain:-20dB")[0]
    assert as_clip(json.loads(json.dumps(doc["audio"]))) == file_clip(doc["audio"])
    assert np.abs(file_clip(doc["audio"]).samples).max() < 0.2 * np.abs(file_clip(docs[0]["audio"]).samples).max()


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_in_the_one_form_of_a_condition(kind):
    assert write_condition(KINDS[kind].example) == KINDS[kind].example


@pytest.mark.parametrize(
    "text, written",
    [
        *((text, "white@10dB") for text in ("white@10db", "white@10.0dB", " white@10dB ")),
        ("band:3e2-3400.0 + codec:gsm", "band:300-3400+codec:gsm"),
        ("babble:03@.50", "babble:3@0.5"),
        ("noise:/my noises/a@b@5.0DB", "noise:/my noises/a@b@5dB"),
        ("codec:opus@12.50K", "codec:opus@12.5k"),
        ("reverb:0.000010s", "reverb:0.00001s"),
        ("gain:-0dB", "gain:0dB"),
    ],
)
def test_a_condition_has_one_form(text, written):
    assert write_condition(text) == written and parse_condition(text) == parse_condition(written)


@pytest.mark.parametrize(
    "text, message",
    [
        ("whitee@10dB", "unknown condition 'whitee'; did you mean white"),
        ("white@10", r"white@10: 10 has no unit \(dB\)"),
        ("white@10kg", "the unit 'kg' is not dB"),
        ("white:10dB", "the strength comes after '@'"),
        ("white@nandB", "'nandB' is not a number"),
        ("white@-infdB", "outside -100 to inf dB"),
        ("babble:0@0.5", "'0' is not a number of voices"),
        ("babble:3", "has no strength"),
        ("reverb:1000s", "outside 0 to 10 s"),
        ("clip:-3dB", "outside 0 to 60 dB"),
        ("band:300", "two frequencies"),
        ("band:0-9000", "two frequencies"),
        ("band:nan-3400", "two frequencies"),
        ("noise:@5dB", "it needs a folder, whose path has no "),
        ("noise:/data/a+b@5dB", "it needs a folder, whose path has no "),
        ("band:3400-300", "two frequencies"),
        ("codec:aac@12k", "not opus@RATE"),
        ("codec:opus@900k", "outside 6 to 256 k"),
        ("speed:100", "outside 0.25 to 4"),
        ("gain:infdB", "outside -100 to 100 dB"),
        ("white@10dB+", "'' is not KIND"),
    ],
)
def test_an_invalid_condition_is_refused_in_one_line(text, message):
    with pytest.raises(SpeechIQError, match=message) as refusal:
        parse_condition(text)
    assert "\n" not in str(refusal.value) and "condition=" in str(refusal.value)


def test_folders_without_audio_and_sets_without_voices_are_refused(docs, tmp_path):
    with pytest.raises(SpeechIQError, match="has no audio files; name a folder with"):
        with_condition(docs, f"noise:{tmp_path}@5dB")
    with pytest.raises(SpeechIQError, match="is not a folder"):
        with_condition(docs, f"noise:{tmp_path / 'missing'}@5dB")
    file = tmp_path / "noise.wav"
    file.write_text("not audio")
    with pytest.raises(SpeechIQError, match=f"{file}: not readable as audio"):
        with_condition(docs, f"noise:{tmp_path}@5dB")
    soundfile.write(file, np.zeros(SAMPLING_RATE), SAMPLING_RATE)
    with pytest.raises(SpeechIQError, match=f"{file} is silent and adds no noise; take it out of the folder"):
        with_condition(docs, f"noise:{tmp_path}@5dB")
    with pytest.raises(SpeechIQError, match="1 clip has no 3 other clips to mix"):
        with_condition(docs.select([0]), "babble:3@0.5")


@pytest.mark.slow
def test_another_process_makes_the_same_docs_and_samples(docs, tmp_path):
    soundfile.write(tmp_path / "noise.wav", np.random.default_rng(0).standard_normal(SAMPLING_RATE) * 0.1, 16_000)
    conditions = [KINDS[kind].example.replace("FOLDER", str(tmp_path)) for kind in KINDS]
    conditions += ["codec:mp3@32k", "codec:gsm", "babble:3@0.5+reverb:0.3s+white@5dB"]
    program = f"""
import json
from speechiq.siq_tasks.loaders import bundled
from tests.siq_tasks.test_conditions import digest_sound
docs = bundled.load(level="apply").docs
print(json.dumps([digest_sound(docs, condition) for condition in {conditions!r}]))
"""
    there = run("python", "-c", program, env={**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2"})
    assert json.loads(there.stdout) == [digest_sound(docs, condition) for condition in conditions]


def digest_sound(docs, condition):
    """Return the transforms of the shortest clip under a condition, and the sha256 of its samples."""
    audio = min(with_condition(docs, condition)["audio"], key=lambda audio: audio["duration"])
    return [audio["transforms"], hashlib.sha256(file_clip(audio).samples.tobytes()).hexdigest()]


TASK = "siq_demo_apply"


def rows(*, question="Which mood?", text="hello", **answers):
    """Return docs of clips with one answer each, all to one question."""
    return Dataset.from_list(
        [
            {
                "id": clip,
                "question_id": clip,
                "question": question,
                "gold": [answer],
                "text": text,
                "audio": {"sha256": clip, "path": f"{clip}.wav", "duration": 1.0},
            }
            for clip, answer in answers.items()
        ]
    )


def test_each_variant_has_a_name_and_a_digest_of_its_own(docs):
    changed = {variant: with_listen(docs, variant, TASK) for variant in (TEXT, MUTED, SWAPPED)}
    assert all({doc["audio"]["listen"] for doc in of} == {variant} for variant, of in changed.items())
    assert len({digest_content(of) for of in (docs, *changed.values())}) == 4
    for of in changed.values():
        assert [doc["question_id"] for doc in of] == [doc["question_id"] for doc in docs]
        assert [doc["answer"] for doc in of] == [doc["answer"] for doc in docs]


def test_text_keeps_the_audio_and_the_reference(docs):
    (doc,) = with_listen(docs.select([0]), "text", TASK)
    assert doc["text"] == docs[0]["text"] and file_clip(doc["audio"]) == file_clip(docs[0]["audio"])


def test_muted_is_silence_of_the_same_length_after_any_condition(docs):
    clean = file_clip(docs[0]["audio"])
    for changed in (docs, with_condition(docs, "white@10dB")):
        heard, muted = (file_clip(of[0]["audio"]) for of in (changed, with_listen(changed, "muted", TASK)))
        assert muted.duration == heard.duration and muted.key != heard.key != clean.key + "|"
        assert len(muted.samples) == len(heard.samples) and not np.any(muted.samples)


def test_swapped_is_another_clip_with_its_reference_the_same_for_all_questions_of_a_clip(docs):
    changed, references = with_listen(docs, "swapped", TASK), {doc["audio"]["sha256"]: doc["text"] for doc in docs}
    sounds = {}
    for before, after in zip(docs, changed, strict=True):
        assert after["audio"]["sha256"] != before["audio"]["sha256"]
        assert after["text"] == references[after["audio"]["sha256"]]
        sounds.setdefault(after["id"], set()).add(after["audio"]["sha256"])
    assert all(len(of) == 1 for of in sounds.values())
    assert len(set().union(*sounds.values())) == len(sounds)


def test_swapped_depends_on_ids_and_not_on_the_order_of_docs(docs):
    def swaps(of):
        return {doc["question_id"]: doc["audio"]["sha256"] for doc in with_listen(of, "swapped", TASK)}

    assert swaps(docs) == swaps(docs.select(range(len(docs) - 1, -1, -1)))


def test_a_swapped_clip_has_another_answer():
    answers = {"a": "joy", "b": "joy", "c": "anger", "d": "joy", "e": "fear"}
    for doc in with_listen(rows(**answers), "swapped", TASK):
        assert answers[doc["audio"]["sha256"]] != answers[doc["id"]]


def ask(**answers):
    """Return docs of clips that are asked the same questions, in the order of the answers given for each."""
    asked = [
        rows(question=f"Question {place}", **dict(zip(answers, of, strict=True))).to_list()
        for place, of in enumerate(zip(*answers.values(), strict=True))
    ]
    return Dataset.from_list([doc | {"question_id": f"{doc['id']}/{doc['question']}"} for of in asked for doc in of])


def list_swaps(docs):
    swaps = {}
    for doc in with_listen(docs, "swapped", TASK):
        swaps.setdefault(doc["id"], []).append(doc["audio"]["sha256"])
    return swaps


def test_questions_that_recur_get_one_clip_that_answers_all_of_them_otherwise():
    answers = {"a": "xxx", "b": "xyx", "c": "yxz", "d": "yyx", "e": "zzy", "f": "xyz", "g": "zxx"}
    swaps = list_swaps(ask(**answers))
    for clip, (swapped, *others) in swaps.items():
        assert others == [swapped, swapped]
        assert all(one != other for one, other in zip(answers[clip], answers[swapped], strict=True))


def test_questions_that_no_clip_answers_otherwise_get_clips_of_their_own():
    assert list_swaps(ask(a="xx", b="yx", c="xy")) == {"a": ["b", "c"], "b": ["c", "c"], "c": ["b", "b"]}


def test_options_answer_by_their_text_and_not_by_their_letter():
    docs = rows(a="A", b="B", c="A")
    options = [["yes", "no"], ["no", "yes"], ["no", "yes"]]
    docs = Dataset.from_list([doc | {"options": of} for doc, of in zip(docs, options, strict=True)])
    swapped = [doc["audio"]["sha256"] for doc in with_listen(docs, "swapped", TASK)]
    assert swapped == ["c", "c", swapped[2]] and swapped[2] in ("a", "b")


@pytest.mark.parametrize(
    ("docs", "variant", "message"),
    [
        (rows(a="joy"), "swapped", "listen=swapped: task T has one clip, and none to swap it with; take a larger"),
        (rows(a="joy", b="Joy "), "swapped", "T has no clip with another answer than 'joy' of a; take a larger subset"),
        (rows(a="joy", text=" "), "text", "listen=text: clip a of task T has no reference text; name the column"),
        (rows(a="joy", text=None), "text", "clip a of task T has no reference text"),
    ],
)
def test_a_set_that_does_not_allow_a_variant_is_refused_in_one_line(docs, variant, message):
    with pytest.raises(SpeechIQError, match=message) as refused:
        with_listen(docs, variant, "T")
    assert str(refused.value).startswith(f"--metadata listen={variant}: ") and "\n" not in str(refused.value)


def test_tasks_that_ask_something_are_all_but_those_that_want_a_transcript():
    silent = {name for name, task_type in TASK_TYPES.items() if not task_type.asks_question}
    assert silent == {"remember", "understand", "distance", "transcribe"}
    for name in silent:
        with pytest.raises(SpeechIQError, match=r"listen=muted: task T asks no question .*; name tasks with questions"):
            check_listen({"task": "T", "metadata": {"task_type": name, "listen": "muted"}})


def test_siq_eval_refuses_an_unknown_variant_before_it_reads_anything(tmp_path):
    message = refusal("eval", "demo", "--metadata", "demo.listen=silent", "-o", tmp_path / "runs")
    assert message == "listen=silent: unknown; give muted or swapped or text"
