"""`siq compare` as a user meets it."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from speechiq.reducer.output.page.review import review_questions
from speechiq.reducer.runs.texts import differing, read_transcripts
from speechiq.reducer.scores.suites import read_answers, read_systems
from speechiq.reducer.studies.unanswerable import find_unanswerable
from tests.commands import call, print_and_write, refusal, succeed
from tests.records import edit_rows
from tests.reducer.conftest import frozen_set, levels, write_run, write_skills

succeeding = partial(succeed, "compare", "--bootstrap", "60")
refused_by = partial(refusal, "compare", "--bootstrap", "60")
comparing = partial(print_and_write, "compare", "--bootstrap", "60")
siq_compare = partial(call, "compare", "--bootstrap", "60")

REFERENCE = "We sail at nine, Captain."
OTHER_LANGUAGE = "prompt_language is en in system 'org/good' and 'own, version 1' in system 'org/bad'"
HOSTILE = "[bold]We[/bold] \x1b[2Jsail\u202e at <script>ten"


def write_system(folder: Path, name: str, skill: float, text: str = "we sail at nine captain", **options) -> Path:
    """A run of which every row says something: the transcript at Remember, a vote at Apply."""
    results = write_run(folder, levels(skill, clips=12), system=name, **options)

    def answer(row):
        row["doc"] |= {"text": REFERENCE, "question": "When?", "options": ["at nine", "at ten"], "answer": "A"}
        letter = "A" if row.get("acc") == 1.0 else "B"
        row["filtered_resps"] = [[letter, ["A", letter]]] if "acc" in row else [text]

    edit_rows(folder, answer, f"samples_*{results.stem.removeprefix('results_')}.jsonl")
    return folder


@pytest.fixture
def three_runs(tmp_path: Path) -> Path:
    write_system(tmp_path / "good", "org/good", 0.9)
    write_system(tmp_path / "bad", "org/bad", 0.1, text=HOSTILE)
    write_system(tmp_path / "middle", "org/middle", 0.5)
    return tmp_path


def test_questions_with_two_options_are_reviewed_with_the_letter_of_none(three_runs):
    review = review_questions(find_unanswerable(read_answers([three_runs])))
    assert review.items[0].passages[0].text == "(A) at nine\n(B) at ten\n(E) None of the above"


def test_names_in_a_pool(three_runs):
    printed, data = comparing("good", "org/bad", three_runs, "--explain")
    lines = printed.splitlines()
    assert lines[:2] == ["A: org/good", "B: org/bad"]
    assert "A is better beyond chance, by the intervals of remember, understand, apply, siq" in lines
    assert "SIQ on the scale of the pool of 3 systems, inverse-std" in lines
    assert "95 % intervals from 60 bootstrap samples of 12 clips, seed 0" in lines
    assert any(line.startswith("Small test set (12 clips): 95 % intervals of SIQ") for line in lines)
    row = next(line for line in lines if "Remember WER %" in line).split()
    assert row[3:6] == ["5.42", "48.75", "-43.33"] and row[-1] == "A", "a lower error rate speaks for A"
    assert (data["a"], data["b"], data["better"]) == ("org/good", "org/bad", "org/good")
    assert data["scale"] == "the pool of 3 systems, inverse-std" and data["mismatches"] == []
    assert "(12 clips)" in data["caution"] and "of simulated sets" in data["caution"]


@pytest.mark.parametrize(("clips", "better"), [(5, None), (6, "good")])
def test_fewer_than_six_clips_have_no_verdict(tmp_path, clips, better):
    for name, skill in (("good", 1.0), ("bad", 0.0)):
        write_run(tmp_path / name, levels(skill, clips=clips), system=name)
    printed, data = comparing("good", "bad", tmp_path, "--levels", "apply")
    assert data["better"] == better and data["scores"]["apply"]["better"] == "good"
    few = "no verdict: it needs 6 clips that no others belong to (calls, speakers), since p cannot be below 0.05 with"
    assert (few in " ".join(printed.split())) == (better is None)


def test_two_folders_have_no_siq_until_there_is_a_scale(three_runs, tmp_path):
    folders = three_runs / "good", three_runs / "bad"
    alone = succeeding(*folders)
    assert "no SIQ: two systems alone always have Z +1 and -1" in alone.stdout and " SIQ  " not in alone.stdout
    with_pool = siq_compare(*folders, three_runs / "middle")
    assert "SIQ on the scale of the pool of 3 systems" in with_pool.stdout
    norms = tmp_path / "three.json"
    succeed("score", three_runs, "--save-norms", norms)
    on_norms = siq_compare(*folders, "--norms", norms)
    assert "SIQ on the scale of three (" in on_norms.stdout
    siq = [next(line for line in of.stdout.splitlines() if line.startswith("  SIQ ")) for of in (with_pool, on_norms)]
    assert siq[0].split()[:4] == siq[1].split()[:4], "norms of that very pool"


def test_clips_that_drive_the_difference_stand_side_by_side(three_runs):
    result = siq_compare("good", "bad", three_runs, "--clips", 2)
    assert result.stdout.count("Reference") == 2
    clip = next(line for line in result.stdout.splitlines() if line.startswith("demo/"))
    assert " of +" in clip and "SIQ (Remember +" in clip
    assert REFERENCE in result.stdout and "When? Right: A at nine" in result.stdout
    assert "A (AA)" in result.stdout and "B (AB)" in result.stdout
    assert "\x1b" not in result.stdout and "\u202e" not in result.stdout
    assert "[we sail] at [nine captain]" in result.stdout
    assert "[[bold]We[/bold] \ufffd[2Jsail\ufffd] at [<script>ten]" in result.stdout
    assert "Reference" not in siq_compare("good", "bad", three_runs, "--clips", 0).stdout
    by_metric = siq_compare("good", "bad", three_runs, "--metrics", "wer", "--clips", 1)
    assert "[we sail] at [nine captain]" in by_metric.stdout, by_metric.output


def test_a_small_difference_of_a_metric_is_visible(tmp_path):
    for name, similarity, seconds in (("one", 0.995, 0.1234), ("two", 0.992, 0.1229)):
        write_run(
            tmp_path / name,
            {"understand": {f"demo/{clip}": similarity for clip in range(6)}},
            name,
            columns={"understand": {"total_s": seconds}},
            higher_is_better={"demo_0": {"total_s": False}},
        )
    for metric, shown in (
        ("similarity", ["Similarity", "%", "99.50", "99.20", "+0.30"]),
        ("total_s", ["Total", "S", "0.1234", "0.1229", "+0.0005"]),
    ):
        printed = succeeding("one", "two", tmp_path, "--metrics", metric).stdout
        assert any(line.split()[: len(shown)] == shown for line in printed.splitlines()), printed


def test_what_scores_hide_stands_beside_them(three_runs):
    write_system(three_runs / "bad", "org/bad", 0.1, date=3.0, columns={"apply": {"unparsed": 0.25}})
    printed, content = comparing("good", "bad", three_runs, "--explain")
    rows = {line.split(" %")[0].strip(): line.split()[-2:] for line in printed.splitlines() if " %  " in line}
    assert rows["Unreadable"] == ["—", "25.0"] and not rows.keys() & {"Audio cut", "Repetition", "Wrong language"}
    meanings = "Unreadable: answers without a letter; None of the above: questions answered with (E); Audio cut: clips"
    assert meanings in printed
    flags = content["flags"]
    assert (flags["a"]["unparsed"], flags["b"]["unparsed"], flags["b"]["repetition"]) == (None, 0.25, None)


def test_questions_left_out_are_told(three_runs):
    asked = {"question": "When?", "options": ("at nine", "at ten")}
    frozen = frozen_set(three_runs / "set.json", ("demo/0", "demo/0#0"), **asked)
    printed, told = comparing("good", "bad", three_runs, "--exclude", frozen, "--explain")
    sha256 = json.loads(frozen.read_text())["sha256"]
    assert (told["excluded"], told["excluded_set"]) == (1, sha256)
    assert f"left out of Apply: 1 question of the unanswerable set {sha256[:12]}\n" in printed
    assert "left out" not in siq_compare("good", "bad", three_runs).stdout


def test_a_choice_between_runs_is_told_once(three_runs):
    write_system(three_runs / "good" / "again", "org/good", 0.8, date=5.0)
    for arguments in ([three_runs / "good", three_runs / "bad"], [three_runs / "good", "bad", three_runs]):
        result = succeeding(*arguments)
        assert "warning" not in result.stdout
        assert result.stderr.count("siq: warning: system 'org/good' has several runs") == 1


def test_what_must_agree_is_asked_for(three_runs):
    result = siq_compare("good", "bad", three_runs, "--levels", "apply, siq")
    assert "by the intervals of apply, siq\n" in result.stdout
    row = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["SIQ"])
    assert row.split()[-1] == "A"


def test_two_runs_of_one_system_are_told_apart_by_their_folders(tmp_path):
    write_system(tmp_path / "before", "org/same", 0.3)
    write_system(tmp_path / "after", "org/same", 0.8, date=7.0)
    result = siq_compare(tmp_path / "after", tmp_path / "before")
    assert result.stdout.splitlines()[0] == f"A: org/same ({tmp_path}/after)"
    assert "A is better" in result.stdout
    (tmp_path / "link").symlink_to(tmp_path / "after")
    for again in ("after", "link"):
        itself = siq_compare(tmp_path / "after", tmp_path / again)
        assert "A and B are one run of system 'org/same': give two systems" in str(itself.exception)
    write_system(tmp_path / "again", "org/same", 0.8, date=9.0)
    printed, twin = comparing(tmp_path / "after", tmp_path / "again")
    assert "have the same score on every clip of every level" in printed
    assert "neither is better" in printed and "Reference" not in printed and len(twin["identical"][0]) == 2


@pytest.mark.parametrize(
    ("metadata", "clips", "fault", "mark"),
    [
        ({"prompt_version": 2}, 11, "prompt_version is 1", "11 clips"),
        ({"prompt_language": "own", "prompt_language_version": 1}, 12, OTHER_LANGUAGE, "prompt_language"),
    ],
)
def test_runs_on_other_terms_are_refused_or_marked(three_runs, metadata, clips, fault, mark):
    other = {"apply": metadata}
    write_run(three_runs / "bad", levels(0.1, clips=clips), system="org/bad", date=9.0, metadata=other)
    assert fault in refused_by(three_runs / "good", three_runs / "bad")
    marked = siq_compare(three_runs / "good", three_runs / "bad", "--allow-mismatch")
    assert "not on equal terms: " in marked.stdout and mark in marked.stdout


def test_failures_count_over_what_is_compared(three_runs):
    write_system(three_runs / "good", "org/good", 0.9, date=2.0, columns={"apply": {"unparsed": 0.0}})
    (path,) = three_runs.glob("good/samples_demo_2*02.*")
    path.write_text(path.read_text().replace('"unparsed": 0.0', '"unparsed": 1.0', 3))
    lacking = {
        level: {clip: of[clip] for clip in of if clip != "demo/0"} for level, of in levels(0.1, clips=12).items()
    }
    write_run(three_runs / "bad", lacking, system="org/bad", date=9.0)
    shown = siq_compare(three_runs / "good", three_runs / "bad", "--allow-mismatch").stdout
    assert next(line for line in shown.splitlines() if "Unreadable %" in line).split()[2:] == ["0.0", "—"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good", "bad"], "'good' is not a folder or file; .* siq compare NAME_A NAME_B RUNS"),
        (["org", "bad", "{root}"], "'org' is part of 3 names: .* 'org/bad', 'org/good', 'org/middle'"),
        (["good", "best", "{root}"], "'best' is in no system's name: .* 'org/bad', 'org/good', 'org/middle'"),
        (["org/godd", "bad", "{root}"], "did you mean org/good\\? "),
        (["{root}", "bad", "{root}"], "has 3 systems .* name one: siq compare NAME_A NAME_B RUNS"),
        (["good", "x" * 300, "{root}"], "is in no system's name"),
        (["good", "bad", "{root}", "--levels", "wer"], "levels 'wer': name some of"),
        (["good", "bad", "{root}", "--levels", "aply"], "levels 'aply': did you mean apply\\? "),
        (["{root}/nowhere", "bad", "--weights", "magic"], "unknown rule of level weights 'magic'"),
        (["{root}/good", "{root}/bad", "--weights", "equal"], "weights equal: they have no effect here"),
        (["good", "bad", "{root}/nowhere"], "cannot be read"),
    ],
)
def test_errors_are_one_line_that_lists_what_there_is(three_runs, arguments, message):
    assert re.search(message, refused_by(*(argument.format(root=three_runs) for argument in arguments)))


def test_rows_of_other_makers_lend_what_they_have(tmp_path):
    write_run(tmp_path, levels(0.5, clips=1), system="plain")
    (system,) = read_systems([tmp_path])
    said = read_transcripts(system.tasks, ["demo/0", "demo/9"])
    assert said["demo/0"].text == "hi" and said["demo/0"].reference == "hi"
    assert [answer.answer for answer in said["demo/0"].answers.values()] == ["hi"] * 3
    assert said["demo/9"] == ("", "", {})


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("", "", ([], [])),
        ("", "a b", ([], [True, True])),
        ("a b", "", ([True, True], [])),
        ("Well , no.", "well no", ([False, True, False], [False, False])),
        ("-- \u00df", "-- SS", ([False, False], [False, False])),
    ],
)
def test_words_that_differ(one, other, apart):
    assert tuple([word[1] for word in words] for words in differing(one, other)) == apart
    assert tuple(" ".join(word[0] for word in words) for words in differing(one, other)) == (one, other)


def test_one_rule_decides_and_is_said(tmp_path):
    other = levels(0.9, clips=12) | {"remember": levels(0.1, clips=12)["remember"]}
    write_run(tmp_path / "a", levels(0.9, clips=12), system="a")
    write_run(tmp_path / "b", other, system="b")
    shown = siq_compare(tmp_path / "a", tmp_path / "b", "--explain").stdout
    assert (
        "neither is better beyond chance: A is better in remember; neither in understand, apply. "
        "A system is better only if it is in all of remember, understand, apply\n"
    ) in shown
    assert "p (permutation test) has no part in it" in shown
    by_one = siq_compare(tmp_path / "a", tmp_path / "b", "--levels", "remember").stdout
    assert "A is better beyond chance, by the intervals of remember\n" in by_one


def test_without_draws_there_is_p_alone(three_runs):
    printed, data = print_and_write("compare", "good", "bad", three_runs, "--bootstrap", 0)
    assert "no verdict: it rests on the intervals, which --bootstrap 0 leaves out" in printed
    assert "bootstrap samples" not in printed
    assert data["better"] is None and data["siq"]["low"] is None and 0 < data["siq"]["p"] < 0.05
    assert data["siq"]["difference"] == pytest.approx(data["siq"]["a"] - data["siq"]["b"], abs=1e-8)


def test_without_apply_two_levels_are_compared(tmp_path):
    for name, skill in (("a", 0.9), ("b", 0.1), ("c", 0.5)):
        lacking = {level: of for level, of in levels(skill, clips=12).items() if level != "apply"}
        write_run(tmp_path / "without" / name, lacking, system=name)
    write_skills(tmp_path / "with", {"a": 0.9, "b": 0.1, "c": 0.5}, clips=12)
    two = succeeding("a", "b", tmp_path / "without", "--clips", 0)
    assert "by the intervals of remember, understand\n" in two.stdout and " SIQ  " not in two.stdout
    assert "no SIQ: it needs Apply as well as Remember and Understand; " in two.stdout
    mixed = tmp_path / "with" / "a", tmp_path / "without" / "b"
    assert "or score only what all systems have: --levels remember,understand" in refused_by(*mixed)
    asked = succeeding(*mixed, "--levels", "remember,understand", "--clips", 0)
    assert "Apply acc. %" not in asked.stdout
    whole = siq_compare("a", "b", tmp_path / "with", "--levels", "remember,understand", "--clips", 0)
    assert "Apply acc. %" in whole.stdout and "by the intervals of remember, understand\n" in whole.stdout
    refused = refused_by("a", "b", tmp_path / "without", "--levels", "siq")
    assert "siq cannot be compared here: it needs Apply" in refused


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_number_breaks_at_any_width(three_runs, monkeypatch, width):
    monkeypatch.setattr("speechiq.reducer.output.terminal.PIPE_WIDTH", width)
    shown = siq_compare("good", "bad", three_runs, "--clips", 0).stdout
    assert "…" not in shown and "better" in shown
    assert max(map(len, shown.splitlines())) <= width
    numbers = [line.split()[1:] for line in shown.splitlines() if line.split()[:1] in (["SIQ"], ["[7]"])]
    a, b, gap, *_ = [number for line in numbers for number in line if number[-1].isdigit()]
    assert float(a) > 100 > float(b) and "+" in gap


def test_another_column_is_compared(tmp_path):
    write_skills(tmp_path, {"a": 0.9, "b": 0.1}, clips=12, columns={"remember": {"cer": 0.25}})
    printed, data = comparing(tmp_path / "a", tmp_path / "b", "--metrics", "remember=cer")
    row = next(line for line in printed.splitlines() if "Remember CER %" in line).split()
    assert row[3:6] == ["25.00", "25.00", "+0.00"]
    assert data["measures"]["remember"]["column"] == "cer" and data["schema"] == "speechiq-comparison"
    assert data["runs"] == [str(tmp_path / "a"), str(tmp_path / "b")] and data["command"].startswith("siq")


def test_the_verdict_and_the_numbers_fit_a_small_terminal(three_runs, monkeypatch):
    monkeypatch.setattr("speechiq.reducer.output.terminal.PIPE_WIDTH", 80)
    lines = siq_compare("good", "bad", three_runs).stdout.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) <= 40 and "Reference" not in "".join(lines)
    assert any(line.startswith("A is better beyond chance") for line in lines)
    assert lines[-1].endswith("more: --explain)")
    assert "[words] in brackets" in siq_compare("good", "bad", three_runs, "--clips", 1, "--explain").stdout
