"""Judges: a rule, and models behind a real HTTP server that answers by a script."""

import json
import math
import random
import re
from itertools import count

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import since, snapshot, usage
from speechiq.engines._shared.remote import PROBE
from speechiq.metrics.columns import mean
from speechiq.metrics.judge import judging as judge_draws
from speechiq.metrics.judge.free_answers import Judge, judge, score
from speechiq.metrics.judge.judging import Case, PairCase, judge_cases, judge_pairs
from speechiq.metrics.judge.settings import judging_of, read_judging, read_settings
from tests.siq_tasks.questions.server import completion, serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

AGAIN = {"retry-after-ms": "1"}
CASES = [Case(f"Question {i}?", f"Answer {i}", f"Reference {i}", name=f"demo/{i}") for i in range(20)]


def grade(prompt: str, _number: int = 0) -> str:
    """Grade by the number in the answer."""
    answer = re.search(r"<(?:answer|reply)>\n.*?(\d+)\n", prompt)
    return f"It is what it is.\nScore: {int(answer[1]) % 6}" if answer else f"words {random.random()}"


def faulty(prompt: str, number: int):
    """Grade, with a fault in one of five calls."""
    if number % 5 or prompt == PROBE:
        return grade(prompt)
    return [(429, AGAIN, "{}"), (500, AGAIN, "{}"), (200, {}, '{"choices": ['), (200, {}, "<html>")][number // 5 % 4]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A response cache of its own."""
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))


def settings(server, **options):
    return {"judge": "openai:m", "judge_base_url": server.url} | {f"judge_{name}": v for name, v in options.items()}


def scores(cases, server, **options):
    return [each.scores for each in judge_cases(cases, read_judging(settings(server, **options)))]


def test_draws_are_asked_once_with_seeds_and_a_rerun_asks_nothing(store, capsys):
    with serving(grade) as server:
        work = snapshot()
        first = scores(CASES, server, draws=3)
        assert {*since(work).speeds()} == {"judging"}
        assert first == [(float(i % 6),) * 3 for i in range(20)]
        asked = [request for request in server.requests if "<answer>" in str(request)]
        assert len(asked) == 60 and len({request["seed"] for request in asked}) == 60
        assert "20 different answers, 3 draws each; 0 cached, 60 to ask: up to" in capsys.readouterr().err
        before = len(server.requests), usage["judgments"]
        assert scores(CASES, server, draws=3) == first
        assert (len(server.requests), usage["judgments"]) == before
        assert "all in the response cache, nothing to ask" in capsys.readouterr().err
        scores(CASES, server, draws=4)
        assert len(server.requests) == before[0] + 20
        scores(CASES[:1], server, draws=3, seed=2)
        assert len(server.requests) == before[0] + 23


def test_another_rubric_reference_or_checklist_is_another_judgment(store):
    with serving(grade) as server:
        case = CASES[3]
        changed = [case, case._replace(reference="x"), case._replace(question="y"), case._replace(checklist="z"), case]
        assert scores(changed, server) == [(3.0,)] * 5
        assert len(server.requests) == 4
        scores([case], server, rubric="points_1_10")
        scores([case], server, max_gen_toks=64)
        assert len(server.requests) == 6


def test_without_the_checklist_the_prompt_is_that_of_a_question_that_has_none(store):
    case = Case("Why?", "It is 4.", checklist="Names the moon.")
    asked = []
    with serving(lambda prompt, _: asked.append(prompt) or "Score: 4") as server:
        shown, hidden = (read_judging(settings(server, checklist=value), "points_1_10") for value in ("on", "off"))
        judge_cases([case], shown)
        judge_cases([case, case._replace(checklist="")], hidden)
    assert ["Names the moon." in prompt for prompt in asked] == [True, False]
    assert shown.identity != hidden.identity and hidden.record()["judging"]["options"]["checklist"] == "off"
    assert "checklist" not in shown.record()["judging"]["options"] and shown.rubric == hidden.rubric
    assert judging_of(hidden.record()) == hidden


def test_a_judge_with_faults_gives_the_scores_of_a_faultless_one(store):
    with serving(grade) as server:
        wanted = scores(CASES, server, draws=2)
    with serving(faulty) as server:
        assert scores(CASES, server, draws=2) == wanted
        assert len(server.requests) > 50


