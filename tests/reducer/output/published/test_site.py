"""The site of a registry as a person meets it, in a real browser without a network."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from urllib.parse import quote

import msgspec
import numpy as np
import pytest
from scipy import stats

from speechiq.reducer.output.published.check import restore
from speechiq.reducer.output.published.folder import folder_of_system, read_result, write_results
from speechiq.reducer.output.published.record import draft
from speechiq.reducer.output.published.schema import Declaration, Result
from speechiq.reducer.output.published.site import build_site
from speechiq.reducer.scores import norms, suites
from speechiq.reducer.scores.suites import ScoringOptions
from tests.commands import refusal, siq
from tests.reducer.browser import Visit
from tests.test_docs import REGISTRY

BASE, TINY, SPHINX = (
    f"{asr}+demo:SmolLM2-135M-Instruct" for asr in ("demo:whisper-base", "demo:whisper-tiny.en", "pocketsphinx:en-us")
)
#: Names that the check allows, and texts, which may be anything.
HOSTILE = """x" onmouseover="hacked=1" autofocus onfocus='hacked=2' &lt;b&gt; {{ 7 * 7 }} %{x} a/b"""
SCRIPT = "</script><script>window.hacked = 3</script><img src=x onerror='window.hacked = 4'>{{ 7 * 7 }}"
BOARD = "Speech IQ on norms demo@1"
DECLARED = Declaration(contamination="none known", interests=HOSTILE, openness="closed", parameters=12.5)
SIZES = {"desk": {"width": 1300, "height": 900}, "phone": {"width": 390, "height": 844}}


def publish(results: Path, place: Path, change: Callable[[Result], Result], answer: str = "") -> None:
    """Publish the rows of a result again, as the changed result describes them, with another answer in Understand."""
    result = read_result(place)
    contents = {
        task.task: gzip.decompress(next(place.glob(f"rows/{task.task}.*")).read_bytes()) for task in result.tasks
    }
    if answer:
        lines = [json.loads(line) for line in contents["siq_demo_understand"].splitlines()]
        encoder = msgspec.json.Encoder()
        contents["siq_demo_understand"] = encoder.encode_lines([line | {"resps": [[answer]]} for line in lines])
    changed = change(result)
    runs = results.parent / f"runs of {folder_of_system(changed.system)}"
    runs.mkdir()
    restore(changed, contents, runs)
    demo = norms.read_norms("demo")
    found = suites.find_suites([runs], False, ScoringOptions(norms=demo))
    list(write_results(list(draft(found, demo, {changed.system: changed.declaration}, texts=True)), results))


def make_older(result: Result) -> Result:
    tasks = [msgspec.structs.replace(task, date=task.date - 86_400) for task in result.tasks]
    return msgspec.structs.replace(result, tasks=tasks)


def make_hostile(result: Result) -> Result:
    described = result.description | {"asr": {"model": SCRIPT}}
    declared = msgspec.structs.replace(
        DECLARED, url="https://example.org/?a=1&b=2", withdrawn={"apply": "wrong prompt &"}
    )
    return msgspec.structs.replace(result, system=HOSTILE, description=described, declaration=declared)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """The demo's systems, one of them on two days, and one with a hostile name and texts in place of another."""
    results = shutil.copytree(REGISTRY / "results", tmp_path_factory.mktemp("registry") / "results")
    (sphinx,), (tiny,) = results.glob("pocket*/*"), results.glob("*tiny*/*")
    publish(results, sphinx, make_hostile, SCRIPT)
    shutil.rmtree(sphinx.parent)
    publish(results, tiny, make_older)
    return results


@pytest.fixture(scope="module")
def site(results) -> Path:
    siq("publish", "site", results, "--output", results.parent / "site")
    return results.parent / "site"


@pytest.fixture
def visit(open_page, site) -> Callable[..., Visit]:
    return lambda page="index.html", **options: open_page(site / page, **options)


def names(here: Visit) -> list[str]:
    return here.tab.locator("table.cards tbody tr:visible .setup bdi").all_inner_texts()


def test_the_leaderboard_has_the_newest_results_and_its_address_holds_the_view(visit):
    here = visit()
    assert names(here) == [BASE, TINY, HOSTILE, "gold+demo:SmolLM2-135M-Instruct", "silence+demo:SmolLM2-135M-Instruct"]
    row = here.tab.locator("table.cards tr", has_text=HOSTILE)
    assert row.locator(".siq").inner_text().split() == ["withdrawn", "wrong", "prompt", "&"]
    assert row.locator(".rank").first.inner_text().startswith("—")
    here.tab.locator("table.cards th", has_text="Remember").locator("button").press("Enter")
    assert names(here)[0] == BASE and here.tab.url.endswith("#board-1?sort=Remember")
    here.tab.locator("select[data-filter=openness]").select_option("weights")
    assert names(here) == [BASE, TINY] and here.tab.locator(".count").inner_text() == "2 of 5 systems"
    here.open("#board-1?type=Cascade&size=above+10+billion")
    assert names(here) == [HOSTILE]
    here.open("#board-1?date=2999-01-01")
    assert names(here) == [] and here.tab.get_by_text("No system matches").is_visible()
    here.open("#board-1?q=TINY")
    assert names(here) == [TINY]


