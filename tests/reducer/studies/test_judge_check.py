"""The judge against persons: the page, and the scores that they save."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import cohen_kappa_score

from speechiq.reducer.runs.human_scores import read_judge_settings
from speechiq.reducer.runs.judged import find_judged, read_judged
from speechiq.reducer.studies.judges.people import choose_answers
from tests.commands import print_and_write, refusal, siq, succeed
from tests.records import edit_rows
from tests.reducer.studies.conftest import write_judged


def read_all(runs: Path):
    tasks, _ = find_judged([runs])
    return [row for task in tasks for row in read_judged(task)[1]], read_judge_settings(tasks)


def write_scores(path: Path, runs: Path, give, count: int = 60, **changed) -> Path:
    """Write the scores that a person would give to the first answers, judged or not."""
    answers, settings = read_all(runs)
    lines = []
    for answer in answers[:count]:
        rubric = settings.rubric_of(answer.task)
        line = {"id": answer.id, "score": give(answer), "note": "", "person": "Ana", "judge": settings.name}
        line |= {"judging": settings.sha256, "rubric": rubric.name, "rubric_sha256": rubric.sha256}
        lines.append(json.dumps(line | changed) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def strict(answer) -> int:
    """A person who gives one point less than the judge where that is possible."""
    return max(0, int(np.nan_to_num(answer.stored.points)) - 1)


def test_every_answer_has_the_same_chance_and_systems_and_scores_have_their_shares(judged_runs):
    answers, _ = read_all(judged_runs)
    judged = [answer for answer in answers if not np.isnan(answer.stored.points)]
    chosen = choose_answers(judged, 20, 0)
    assert Counter(answer.task.system for answer in chosen) == {"good": 10, "bad": 10}
    for system in ("good", "bad"):
        points = [[of.stored.points for of in some if of.task.system == system] for some in (judged, chosen)]
        assert abs(np.mean(points[0]) - np.mean(points[1])) < 0.25
    assert [answer.id for answer in choose_answers(judged[::-1], 20, 0)] == [answer.id for answer in chosen]
    assert [answer.task.system for answer in chosen] != sorted(answer.task.system for answer in chosen)
    times = Counter(answer.id for seed in range(400) for answer in choose_answers(judged, 20, seed))
    assert len(times) == 80 and max(abs(count - 100) for count in times.values()) < 45
    assert len({answer.id for answer in choose_answers(judged, 500, 0)}) == 80


@pytest.fixture
def page(judged_runs, tmp_path) -> Path:
    done = succeed("judge", "check", judged_runs, "-n", 12, "-o", tmp_path / "check.html")
    assert "12 of 80 judged answers" in done.stderr
    return tmp_path / "check.html"


def test_the_page_fetches_nothing_and_holds_no_markup_of_models(page):
    text = page.read_text(encoding="utf-8")
    assert "default-src &#39;none&#39;" in text and "window.hacked" not in text and "data-plotly" not in text
    assert len(text) < 2_000_000


def test_a_person_scores_with_the_keyboard_pauses_and_saves(page, judged_runs, open_page, tmp_path):
    here = open_page(page)
    tab = here.tab
    tab.locator("#review .card").wait_for()
    tab.fill("#review-person", "Ana 4")
    tab.locator("#review-person").blur()
    assert tab.locator(".revealed").count() == 0 and tab.locator("#review audio").count() == 1
    assert "<img" in tab.locator("#review .words").last.inner_text()
    tab.keyboard.press("Enter")
    assert tab.locator("#review-count").inner_text() == "Choose first"
    tab.keyboard.press("2")
    tab.keyboard.press("4")
    tab.keyboard.press("Enter")
    shown = tab.locator(".revealed").inner_text()
    assert "What the judge wrote" in shown and ("good" in shown or "bad" in shown)
    tab.keyboard.press("1")
    assert tab.locator("input[value='4']").is_checked() and tab.locator("input[value='4']").is_disabled()
    tab.keyboard.press("Enter")
    for _ in range(4):
        tab.keyboard.press("3")
        tab.keyboard.press("Enter")
        tab.keyboard.press("Enter")
    tab.fill("#review textarea", "4 words, not a grade")
    here.open()
    tab.locator("#review .card").wait_for()
    assert (
        tab.locator("#review-count").inner_text() == "5 of 12 judged" and tab.input_value("#review-person") == "Ana 4"
    )
    assert "6 of 12" in tab.locator("#review-items").inner_text()
    assert tab.input_value("#review textarea") == "4 words, not a grade"
    for _ in range(7):
        tab.keyboard.press("0")
        tab.keyboard.press("Enter")
        tab.keyboard.press("Enter")
    tab.keyboard.press("ArrowRight")
    assert "1 of 12" not in tab.locator("#review-items").inner_text()
    saved = tmp_path / "human_scores.jsonl"
    saved.write_text(here.download(tab.locator("#review-save")), encoding="utf-8")
    rows = [json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines()]
    assert Counter(row["score"] for row in rows) == {0: 7, 3: 4, 4: 1} and {row["person"] for row in rows} == {"Ana 4"}
    assert "Corrected" in siq("judge", "check", judged_runs, "--scores", saved, "--bootstrap", 100)


@pytest.fixture
def spoken_page(tmp_path) -> Path:
    """Return a page of ten replies, of which the first has its sound on this machine, and the second elsewhere."""
    results = write_judged(tmp_path / "spoken", "speaker", [float(i % 6) for i in range(10)])
    sounds = {"toy/0": "wildspeech/demo/clips/leap.ogg", "toy/1": "clips/ab/none.flac"}

    def speak(row):
        if path := sounds.get(row["doc"]["id"]):
            spoken = {"written": "", "audio": {"path": path, "sha256": "0a", "duration": 2.0}}
            row["filtered_resps"] = [json.dumps(json.loads(row["filtered_resps"][0]) | spoken)]

    edit_rows(results.parent, speak)
    succeed("judge", "check", results, "-o", tmp_path / "spoken.html")
    return tmp_path / "spoken.html"


def test_a_page_holds_the_sound_of_an_answer_that_was_spoken(spoken_page, page):
    text, plain = spoken_page.read_text(encoding="utf-8"), page.read_text(encoding="utf-8")
    assert "A the spoken answer" in text and "A the spoken answer" not in plain


def test_a_person_hears_the_spoken_answer(spoken_page, open_page):
    here = open_page(spoken_page)
    tab = here.tab
    tab.locator("#review .card").wait_for()
    heard = 0
    for _ in range(10):
        heard += tab.locator(".spoken audio").count()
        assert tab.locator("#review audio").count() == 1 + tab.locator(".spoken audio").count()
        if tab.locator(".spoken audio").count():
            assert tab.locator(".spoken audio").get_attribute("src").startswith("data:audio/ogg")
            tab.evaluate("document.querySelector('.spoken audio').play = async () => { window.played = true; }")
            tab.keyboard.press("a")
            assert tab.evaluate("window.played")
        tab.keyboard.press("ArrowRight")
    assert heard == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everyone_can_read_the_page(page, open_page, theme):
    here = open_page(page, color_scheme=theme, bypass_csp=True)
    here.tab.locator("#review .card").wait_for()
    for state in ("a question", "a verdict"):
        assert here.find_barriers() == [], state
        here.tab.keyboard.press("3")
        here.tab.keyboard.press("Enter")


def test_the_page_of_long_scales_takes_numbers(open_page, tmp_path):
    rubric = tmp_path / "percent.yaml"
    rubric.write_text("{name: percent, version: 1, kind: score, scale: [0, 100], prompt: '{answer}'}", encoding="utf-8")
    write_judged(tmp_path / "one", "one", [float(10 * i) for i in range(10)], rubric=str(rubric))
    write_judged(tmp_path / "ten", "ten", [float(1 + i) for i in range(10)], rubric="points_1_10", task="ten")
    succeed("judge", "check", tmp_path / "one", "-o", tmp_path / "check.html")
    here = open_page(tmp_path / "check.html")
    here.tab.fill("#review input[type=number]", "120")
    here.tab.keyboard.press("Enter")
    assert here.tab.locator(".revealed").count() == 0
    here.tab.fill("#review input[type=number]", "85")
    here.tab.keyboard.press("Enter")
    assert here.tab.locator(".revealed").count() == 1 and here.tab.input_value("#review input[type=number]") == "85"
    succeed("judge", "check", tmp_path / "ten", "-o", tmp_path / "ten.html")
    here = open_page(tmp_path / "ten.html")
    here.tab.locator("#review .card").wait_for()
    here.tab.keyboard.press("0")
    here.tab.keyboard.press("Enter")
    assert here.tab.locator(".revealed").count() == 1 and here.tab.locator("input[value='10']").is_checked()


def test_numbers_are_those_of_their_definitions(judged_runs, tmp_path):
    scores = write_scores(tmp_path / "ana.jsonl", judged_runs, strict)
    outputs = ["-o", tmp_path / "check.json", "-o", tmp_path / "check.csv"]
    done = succeed("judge", "check", judged_runs, "--scores", scores, *outputs)
    content = json.loads((tmp_path / "check.json").read_text())
    (found,) = content["rubrics"]
    answers, _ = read_all(judged_runs)
    both = [(of.stored.points, strict(of)) for of in answers[:60] if not np.isnan(of.stored.points)]
    judge, person = np.array(both, int).T
    every, bad, good = found["groups"]
    assert [of["system"] for of in found["groups"]] == ["", "bad", "good"] and found["unjudged"] == 2
    assert every["kappa"]["value"] == pytest.approx(
        cohen_kappa_score(judge, person, weights="quadratic", labels=range(6))
    )
    assert every["bias"]["value"] == pytest.approx((judge - person).mean())
    assert every["pearson"]["value"] == pytest.approx(pearsonr(judge, person).statistic)
    assert (
        every["bias"]["low"] < every["bias"]["value"] < every["bias"]["high"]
        and every["kappa"]["low"] < every["kappa"]["value"]
    )
    mean = np.nanmean([answer.stored.points for answer in answers])
    assert every["corrected"]["value"] == pytest.approx(mean - (judge - person).mean())
    assert (every["answers"], every["scored"], good["scored"], bad["scored"]) == (80, 58, 18, 40)
    assert np.sum(found["confusion"]) == 58
    assert np.array(found["confusion"])[found["grades"].index(4), found["grades"].index(5)] == (judge == 5).sum()
    rows = list(csv.DictReader((tmp_path / "check.csv").read_text().splitlines()))
    assert [row["system"] for row in rows] == ["", "bad", "good"]
    assert float(rows[1]["corrected"]) == pytest.approx(bad["corrected"]["value"])
    assert "Mean scores in % of the scale" in done.stdout and "+0." in done.stdout


def test_several_persons_and_rubrics_each_have_their_numbers(tmp_path):
    runs = tmp_path / "runs"
    random = np.random.default_rng(5)
    write_judged(runs / "a", "a", random.integers(0, 6, 30).astype(float).tolist())
    write_judged(runs / "b", "a", random.integers(0, 2, 30).astype(float).tolist(), rubric="right_wrong", task="right")
    ana = write_scores(tmp_path / "ana.jsonl", runs, lambda of: int(of.stored.points))
    ben = write_scores(tmp_path / "ben.jsonl", runs, lambda of: int(of.stored.points > 2), person="")
    printed, content = print_and_write("judge", "check", runs, "--scores", ana, "--scores", ben)
    assert [of["rubric"] for of in content["rubrics"]] == ["grade_0_5", "right_wrong"]
    assert content["persons"] == ["Ana", "ben"]
    grade = content["rubrics"][0]["persons"][0]
    assert (grade["a"], grade["b"], grade["items"]) == ("Ana", "ben", 30) and 0 < grade["kappa"]["value"] < 1
    assert "Agreement of people" in printed


def test_scores_of_the_same_answers_hold_for_another_judge_if_that_is_asked_for(judged_runs, tmp_path):
    scores = write_scores(tmp_path / "ana.jsonl", judged_runs, strict)
    points = [float(i % 6) for i in range(40)]
    other = write_judged(tmp_path / "other", "good", points, judge="openai:another")
    assert "no answer in these runs" in refusal("judge", "check", other, "--scores", scores)
    scores = write_scores(tmp_path / "ana.jsonl", judged_runs / "good", strict)
    refused = refusal("judge", "check", other, "--scores", scores)
    assert "'openai:another'" in refused and "--allow-mismatch" in refused
    succeed("judge", "check", other, "--scores", scores, "--allow-mismatch")


def test_two_judges_of_the_same_answers_are_compared_on_what_people_scored(tmp_path):
    random = np.random.default_rng(3)
    truth = random.integers(1, 5, 40)
    close, far = truth + random.integers(-1, 2, 40), random.integers(0, 6, 40)
    hidden = {"judging": {"scale": [0, 5], "options": {"checklist": "off"}}, "judge_identity": "4567"}
    runs = write_judged(tmp_path / "with", "good", [*close.astype(float), 3.0])
    without = write_judged(tmp_path / "without", "good", [*far.astype(float), np.nan], **hidden)
    scores = write_scores(
        tmp_path / "ana.jsonl", runs.parent, lambda of: int(truth[int(of.item[0].split("/")[1]) % 40])
    )
    printed, content = print_and_write("judge", "check", runs, without, "--scores", scores)
    first, second = content["judges"]
    assert second["judge"] == f"{first['judge']}, without checklists" and first["scored"] == second["scored"] == 40
    for row, judge in ((first, close), (second, far)):
        assert row["pearson"]["value"] == pytest.approx(pearsonr(judge, truth).statistic)
        assert row["spearman"]["value"] == pytest.approx(spearmanr(judge, truth).statistic)
    gain = second["gain"]
    assert gain["value"] == pytest.approx(second["pearson"]["value"] - first["pearson"]["value"])
    assert gain["low"] < gain["value"] < gain["high"] < 0 and first["gain"] is None
    assert "Judges against people" in printed and "Pearson" in printed


def test_answers_to_several_rubrics_are_compared_apart_and_too_few_are_named(tmp_path):
    random = np.random.default_rng(11)
    runs = [tmp_path / name / "runs" for name in ("one", "two")]
    for run, judge in zip(runs, ("openai:one", "openai:two"), strict=True):
        for task, rubric, count, high in (("graded", "grade_0_5", 40, 6), ("right", "right_wrong", 40, 2)):
            points = [*random.integers(0, high, count).astype(float)]
            write_judged(run / task, "good", points, rubric=rubric, task=task, judge=judge)
        write_judged(run / "few", "good", [5.0] * 4, rubric="points_1_10", task="few", judge=judge)

    def person(of) -> int:
        low, high = read_judge_settings([of.task]).rubric_of(of.task).scale
        return int(random.integers(low, high + 1))

    ana = write_scores(tmp_path / "ana.jsonl", runs[0], person, count=100)
    printed, content = print_and_write("judge", "check", *runs, "--scores", ana)
    rows = [(row["rubric"], row["scored"], row["judge"][:20]) for row in content["judges"]]
    first, second = "judged by openai:one", "judged by openai:two"
    graded = [("grade_0_5", 40, first), ("grade_0_5", 40, second)]
    assert rows == [*graded, ("right_wrong", 40, first), ("right_wrong", 40, second)]
    assert all(abs(row["pearson"]["value"]) < 0.4 for row in content["judges"])
    assert content["left_out"] == {"points_1_10": 4} and "scored answers: points_1_10 (4)" in printed
    printed, content = print_and_write("judge", "check", runs[0], "--scores", ana)
    assert content["left_out"] == {"points_1_10": 4} and "scored answers: points_1_10 (4)" in printed


def test_the_scores_of_another_rubric_are_taken_to_the_scale_of_the_people(tmp_path):
    points = [float(i % 6) for i in range(20)]
    one = write_judged(tmp_path / "one", "good", points)
    tens = [1 + 9 * point / 5 for point in points]
    two = write_judged(tmp_path / "two", "good", tens, rubric="points_1_10", judge="openai:another")
    ana = write_scores(tmp_path / "ana.jsonl", one.parent, lambda of: int(of.stored.points))
    _, content = print_and_write("judge", "check", one, two, "--scores", ana)
    assert [row["bias"]["value"] for row in content["judges"]] == pytest.approx([0, 0], abs=1e-9)


def test_two_judges_of_other_answers_are_not_compared(tmp_path):
    runs = write_judged(tmp_path / "one", "good", [1.0, 2.0] * 10)
    others = write_judged(tmp_path / "two", "bad", [1.0, 2.0] * 10, judge="openai:another")
    scores = write_scores(tmp_path / "ana.jsonl", runs.parent, strict)
    refused = refusal("judge", "check", runs, others, "--scores", scores)
    assert refused.startswith("0 answers with a score of every judge and of a person; give runs of the same answers")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": "feed"}, "no answer in these runs is 'feed'"),
        ({"score": 6}, "score 6 is not a whole number from 0 to 5"),
        ({"score": 2.5}, "score 2.5 is not a whole number"),
        ({"score": None}, "is not a score of `siq judge check`"),
        ({"rubric_sha256": "00", "rubric": "mine"}, "scored by rubric 'mine'"),
        ({"judging": "00", "judge": "hf:other"}, "about judge 'hf:other'"),
    ],
)
def test_scores_that_do_not_fit_are_refused_in_one_line(changed, message, judged_runs, tmp_path):
    scores = write_scores(tmp_path / "ana.jsonl", judged_runs, strict, **changed)
    done = refusal("judge", "check", judged_runs, "--scores", scores)
    assert message in done and "ana.jsonl' line 1" in done


def test_too_few_double_and_missing_scores_are_refused(judged_runs, tmp_path):
    few = write_scores(tmp_path / "few.jsonl", judged_runs, strict, count=9)
    assert "9 answers with a score" in refusal("judge", "check", judged_runs, "--scores", few)
    assert "already scored by this person" in refusal("judge", "check", judged_runs, "--scores", few, "--scores", few)
    (tmp_path / "empty.jsonl").touch()
    assert "has no scores" in refusal("judge", "check", judged_runs, "--scores", tmp_path / "empty.jsonl")


def test_a_check_that_cannot_be_made_is_refused_in_one_line(judged_runs, two_runs, tmp_path):
    page = tmp_path / "page.html"
    several = write_judged(tmp_path / "several", "third", [1.0] * 20, judge="openai:another")
    assert "judge is" in refusal("judge", "check", judged_runs, several, "-o", page)
    assert "no judged task in" in refusal("judge", "check", two_runs / "good", "-o", page)
    assert "scored 3 answers of these runs; a check needs at least 10" in refusal(
        "judge", "check", write_judged(tmp_path / "few", "few", [1.0] * 3), "-o", page
    )
    stale = write_judged(tmp_path / "stale", "stale", [1.0] * 20, judge_rubric_sha256="00")
    assert "has another content now" in refusal("judge", "check", stale, "-o", page)
    assert "name one page" in refusal("judge", "check", judged_runs)
    assert "name one page" in refusal("judge", "check", judged_runs, "-o", tmp_path / "numbers.json")
    page.touch()
    assert "exists" in refusal("judge", "check", judged_runs, "-o", page)
