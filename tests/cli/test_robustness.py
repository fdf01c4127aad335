"""`siq study robustness`: tables, files and the page of curves."""

import base64
import csv
import json
import re
import zlib

import pytest
from PIL import Image

from speechiq.reducer.scores.suites import ScoringOptions, find_suites
from speechiq.reducer.studies.robustness import study_robustness
from speechiq.tools.screenshots import CHART_SIZE, take_chart
from tests.commands import succeed
from tests.reducer.conftest import on_screen
from tests.reducer.studies.test_robustness import STRENGTHS, write_study


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robustness")
    write_study(folder / "runs", systems=("steady", "fragile"))
    write_study(folder / "runs", strengths=STRENGTHS[:-1], systems=("weak",))
    files = [folder / name for name in ("out.json", "out.csv", "out.html")]
    options = [option for file in files for option in ("-o", str(file))]
    done = succeed("study", "robustness", folder / "runs", "--bootstrap", "100", *options)
    return done.output, *files


def test_tables_name_strengths_losses_slopes_and_crossings(made):
    printed = made[0]
    assert "Speech IQ under white" in printed and "Remember under white: WER %" in printed
    for text in ("clean", "20 dB", "0 dB", "slope per", "loss", "intervals from 100 bootstrap samples of 12 clips"):
        assert text in printed
    assert printed.count("loss: how much worse") == 1
    assert "Remember under white: fragile falls below steady at 1" in printed


def test_tables_fit_80_columns_without_breaking_a_number(tmp_path):
    _, remember, *_ = study_robustness(find_suites([write_study(tmp_path)], False, ScoringOptions()), draws=100).grids
    lines = on_screen(remember, 80).splitlines()
    assert all(len(line) <= 80 for line in lines) and not any("\N{HORIZONTAL ELLIPSIS}" in line for line in lines)
    scores, slopes = (
        number for number, line in enumerate(lines) if line.split()[:1] == ["[2]"] and "steady" not in line
    )
    assert re.fullmatch(r" +\[2\]( +\d+\.\d){4} *", lines[scores]) and "[2] steady" in lines
    assert re.fullmatch(r"( +\d+\.\d to \d+\.\d){4} *", lines[scores + 1])
    assert lines[slopes].split() == ["[2]", "-1.08"] and "System" not in "".join(lines)


def test_json_and_csv_have_the_same_points(made):
    content = json.loads(made[1].read_text())
    points = content["suites"]["siq"]["points"]
    rows = list(csv.DictReader(made[2].read_text().splitlines()))
    assert content["schema"] == "speechiq-robustness" and len(points) == len(rows) == 4 * (4 + 4 + 3)
    assert [float(row["score"]) for row in rows] == [point["score"]["value"] for point in points]


def test_the_page_draws_a_chart_per_measure_and_asks_for_nothing(open_page, made):
    visit = open_page(made[3])
    visit.tab.locator("#robustness-siq-0 svg.main-svg").first.wait_for()
    assert visit.tab.locator(".chart").count() == 4
    assert visit.tab.locator("#robustness-siq-1-section tbody tr").count() == 3
    assert "falls below steady at" in visit.tab.locator("main").inner_text()


def test_the_page_fits_a_phone_and_keeps_systems_apart(open_page, made):
    visit = open_page(made[3], viewport={"width": 360, "height": 740})
    visit.tab.locator("#robustness-siq-0 svg.main-svg").first.wait_for()
    assert visit.tab.evaluate("document.documentElement.scrollWidth") == 360
    charts = json.loads(zlib.decompress(base64.b64decode(visit.tab.locator("#data-charts").text_content())))
    lines = charts["robustness-siq-0"]["data"]
    assert [line["name"] for line in lines] == ["fragile", "steady", "weak"]
    starts = [line["x"][0] for line in lines]
    assert len({*starts}) == 3 and max(map(abs, starts)) < 0.5
    assert "slope per 10 dB" in visit.tab.locator("#robustness-siq-0-section thead").inner_text()


def test_a_chart_becomes_a_picture(chromium, made, tmp_path):
    take_chart(chromium, made[3], tmp_path / "curves.png")
    with Image.open(tmp_path / "curves.png") as picture:
        assert CHART_SIZE["width"] > picture.width > 700 and len(picture.getcolors(maxcolors=2**24)) > 20