def test_what_stays_unjudged_is_counted_and_is_asked_again_in_the_next_run(store, capsys):
    reply = {
        "Answer 1": (200, {}, completion("I'm sorry, but I can't help with that.")),
        "Answer 2": (400, {}, '{"error": {"code": "content_filter", "message": "blocked"}}'),
        "Answer 3": (400, {}, '{"error": {"code": "too_long", "message": "the prompt is too long"}}'),
        "Answer 4": (200, {}, "{"),
        "Answer 5": (200, {}, completion("Score: 9")),
        "Answer 6": (200, {}, completion([None], "length")),
    }

    def script(prompt, _number):
        return reply.get(re.search(r"Answer \d+", prompt)[0]) or grade(prompt)

    with serving(script) as server:
        judged = judge_cases(CASES[:9], read_judging(settings(server, max_retries=0)))
        assert [each.scores[0] for each in judged if not each.reasons[0]] == [0, 1, 2]
        assert all(math.isnan(each.scores[0]) for each in judged[1:7])
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.startswith("siq: judge openai:m: 6 of 9 draws are unjudged: 1 the judge refused, 1 content filter")
        assert "1 answered 400" in line and "1 score outside the scale" in line and "token limit" in line
        assert judged[3].texts[0].startswith("[openai:m at 127.0.0.1: answered 400, the prompt is too long")
        for name in ("Answer 3", "Answer 4", "Answer 6"):
            del reply[name]
        again = judge_cases(CASES[:9], read_judging(settings(server, max_retries=0)))
        assert [each.scores[0] for each in again if not each.reasons[0]] == [0, 3, 4, 0, 1, 2]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((401, {}, "{}"), "answered 401.*check OPENAI_API_KEY"),
        ((404, {}, '{"error": {"message": "no model m"}}'), "answered 404, no model m.*; check judge_base_url and the"),
        ((500, AGAIN, "{}"), "answered 500"),
    ],
)
def test_a_judge_that_does_not_work_ends_the_run_in_one_line_and_what_was_judged_stays(store, reply, message):
    with serving(lambda prompt, number: grade(prompt) if number <= 4 else reply) as server:
        with pytest.raises(SpeechIQError, match=message) as refused:
            scores(CASES, server, max_retries=0, num_concurrent=1)
        assert "\n" not in str(refused.value)
        asked = len(server.requests)
        server.script = grade
        assert scores(CASES, server, max_retries=0) == [(float(i % 6),) for i in range(20)]
        assert len(server.requests) == asked + 16
    with pytest.raises(SpeechIQError, match="no connection; check judge_base_url"):
        scores(CASES[:1], server, seed=2, max_retries=0)


def test_an_empty_answer_has_the_lowest_grade_and_is_not_sent(store):
    with serving(grade) as server:
        cases = [Case("Q?", " \n", "R"), CASES[5]]
        assert scores(cases, server, draws=2, rubric="points_1_10")[0] == (1.0, 1.0)
        assert scores(cases, server) == [(0.0,), (5.0,)]


def test_a_judge_with_one_score_for_all_answers_is_named(store, capsys):
    with serving(lambda *_: "Score: 5") as server:
        scores(CASES[:4], server)
        assert "gives" not in capsys.readouterr().err
        scores(CASES[:7], server)
        assert "judge openai:m: gives 5 to all 7 different answers; try it on" in capsys.readouterr().err


def test_a_missing_reference_is_refused_before_the_judge_is_asked(store):
    with serving(grade) as server:
        cases = [CASES[0], CASES[1]._replace(reference=" ")]
        with pytest.raises(SpeechIQError, match="demo/1: no reference answer, which the rubric grade_0_5 shows"):
            scores(cases, server)
        assert not server.requests
        assert scores(cases, server, rubric="points_1_10")[1] == (1.0,)


def prefer(prompt: str, _number: int) -> str:
    """Prefer the longer answer, but the first one if both are long."""
    first, second = (re.search(rf"<{name}>\n(.*)\n</{name}>", prompt)[1] for name in ("first", "second"))
    if min(len(first), len(second)) > 9:
        return "Better: first"
    return "Better: second" if len(second) > len(first) else "Better: first"


