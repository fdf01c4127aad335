"""Test people as systems: what they saved from the page of an exam is scored like any transcript and letter."""

import json
import logging

import jiwer
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.harness_patch.exam import open_exam
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.harness_patch.plan import Plan
from speechiq.harness_patch.systems.answering import Question
from speechiq.harness_patch.systems.people import People
from speechiq.harness_patch.systems.spec import list_people, parse
from speechiq.metrics.words.normalizer import normalize
from speechiq.siq_tasks.catalog.data_sets import list_clips
from speechiq.siq_tasks.loaders.bundled import DEMO
from speechiq.siq_tasks.questions.exam import digest_clip, digest_question
from tests import runs
from tests.commands import refusal, succeed
from tests.records import named
from tests.warm import run_warm, siq

REMEMBER, APPLY = "siq_demo_remember", "siq_demo_apply"
OPTIONS = ("a fire", "a strike", "a fine", "a price", "None of the above")
CLIPS = [named(str(number)) for number in range(10)]


def save(folder, letters="B" * 10, texts=("So it goes.",) * 10, **changed):
    """Write what a person saved of ten clips with a question each; a letter `-` is missing."""
    rows = []
    for clip, letter, text in zip(CLIPS, letters, texts, strict=True):
        about = {"id": clip.id, "person": "ana"}
        rows.append(about | {"digest": digest_clip(clip), "text": text, "plays": 1} | changed)
        digest = digest_question(clip, "Why?", OPTIONS)
        rows.append(about | {"digest": digest, "question_id": "q", "letter": letter.strip("-")})
    file = folder / "ana.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def ask(options=OPTIONS, **more):
    return [Question(Prompt.about("<audio> Why?", [clip]), {}, "Why?", tuple(options), **more) for clip in CLIPS]


def prompts():
    return [Prompt.about("Write it down.", [clip]) for clip in CLIPS]


def test_the_one_letter_of_a_person_stands_for_all_answers(tmp_path):
    person = People(save(tmp_path, "ABCDEABCD-"))
    person.check(ask(), 5)
    answers = person.answer(ask(), 5)
    assert ["".join(each.text for each in of) for of in answers] == [letter * 5 for letter in "ABCDEABCD"] + [""]
    described = person.describe()
    assert (described["kind"], described["person"], described["answers_per_question"]) == ("people", "ana", 1)
    assert (described["clips"], described["questions"], described["missing_answers"]) == (10, 10, 1)


def test_what_is_missing_is_counted_and_a_clip_that_was_not_played_is_not_heard(tmp_path, caplog):
    person = People(save(tmp_path, "B" * 8 + "--", ("So it goes.",) * 9 + (" ",), plays=0))
    with caplog.at_level(logging.WARNING):
        person.check(ask(), 5)
        responses = person.transcribe(prompts())
    assert "2 of 10 answers are missing" in caplog.text and "1 of 10 transcripts are missing" in caplog.text
    assert {response.coverage for response in responses} == {0.0}


@pytest.mark.parametrize(
    ("letters", "asked", "fault"),
    [
        ("B" * 7 + "---", ask(), "3 of 10 answers are missing, more than 20%; finish the exam"),
        ("F" + "B" * 9, ask(), "answers 'F' to 'Why.' about clip 0, which offers A to E; correct the letter"),
        ("B" * 10, ask(()), "answers by letters, and a task asks for words"),
        ("B" * 10, ask(transcript="So it goes."), "listened, and the questions come with a transcript"),
        ("B" * 10, ask(OPTIONS[:2]), "clip 0 has the question 'Why.', which the exam does not ask with its options"),
    ],
)
def test_what_a_person_cannot_have_answered_is_refused(letters, asked, fault, tmp_path):
    with pytest.raises(SpeechIQError, match=rf"ana.jsonl': {fault}"):
        People(save(tmp_path, letters)).check(asked, 5)


def test_too_many_missing_transcripts_are_refused(tmp_path):
    person = People(save(tmp_path, texts=("So it goes.",) * 7 + ("",) * 3))
    with pytest.raises(SpeechIQError, match="3 of 10 transcripts are missing, more than 20%"):
        person.transcribe(prompts())