def test_without_scripts_the_tables_can_be_read(visit):
    here = visit(java_script_enabled=False)
    assert names(here)[0] == BASE
    here.tab.get_by_role("link", name=BASE).click()
    assert here.tab.locator("h1").inner_text() == BASE
    assert "lm_eval --model hf-audio" in here.tab.locator("pre").inner_text()


def test_a_system_has_its_declaration_and_history(visit):
    here = visit(f"systems/{folder_of_system(TINY)}.html")
    here.tab.locator(".chart svg.main-svg").first.wait_for()
    history = here.tab.locator("table[data-name^=history] tbody th").all_inner_texts()
    newest = datetime.strptime(history[0], "%Y-%m-%d %H:%M")
    assert history[1] == f"{newest - timedelta(days=1):%Y-%m-%d %H:%M}"
    here = visit(f"systems/{folder_of_system(HOSTILE)}.html")
    assert here.tab.locator("h1").inner_text() == HOSTILE and SCRIPT in here.tab.locator("dl.settings").inner_text()
    link = here.tab.locator("a[rel]")
    assert link.get_attribute("href") == "https://example.org/?a=1&b=2" and here.tab.locator(".chart").count() == 0
    here.tab.get_by_role("link", name="Compare it").click()
    here.tab.locator("#compare-table tbody th").first.wait_for()
    assert here.tab.locator("#compare-a").input_value() == HOSTILE


def read_rates(results: Path, name: str) -> list[float]:
    """Return the word error rate of each clip in per cent, from the published rows."""
    place = next(results.glob(f"{folder_of_system(name)}/*"))
    rows = gzip.decompress(next(place.glob("rows/siq_demo_remember.*")).read_bytes())
    return [100 * json.loads(line)["wer"] for line in rows.splitlines()]


def test_two_systems_are_compared_by_keyboard(visit, results):
    here = visit("compare.html")
    # A key that is pressed while the menus are filled would get lost.
    here.tab.locator("#compare-table tbody th").first.wait_for()
    here.tab.locator("#compare-b").focus()
    here.tab.keyboard.type("gold")
    here.tab.wait_for_function("() => document.querySelector('#compare-b').value.startsWith('gold')")
    gold = "gold+demo:SmolLM2-135M-Instruct"
    assert here.tab.url.endswith("#compare/" + "/".join(quote(part, safe="") for part in (BOARD, BASE, gold)))
    remember = here.tab.locator("#compare-table tr", has_text="Remember")
    scores = [read_result(next(results.glob(f"{folder_of_system(name)}/*"))).suites["siq"] for name in (BASE, gold)]
    wer = [100 * suite.categories["remember"].score.value for suite in scores]
    cells = remember.locator("td").all_inner_texts()
    assert cells[0].startswith(f"{wer[0]:.2f}") and cells[2].startswith(f"+{wer[0] - wer[1]:.2f}")
    # All transcripts of gold have no error, so a rate is the difference.
    rates = read_rates(results, BASE)
    low, high = stats.t.interval(0.95, len(rates) - 1, np.mean(rates), stats.sem(rates))
    flips = np.array([*product((-1, 1), repeat=len(rates))])
    p = np.mean(np.abs(flips @ rates) >= sum(rates) * (1 - 1e-9))
    _, interval, shown_p = cells[2].split("\n")
    assert interval.replace("\N{MINUS SIGN}", "-") == f"{low:.2f} to {high:.2f}"
    assert shown_p == "p < 0.001" or float(shown_p.removeprefix("p = ")) == pytest.approx(p, abs=0.01)
    assert sum(map(int, cells[3:])) == 14 and cells[3] == "0"
    saved = here.download(here.tab.get_by_role("button", name="Save the table compare as CSV")).splitlines()
    assert saved[0] == "Score,A,B,A \N{MINUS SIGN} B,A better,B better,Equal"
    assert saved[2].split(",")[:4] == ['"Remember', ' WER %"', f"{wer[0]:.2f}", f"{wer[1]:.2f}"]
    saved = here.download(here.tab.get_by_role("button", name="Save the items of Remember as CSV"))
    assert saved.startswith("Remember,A,B\r\n") and len(saved.splitlines()) > 1
    here.tab.get_by_role("button", name="Swap A and B").press("Enter")
    here.tab.wait_for_function("() => document.querySelector('#compare-a').value.startsWith('gold')")
    here.tab.locator("#compare-items a").first.click()
    here.tab.locator(".detail").wait_for()