def test_pairs_are_judged_in_both_orders(store):
    pairs = [
        PairCase("Q?", "short", "a longer one"),
        PairCase("Q?", "a longer one", "short"),
        PairCase("Q?", "as long as the other", "another long one"),
        PairCase("Q?", "the same", "the same "),
    ]
    with serving(prefer) as server:
        judged = judge_pairs(pairs, read_judging(settings(server, rubric="pairwise"), "pairwise"))
        assert len(server.requests) == 4  # the second pair is the first one in the other order
    assert [each.combined for each in judged] == [(-1.0,), (1.0,), (0.0,), (0.0,)]
    assert [(each.shown_first, each.shown_second) for each in judged][2] == ((1.0,), (-1.0,))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"judge": "exact_mtch"}, "judge=exact_mtch: not of the form ENGINE:MODEL; did you mean exact_match"),
        ({"judge": "openai:"}, "judge=openai:: not of the form ENGINE:MODEL"),
        ({"judge": 3}, "judge=3: not a text; give one"),
        ({"judge": "opnai:gpt-4o"}, "judge=opnai:gpt-4o: unknown engine; did you mean openai"),
        ({"judge": "quartz:gpt"}, "quartz:gpt: .*no model for this name found"),
        ({"judge": "faster-whisper:large-v3"}, r"faster-whisper is an engine for speech \(asr\), a judge reads text"),
        ({"judge": "hf:no/such-model-anywhere"}, "no/such-model-anywhere"),
        ({"judge_draws": 3}, "judge_draws=3: judge=exact_match is a rule"),
        ({"judge_draws": 0}, "judge_draws=0: not a whole number from 1 to 1000"),
        ({"judge_draws": "many"}, "judge_draws=many: not a whole number"),
        ({"judge_seed": -1}, "judge_seed=-1: not a whole number"),
        ({"judge_by": "vote"}, "judge_by=vote: unknown; give generate or likelihood"),
        ({"judge_by": "likelihood"}, "judge_by=likelihood: judge=exact_match is a rule"),
        ({"judge_rubric": "grade_0_50"}, "judge_rubric=grade_0_50: unknown; did you mean grade_0_5"),
        ({"judge_rubric": "pairwise"}, "judge_rubric=pairwise: a pairwise rubric, but one of kind score is needed"),
        ({"judge_temperature": 0.5}, "judge_temperature=0.5: judge=exact_match is a rule, which has no such option"),
        ({"judge_checklist": "no"}, "judge_checklist=no: unknown; give off or on"),
        ({"judge_checklist": "off"}, "judge_checklist=off: judge=exact_match is a rule, which has no such option"),
        (
            {"judge_checklist": "off", "judge": "openai:m"},
            "judge_checklist=off: the rubric grade_0_5 shows none; leave it out",
        ),
        ({"judge_drows": 2}, "judge_drows: no such option of a judge; did you mean judge_draws"),
        ({"judge_temperature": -1, "judge": "openai:m"}, "judge_temperature=-1: not a number from 0 to 10"),
        ({"judge_max_gen_toks": 0, "judge": "openai:m"}, "judge_max_gen_toks=0: not a whole number of 1 or more"),
    ],
)
def test_settings_that_cannot_work_are_one_line(given, message):
    with pytest.raises(SpeechIQError, match=message) as refused:
        read_judging(given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 2, "temperature": 0}, "judge_temperature=0: all 2 draws would be the same"),
        ({"draws": 2, "by": "likelihood"}, "judge_draws=2: judge_by=likelihood neither samples"),
        ({"by": "likelihood"}, "judge_by=likelihood: openai:m has no log-likelihoods; use judge_by=generate"),
        ({"by": "likelihood", "temperature": 1}, "judge_temperature=1: judge_by=likelihood neither samples nor wri"),
        ({"top_p": 0.5}, "judge_top_p=0.5: nothing is sampled"),
        ({"base_ulr": "http://x/v1"}, "judge_base_ulr: no such option of the openai.*did you mean judge_base_url"),
        ({"draws": 2}, "openai:m: gives the same answer for every seed"),
    ],
)
def test_a_model_that_cannot_do_it_is_one_line(store, options, message):
    with serving(lambda *_: "Score: 1") as server, pytest.raises(SpeechIQError, match=message) as refused:
        read_judging(settings(server, **options))
    assert "\n" not in str(refused.value)


def test_an_endpoint_without_the_model_is_refused_when_it_is_asked_whether_it_samples(store):
    reply = (404, {}, '{"error": {"message": "no model m"}}')
    with serving(lambda *_: reply) as server:
        for _ in range(2):
            with pytest.raises(SpeechIQError, match="answered 404, no model m"):
                read_judging(settings(server, draws=2))
    with serving(grade) as server:
        for _ in range(2):
            read_judging(settings(server, draws=2))
        assert len(server.requests) == 3, "what was found out is in the response cache"


