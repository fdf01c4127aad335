"""`siq robustness`: tables, files and the page of curves."""

import csv
import json

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from tests.reducer.browser import Visit
from tests.reducer.robustness.test_curves import write_study


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robustness")
    write_study(folder / "runs")
    files = [folder / name for name in ("out.json", "out.csv", "out.html")]
    options = [option for file in files for option in ("-o", str(file))]
    done = CliRunner().invoke(app, ["robustness", str(folder / "runs"), "--bootstrap", "100", *options])
    assert done.exit_code == 0, done.output
    return done.output, *files


def test_tables_name_strengths_losses_slopes_and_crossings(made):
    printed = made[0]
    assert "Speech IQ under white" in printed and "Remember under white: WER %" in printed
    for text in ("clean", "20 dB", "0 dB", "slope per 10 dB", "loss +", "95 % intervals over 100 draws of 12 clips"):
        assert text in printed
    assert "remember under white: fragile falls below steady at 1" in printed


def test_json_and_csv_have_the_same_points(made):
    content = json.loads(made[1].read_text())
    points = content["suites"]["siq"]["points"]
    rows = list(csv.DictReader(made[2].read_text().splitlines()))
    assert content["schema"] == "speechiq-robustness" and len(points) == len(rows) == 4 * 3 * 4
    assert [float(row["value"]) for row in rows] == [point["value"] for point in points]


def test_the_page_draws_a_chart_per_measure_and_asks_for_nothing(chromium, made):
    visit = Visit(chromium, made[3])
    visit.tab.locator("#robustness-siq-0 svg.main-svg").first.wait_for()
    assert visit.tab.locator(".chart").count() == 4
    assert visit.tab.locator("#robustness-siq-1-section tbody tr").count() == 3
    assert "falls below steady at" in visit.tab.locator("main").inner_text()
    assert not visit.requests and not visit.errors
