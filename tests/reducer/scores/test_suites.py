"""A suite from outside the package (docs/tutorials/new_suite.md): run by lm-eval, scored, compared and reported."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.commands import as_json, print_and_write, refusal, siq
from tests.conftest import run
from tests.reducer.conftest import write_skills
from tests.warm import lm_eval, run_warm

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "tutorials" / "new_suite.md"
SYSTEMS = ("gold", "silence")
FILES = {
    "python": ["keywords/missed.py"],
    "yaml": ["keywords/keywords_names.yaml", "keywords/keywords_numbers.yaml"],
    "toml": ["pyproject.toml"],
}
INSTALL = ("python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target")
TASKS = ("--tasks", "keywords_names,keywords_numbers")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder into which pip installed the suite of the docs."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    source.joinpath("keywords").mkdir()
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for kind, names in FILES.items():
        for name, text in zip(names, (text for of, text in blocks if of == kind), strict=True):
            source.joinpath(name).write_text(text, encoding="utf-8")
    done = run(*INSTALL, str(target), str(source))
    assert done.returncode == 0, done.stderr[-3000:]
    shutil.rmtree(source)
    return target


@pytest.fixture(scope="module")
def keywords(installed, tmp_path_factory) -> Path:
    """Runs of two systems on the installed suite, which no file of this package names."""
    runs = tmp_path_factory.mktemp("runs")
    places = ("--include_path", str(installed / "keywords"), "--log_samples", "--output_path", str(runs))
    for system in SYSTEMS:
        done = run_warm(lm_eval, "--model", "hf-audio", "--model_args", f"pretrained={system}", *TASKS, *places)
        assert done.returncode == 0, done.stderr[-3000:]
    return runs


@pytest.fixture
def both(keywords, tmp_path) -> Path:
    """Runs of SIQ and of the suite in one folder."""
    shutil.copytree(keywords, tmp_path / "runs" / "keywords")
    return write_skills(tmp_path / "runs", {f"s{skill}": skill for skill in (0.1, 0.5, 0.9)})


def test_pip_installs_all_of_it(installed):
    files = {file.name for file in installed.joinpath("keywords").iterdir() if file.is_file()}
    assert files == {Path(name).name for kind in ("python", "yaml") for name in FILES[kind]}


def test_it_is_scored_with_intervals(keywords, tmp_path):
    shown = siq("score", keywords, "-o", tmp_path / "o.json", "-o", tmp_path / "o.csv")
    assert "Suite keywords" in shown and "Speech IQ" not in shown and "missed %" in shown
    data = json.loads((tmp_path / "o.json").read_text())
    suite = data["suites"]["keywords"]
    assert {*suite["measures"]} == {"names", "numbers"} and suite["measures"]["names"]["direction"] == "lower"
    best, other = suite["systems"]
    assert best["system"] == SYSTEMS[0] and best["control"] == "gold" and best["mean_rank"] is None
    names = best["categories"]["names"]
    low, high = names.pop("interval")
    assert names == {"score": 0.0, "direction": "lower", "std": 0.0, "rank": None} and low == 0 < high < 0.5
    low, high = other["categories"]["numbers"]["interval"]
    assert 0 <= low < other["categories"]["numbers"]["score"] < high <= 1 and other["mean_rank"] is None
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    assert [row["suite"] for row in rows] == ["keywords"] * 2
    assert [float(row["names_score"]) for row in rows] == [0.0, 1.0]


def test_the_mean_is_that_of_lm_eval(keywords):
    suite = as_json("score", keywords, "--bootstrap", "0")["suites"]["keywords"]
    scores = {row["system"]: row["categories"] for row in suite["systems"]}
    for path in keywords.glob("*/results_*.json"):
        results = json.loads(path.read_text())
        for category in ("names", "numbers"):
            mean = results["results"][f"keywords_{category}"]["missed,none"]
            assert scores[results["config"]["siq"]["pretrained"]][category]["score"] == pytest.approx(mean)


def test_it_is_exported_for_lm_evals_tools_and_not_taken_for_a_run(keywords, tmp_path):
    siq("score", keywords, "-o", tmp_path / "out")
    files = sorted((tmp_path / "out").glob("*/results_*.json"))
    assert len(files) == 2
    for path in files:
        results = json.loads(path.read_text())
        assert results["group_subtasks"] == {"keywords": ["keywords_names", "keywords_numbers"]}
        assert results["higher_is_better"]["keywords_names"] == {"missed": False}
        assert {"missed,none", "missed_stderr,none"} <= results["results"]["keywords_names"].keys()
        assert "mean_rank,none" in results["groups"]["keywords"]
    assert "no SpeechIQ results" in refusal("score", tmp_path / "out")


def test_two_systems_are_compared(keywords):
    shown, content = print_and_write("compare", "gold", "silence", keywords, "--clips", "1")
    assert "A is better beyond chance, by the intervals of names, numbers" in shown and "SIQ" not in shown
    assert "Haverbrook" in shown, "the clip that decides has its reference"
    found = content["suites"]["keywords"]
    assert found["better"] == SYSTEMS[0] and found["scores"]["names"]["p"] < 0.01
    assert found["scores"]["names"]["difference"] == -1.0, "the sign is that of the column"
    assert (found["measures"]["names"]["direction"], found["scores"]["names"]["better"]) == ("lower", SYSTEMS[0])
    shown = siq("compare", "gold", "silence", keywords, "--levels", "numbers", "--clips", "0")
    assert "by the intervals of numbers" in shown


def test_it_has_a_page(keywords, tmp_path, open_page):
    page = tmp_path / "report.html"
    siq("score", keywords, "-o", page, "--bootstrap", "100")
    here = open_page(page)
    assert here.tab.locator("h1").inner_text() == "Suite keywords"
    assert here.tab.locator("#suite-keywords-standings tbody tr").count() == 2
    for chart in here.tab.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg.main-svg").first.wait_for()
    assert here.tab.locator(".chart").count() == 2
    assert here.tab.locator("details table tbody tr").count() == 2 * 14
    assert "Haverbrook" in page.read_text()
    here.tab.locator("html[data-drawn]").wait_for(state="attached")
    here.tab.emulate_media(media="print")
    here.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert here.tab.locator(".chart svg.main-svg").first.evaluate("(one) => one.width.baseVal.value") == 1024
    assert here.tab.locator("details:not([open])").count() == 0


def test_both_suites_have_their_table(both, tmp_path):
    shown = siq("score", both, "-o", tmp_path / "o.json", "-o", tmp_path / "o.csv", "--group-by", "dataset")
    assert shown.index("Speech IQ") < shown.index("Suite keywords")
    data = json.loads((tmp_path / "o.json").read_text())
    assert [row["system"] for row in data["systems"]] == ["s0.9", "s0.5", "s0.1"]
    assert [*data["suites"]] == ["keywords"]
    rows = list(csv.DictReader((tmp_path / "o.csv").read_text().splitlines()))
    assert {row["suite"] for row in rows} == {"siq", "keywords"}
    assert all(bool(row["siq"]) == (row["suite"] == "siq") for row in rows)


def test_siq_beside_another_suite_is_what_it_is_alone(both):
    together, alone = as_json("score", both), as_json("score", *(both / f"s{skill}" for skill in (0.1, 0.5, 0.9)))
    del together["suites"]
    for key in ("runs", "command", "date", "run_dates", "run_versions", "datasets"):
        del together[key], alone[key]
    assert together == alone


def test_a_page_has_both(both, tmp_path, open_page):
    page = tmp_path / "report.html"
    siq("score", both, "-o", page, "--bootstrap", "100")
    here = open_page(page)
    assert here.tab.locator("#standings tbody tr").count() == 3
    assert here.tab.locator("#suite-keywords-standings tbody tr").count() == 2
    here.see_all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--levels", "nombres"], "--levels nombres: unknown level 'nombres'; did you mean numbers?"),
        (["--metrics", "names=hit"], "--metrics names=hit: unknown column 'hit'; known are missed"),
        (["--weights", "equal"], "--weights equal: only SIQ has this option, and these runs have only suite keywords"),
        (["--norms", "demo"], "--norms demo: only SIQ has this option"),
    ],
)
def test_what_a_suite_lacks_is_refused(keywords, arguments, message):
    for command in (["score", keywords], ["score", keywords, "-o", keywords / "no.html"]):
        assert message in refusal(*command, *arguments)


def test_a_category_can_be_left_out(both):
    shown = siq("score", both, "--levels", "numbers")
    assert "Numbers" in shown and "Names" not in shown and "Speech IQ" not in shown


def test_suites_that_two_systems_do_not_share_are_not_compared(both):
    assert refusal("compare", "gold", "s0.9", both).startswith("A ran suite keywords and B ran siq: give runs of")