def test_a_withdrawn_score_is_compared_as_such(visit):
    here = visit("compare.html")
    here.open("#compare/" + "/".join(quote(part, safe="") for part in (BOARD, BASE, HOSTILE)))
    row = here.tab.locator("#compare-table tr", has_text="Apply")
    row.wait_for()
    assert row.locator("td").all_inner_texts()[1:] == ["withdrawn", "—", "", "", ""]
    siq = here.tab.locator("#compare-table tr", has_text="Speech IQ").locator("td").all_inner_texts()
    assert siq[1:3] == ["withdrawn", "—"]
    remember = here.tab.locator("#compare-table tr", has_text="Remember").locator("td").all_inner_texts()
    assert sum(map(int, remember[3:])) == 14


def test_the_rows_of_a_clip_are_shown_as_text(visit):
    here = visit("clips.html")
    highest = here.tab.locator("tr:has([data-clip='demo/kennedy']) td").last
    assert float(highest.inner_text()) < 100, "silence, whose error rate is 100 %, is a control"
    saved = here.download(here.tab.get_by_role("button", name="Save the table of items as CSV")).splitlines()
    assert saved[0] == "Item,Lowest,Mean,Highest" and len(saved) == 15 and saved[1].startswith("demo/austen,")
    here.tab.get_by_label("Category").select_option("understand")
    here.tab.get_by_label("Find").fill("KENNEDY")
    # A key that is pressed while the rows are drawn anew would get lost.
    here.tab.wait_for_function(
        "() => [...document.querySelectorAll('[data-clip]')].every(row => /kennedy/.test(row.dataset.clip))"
    )
    here.tab.locator("[data-clip='demo/kennedy']").press("Enter")
    row = here.tab.locator(".detail tbody tr", has_text=SCRIPT)
    row.wait_for()
    assert here.tab.evaluate("document.activeElement.dataset.clip") == "demo/kennedy"
    assert "ask not what your country" in here.tab.locator(".detail dd").inner_text()
    address = here.tab.url.partition("#")[2]
    here.open(f"#{address}")
    row.wait_for()
    here.tab.get_by_label("Category").select_option("apply")
    # Items of Apply have a question after the clip; a click on a row of the category before would get lost.
    here.tab.locator("[data-clip^='demo/kennedy,']").first.click()
    withdrawn = here.tab.locator(".detail tbody tr:has([title*=onmouseover])")
    withdrawn.wait_for()
    assert withdrawn.locator("td").all_inner_texts() == ["—", "—"]


CLIP = f"clips.html#clips/{quote(BOARD)}/apply?item={quote('demo/kennedy, kennedy-q1')}"


@pytest.mark.parametrize(
    ("size", "theme", "pages"),
    [
        ("desk", "light", ("compare.html", CLIP)),
        ("phone", "dark", ("index.html", f"systems/{folder_of_system(TINY)}.html", "about.html", CLIP)),
    ],
)
def test_everyone_can_read_it(visit, site, size, theme, pages):
    here = visit(viewport=SIZES[size], color_scheme=theme, bypass_csp=True)
    for page in pages:
        name, _, fragment = page.partition("#")
        here.file = site / name
        here.open(f"#{fragment}" if fragment else "")
        assert here.find_barriers() == [], page


def test_the_same_results_make_the_same_site(results, site):
    again = build_site(results)
    assert {name: (site / name).read_text() for name in again} == again
    assert len([*site.rglob("*.*")]) == len(again)
    assert max(len(page) for name, page in again.items() if name.startswith("systems/")) < 20_000


def test_a_site_is_replaced_only_by_force(results, site, tmp_path):
    copy = shutil.copytree(site, tmp_path / "site")
    assert "add --force" in refusal("publish", "site", results, "-o", copy)
    shutil.copy(copy / "systems" / f"{folder_of_system(BASE)}.html", copy / "systems" / "gone-0123abcd.html")
    siq("publish", "site", REGISTRY / "results", "-o", copy, "--force")
    assert len([*copy.glob("systems/*")]) == 5 and len([*copy.glob("shared/*.css")]) == 1
    (copy / "notes.txt").write_text("mine")
    message = refusal("publish", "site", results, "-o", copy, "--force")
    assert "holds something else ('notes.txt')" in message


def test_results_that_are_refused_get_no_site(tmp_path):
    assert "has no results" in refusal("publish", "site", make(tmp_path / "empty"), "-o", tmp_path / "site")
    results = shutil.copytree(REGISTRY / "results", tmp_path / "results")
    (file,) = results.glob("pocket*/*/result.json")
    file.write_text(file.read_text().replace('"url": null', '"url": "javascript:alert(1)"'))
    message = refusal("publish", "site", results, "-o", tmp_path / "site")
    assert "1 fault, such as pocketsphinx" in message and "siq publish check" in message
    assert not (tmp_path / "site").exists()


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder
