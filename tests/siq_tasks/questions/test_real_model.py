"""Ask a real model of random weights, run by lm-eval: it writes no question, but reads."""

from speechiq.siq_tasks.loaders import bundled
from speechiq.siq_tasks.questions.authors import HarnessAuthor
from speechiq.siq_tasks.questions.check import WITH, WITHOUT, check_file
from speechiq.siq_tasks.questions.file import join_questions, read_questions, write_questions
from speechiq.siq_tasks.questions.write import WritingPlan, write_missing

QUESTIONS = bundled.DEMO / "questions.jsonl"


def test_a_writer_that_cannot_write_ends_orderly_with_all_left_out(tiny_cascade, tmp_path):
    author = HarnessAuthor("hf", tiny_cascade.llm, max_tokens=24)
    clips = bundled.list_clips()[:1]
    outcome = write_missing(clips, WritingPlan(author, [author], rewrites=1), tmp_path / "q", "demo", workers=2)
    assert outcome.asked == outcome.failures.total() == 2
    rows = read_questions(tmp_path / "q")
    assert len(rows) == 3 and all("in 2 attempts" in row["left_out"] for row in rows)
    assert join_questions(rows, [clip["id"] for clip in clips], "demo") == []


def test_lm_evals_model_checks_with_and_without_the_reference(tiny_cascade, tmp_path):
    references = {clip["id"]: clip["text"] for clip in bundled.list_clips()[:1]}
    rows = [row for row in read_questions(QUESTIONS) if row["id"] in references]
    write_questions(tmp_path / "q", rows)
    author = HarnessAuthor("hf", tiny_cascade.llm, max_tokens=4)
    assert author.name == f"hf:{tiny_cascade.llm}"
    report = check_file(tmp_path / "q", references, author)
    assert {round(3 * report.readings[WITHOUT].acc), round(3 * report.readings[WITH].acc)} <= set(range(4))


def test_a_sampled_answer_depends_on_its_seed_alone(tiny_cascade):
    author = HarnessAuthor("hf", tiny_cascade.llm, max_tokens=12)
    first, other, again = (author.ask("Name an animal.", 0.9, seed) for seed in (1, 2, 1))
    assert first == again != other