def test_a_judge_without_a_key_is_refused(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    message = "openai:gpt-4o: no key; set the environment variable OPENAI_API_KEY, or give judge_base_url"
    with pytest.raises(SpeechIQError, match=message):
        read_judging({"judge": "openai:gpt-4o"})
    with pytest.raises(SpeechIQError, match=r"no key; set the environment variable MY_KEY$"):
        read_judging({"judge": "openai:gpt-4o", "judge_key_variable": "MY_KEY"})


def test_the_filter_of_lm_eval_and_the_columns_of_its_items(store):
    turns = count()

    def script(prompt, _number):
        return f"words {next(turns)}" if prompt == PROBE else ["Score: 4", "Score: 2", "no"][next(turns) % 3]

    with serving(script) as server:
        recorded = read_settings(settings(server, draws=3, num_concurrent=1))
        assert recorded["judge"] == "openai:m" and recorded["judging"]["scale"] == [0, 5]
        docs = [{"id": "a/1", "question": "Q?", "answer": "42", "accepted": [], **recorded}] * 2
        judged, empty = Judge().apply(["It is 42.", ""], docs)
        assert judged["answer"] == "It is 42." and sorted(judged["scores"], key=str) == [2.0, 4.0, None]
        assert json.loads(str(judged))["texts"] == judged["texts"]
        row = score(docs[0], [judged])
        assert row.keys() == {
            *("judge", "judge_points", "judge_agreement", "unjudged", "refusal", "empty_answer"),
            *("exact_match", "contains_answer", "f1", "answer_words", "audio_coverage"),
        }
        assert (row["judge"], row["judge_points"], row["judge_agreement"], row["unjudged"]) == (0.6, 3.0, 0.0, 0.0)
        assert row["exact_match"] == 1.0 and row["answer_words"] == 3.0 and math.isnan(row["audio_coverage"])
        row = score(docs[0], [empty])
        assert row["judge"] == 0.0 and row["empty_answer"] == 1.0 and math.isnan(row["judge_agreement"])
    unjudged = score(docs[0], [judged | {"scores": [None] * 3}])
    assert math.isnan(unjudged["judge"]) and unjudged["unjudged"] == 1.0
    assert mean([1.0, unjudged["judge"]]) == 1.0


def test_a_rubric_that_changes_during_a_run_is_refused(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("{name: mine, version: 1, kind: score, scale: [0, 3], prompt: '{answer}'}")
    doc = {"question": "Q?", "answer": "A", **read_settings({"judge_rubric": str(file)})}
    assert Judge().apply(["A"], [doc])[0]["scores"] == [3.0]
    file.write_text("{name: mine, version: 2, kind: score, scale: [0, 3], prompt: '{answer}'}")
    with pytest.raises(SpeechIQError, match=r"mine.yaml: the file was changed during the run"):
        Judge().apply(["A"], [doc])


def test_texts_are_judged_without_lm_eval(store):
    with serving(grade) as server:
        options = {"judge": "openai:m", "base_url": server.url}
        assert judge("Q?", "It is 4", "4", **options) == 4.0
        assert judge(["Q?", "P?"], ["It is 4", "or 3"], "4", **options) == 3.5
        assert judge(["Q?"], ["It is 4"], checklist="short", rubric="points_1_10", **options) != judge("Q?", "", "4")
    assert math.isnan(judge([], [])) and math.isnan(judge("Q?", "A"))
    with pytest.raises(SpeechIQError, match="judge: 2 questions, 1 answers, 2 references, 2 checklists"):
        judge(["Q?", "P?"], ["A"])


def test_failures_in_a_row_end_only_a_run_without_replies_in_between(store, monkeypatch):
    monkeypatch.setattr(judge_draws, "MOST_FAILURES", 2)

    def script(prompt, _number):
        return (400, {}, "{}") if int(re.search(r"Answer (\d+)", prompt)[1]) % 2 else grade(prompt)

    with serving(script) as server:
        judged = scores(CASES, server, num_concurrent=1)
        assert [math.isnan(each[0]) for each in judged] == [False, True] * 10
        assert all("seed" in asked for asked in server.requests if "Answer 18" in str(asked))


RUBRIC = {"rubric": "reference_1_5"}


def test_the_absolute_rubric_shows_five_described_scores_and_its_reply_is_read(store):
    own = tuple(f"kind {n} of answer" for n in range(1, 6))
    cases = [Case("Who?", "Bo", "Ann", name="a"), Case("Who?", "Bo", "Ann", name="b", grades=own)]

    def reply(prompt, _number):
        return "Feedback: another person. [RESULT] 2" if "kind 2" in prompt else "Wrong.\nScore: 1"

    with serving(reply) as server:
        assert scores(cases, server, **RUBRIC) == [(1.0,), (2.0,)]
        prompts = [str(request) for request in server.requests if "<answer>" in str(request)]
        assert len(prompts) == 2, "other meanings of the scores are another question"
        assert sum("3: right in part" in prompt for prompt in prompts) == 1
        assert sum("3: kind 3 of answer" in prompt for prompt in prompts) == 1
        assert scores(cases, server, **RUBRIC) == [(1.0,), (2.0,)]
        assert len([request for request in server.requests if "<answer>" in str(request)]) == 2


def test_a_case_with_fewer_meanings_than_scores_is_refused(store):
    with serving(grade) as server, pytest.raises(SpeechIQError, match="a: has 2 descriptions of scores, and the rub"):
        scores([Case("Who?", "Bo", "Ann", name="a", grades=("bad", "good"))], server, **RUBRIC)
    with serving(grade) as server:
        assert scores([Case("Who?", "", "Ann", name="a")], server, **RUBRIC) == [(1.0,)]