def test_a_folder_has_a_system_per_person(tmp_path):
    for name in ("ben", "ana"):
        tmp_path.joinpath(f"{name}.jsonl").touch()
    expected = ["demo", f"people:{tmp_path}/ana.jsonl", f"people:{tmp_path}/ben.jsonl", "people:cem.jsonl"]
    assert list_people(["demo", f"people:{tmp_path}", "people:cem.jsonl"]) == expected
    tmp_path.joinpath("empty").mkdir()
    with pytest.raises(SpeechIQError, match=r"the folder has no .jsonl file"):
        list_people([f"people:{tmp_path}/empty"])
    (stage,) = parse("people:answers/ana.jsonl")
    assert (stage.role, stage.engine, stage.model) == ("people", "people", "answers/ana.jsonl")


def read_answers_of_demo():
    lines = DEMO.joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["question_id"]: row["answer"] for row in map(json.loads, lines)}


@pytest.mark.slow
def test_a_person_has_the_scores_of_the_transcript_and_the_letters(tmp_path):
    exam = open_exam(Plan((), ("siq_demo",), str(tmp_path), limit=2))
    right, texts = read_answers_of_demo(), {clip["id"]: clip["text"] for clip in list_clips("demo")}
    rows, rates = [], []
    for clip in exam.clips:
        words = texts[clip.id].split()
        written = " ".join(word for i, word in enumerate(words) if i % 4)
        rates.append(jiwer.wer(normalize(texts[clip.id], "english"), normalize(written, "english")))
        rows.append({"id": clip.id, "digest": clip.digest, "person": "ana", "text": written, "plays": 2})
        for number, question in enumerate(clip.questions):
            letter = right[question.id] if number else "E"
            about = {"id": clip.id, "digest": question.digest, "person": "ana", "question_id": question.id}
            rows.append(about | {"letter": letter})
    file = tmp_path / "ana.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = HFAudio(pretrained=f"people:{file}", device="cpu", store="off")
    samples = {REMEMBER: [0, 1], APPLY: [*range(6)]}
    results = runs.evaluate(model, [REMEMBER, APPLY], samples=samples)
    measured = {row["doc"]["id"]: row["wer"] for row in results["samples"][REMEMBER]}
    assert measured == pytest.approx({clip.id: rate for clip, rate in zip(exam.clips, rates, strict=True)})
    assert [row["acc"] for row in results["samples"][APPLY]] == [0, 1, 1, 0, 1, 1]
    assert results["config"]["siq"]["system"]["plays"] == 2
    with pytest.raises(SpeechIQError, match=r"clip demo/.* is not among the 2 clips of the exam"):
        runs.evaluate(model, [REMEMBER], samples={REMEMBER: [2]})


@pytest.mark.slow
def test_siq_data_exam_writes_a_page_and_refuses_what_people_cannot_take(tmp_path):
    page = tmp_path / "exam.html"
    done = succeed("data", "exam", APPLY, "--limit", 1, "-o", page)
    assert "1 clip and 3 questions" in done.stdout
    assert f"siq eval people:NAME.jsonl --tasks {APPLY} --output runs/people --limit 1" in done.stdout
    assert "exists" in refusal("data", "exam", APPLY, "--limit", 1, "-o", page)
    assert "the exam is a page; name one" in refusal("data", "exam", APPLY, "-o", tmp_path / "exam.txt")
    assert "no such task" in refusal("data", "exam", "siq_dmo", "-o", tmp_path / "other.html")
    error = refusal("data", "exam", "audiobench_demo_judged", "-o", tmp_path / "other.html")
    assert "task audiobench_demo_judged: asks for answers in words" in error


@pytest.mark.slow
def test_siq_data_exam_of_a_folder_runs_no_code_and_needs_sound(tmp_path):
    tmp_path.joinpath("texts.csv").write_text("id,text\none,So it goes.\ntwo,It goes on.\n")
    folder = tmp_path / "texts"
    succeed("data", "new", "texts", "--text", tmp_path / "texts.csv", "-o", folder)
    arguments = ("siq_texts_remember", "--include-path", str(folder), "-o", str(tmp_path / "exam.html"))
    # In a process of its own, which refuses the code of task folders from then on.
    assert "clip texts/" in (error := run_warm(siq, "data", "exam", *arguments).stderr) and "has no audio" in error
    with (folder / "siq_texts_remember.yaml").open("a") as task:
        task.write("process_docs: !function os.getcwd\n")
    assert "os.getcwd is code that does not come with speechiq" in run_warm(siq, "data", "exam", *arguments).stderr
