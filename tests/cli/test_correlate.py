"""`siq paper correlate`: ranks of people against scores of runs, and each table of ranks that cannot be used."""

import csv
import json

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError
from tests.reducer.conftest import levels, write_run

SKILLS = {"good": 0.9, "fair": 0.6, "poor": 0.3, "bad": 0.1, "worst": 0.05}


@pytest.fixture
def runs(tmp_path):
    for name, skill in SKILLS.items():
        write_run(tmp_path / "runs" / name, levels(skill), system=name)
    return tmp_path / "runs"


def siq(*arguments):
    return CliRunner().invoke(app, ["paper", "correlate", *map(str, arguments)])


def table(folder, text):
    file = folder / "people.csv"
    file.write_text(text)
    return file


GIVEN = "system,people,bleu\ngood,1,2\nfair,2,1\npoor,3,3\nbad,4,4\nworst,5,5\n"


def test_siq_levels_and_other_ranks_are_correlated_with_people(runs, tmp_path):
    out = tmp_path / "out.json"
    done = siq(runs, "--ranks", table(tmp_path, GIVEN), "-o", out, "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output
    found = {row["metric"]: row for row in json.loads(out.read_text())["correlations"]}
    assert found["SIQ"]["spearman"]["value"] == pytest.approx(1.0)
    assert found["remember wer"]["kendall"]["value"] == pytest.approx(1.0)
    assert found["bleu"]["spearman"]["value"] == pytest.approx(0.9)
    assert found["bleu"]["spearman"]["low"] < 0.9 < found["bleu"]["spearman"]["high"]
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert len(rows) == len(found) == 5
    assert [float(row["pearson_p"]) for row in rows] == [row["pearson_p"] for row in found.values()]
    assert "Correlation with people" in done.output and "5 systems" in done.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,people\ngood,1\n", "no column 'system'"),
        ("system\ngood\nfair\npoor\n", "no column of ranks"),
        ("system,people\ngood,1\nfair,2\ngod,3\n", "row 3: no run of system 'god'; did you mean good?"),
        ("system,people\ngood,1\nfair,2\ngood,3\n", "row 3: duplicate system 'good'"),
        ("system,people\ngood,1\nfair,2\npoor,third\n", "row 3: people is 'third', not a rank"),
        ("system,people\ngood,1\nfair,2\npoor,1_0\n", "row 3: people is '1_0', not a rank"),
        ("system,people\ngood,1\nfair,2\npoor,\u0663\n", "row 3: people is '\u0663', not a rank"),
        ("system,people\ngood,1\nfair,2\npoor,0\n", "row 3: people is '0', not a rank"),
        ("system,people\ngood,1\nfair,2\n", "ranks of 2 systems"),
        ("system,people\ngood,1\nfair,1\npoor,1\n", "all systems have the same 'people'"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_line(runs, tmp_path, text, message):
    refused = siq(runs, "--ranks", table(tmp_path, text))
    assert isinstance(refused.exception, SpeechIQError) and message in str(refused.exception)
