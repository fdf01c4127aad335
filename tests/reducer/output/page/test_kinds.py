"""Test kinds of systems: what runs recorded, the column of the table, and the chart of the report."""

from __future__ import annotations

import csv
import json

import pytest

from speechiq.engines.base import SYSTEM_KINDS
from speechiq.reducer.output.page.kinds import kind_sections
from speechiq.reducer.output.page.study import gather_report
from speechiq.reducer.runs.tasks import name_kind
from speechiq.reducer.scores.suites import read_systems
from tests.commands import refusal, siq
from tests.reducer.conftest import write_skills

ASR = {"model": "w"}
DESCRIBED = {
    "cascade": {"kind": "cascade", "asr": ASR, "llm": {}},
    "cascade with correction": {"kind": "cascade", "asr": ASR | {"corrector": {"model": "g"}}, "llm": {}},
    "end to end": {"kind": "end to end", "model": "q"},
    "recognizer": {"kind": "recognizer", "asr": ASR},
    "control": {"kind": "control", "control": "letter:B"},
    "person": {"kind": "people", "person": "ana"},
}


def record(described):
    return {"config": {"siq": {"system": described}}}


@pytest.mark.parametrize(("kind", "described"), DESCRIBED.items(), ids=DESCRIBED)
def test_a_run_records_its_kind(tmp_path, kind, described):
    assert name_kind(described) == kind
    write_skills(tmp_path, {"one": 0.5}, **record(described))
    assert read_systems([tmp_path])[0].kind == kind


@pytest.mark.parametrize(
    ("described", "kind"),
    [
        ({}, ""),
        ({"kind": "imported"}, ""),
        ({"kind": "imported", "declared_kind": "end to end"}, "end to end"),
        ({"kind": "imported", "declared_kind": "oracle"}, ""),
        ({"kind": "cascade", "asr": {"control": "gold"}}, "control"),
        ({"kind": "cascade", "asr": {"control": "silence"}}, "control"),
    ],
)
def test_what_is_not_recorded_is_unknown(described, kind):
    assert name_kind(described) == kind and set(DESCRIBED) == set(SYSTEM_KINDS)


@pytest.fixture
def two_kinds(tmp_path):
    """Return a folder with an end-to-end model, two cascades and a control."""
    folder = tmp_path / "runs"
    for name, kind, skill in (("e", "end to end", 0.4), ("c", "cascade", 0.8), ("d", "cascade", 0.6)):
        write_skills(folder, {name: skill}, **record(DESCRIBED[kind]))
    write_skills(folder, {"l": 0.2}, **record(DESCRIBED["control"]))
    return folder


def test_the_table_and_its_files_have_the_kind(two_kinds, tmp_path):
    files = [tmp_path / f"siq.{ending}" for ending in ("json", "csv", "md", "tex")]
    printed = siq("score", two_kinds, "--bootstrap", 0, *(word for file in files for word in ("-o", file)))
    assert "Kind" in printed and "End to end" in printed
    rows = {row["system"]: row["kind"] for row in json.loads(files[0].read_text())["systems"]}
    assert rows == {"e": "end to end", "c": "cascade", "d": "cascade", "l": "control"}
    assert {row["kind"] for row in csv.DictReader(files[1].read_text().splitlines())} == set(rows.values())
    assert all("Kind" in file.read_text() and "End to end" in file.read_text() for file in files[2:])


def test_one_kind_has_neither_column_nor_chart(two_kinds):
    runs = [two_kinds / "c", two_kinds / "d", two_kinds / "l"]
    assert "Kind" not in siq("score", *runs, "--bootstrap", 0)
    assert kind_sections(gather_report(runs, bootstrap=0)) == []


def test_the_report_has_a_chart_of_each_level_colored_by_kind(two_kinds, tmp_path):
    study = gather_report([two_kinds], bootstrap=60)
    (section,) = kind_sections(study)
    assert [*section.figures] == ["kinds-remember", "kinds-understand", "kinds-apply"]
    bars = {name: trace for trace in section.figures["kinds-apply"].data for name in trace.customdata}
    assert {name: trace.name for name, trace in bars.items()} == {
        "e": "End to end",
        "c": "Cascade",
        "d": "Cascade",
        "l": "Control",
    }
    assert bars["e"].marker.color != bars["c"].marker.color
    for row, name in enumerate(study.names):
        shown = bars[name].x[[*bars[name].customdata].index(name)]
        assert shown == pytest.approx(100 * study.scoreboard.means["apply"][row], abs=1e-3)
    siq("score", two_kinds, "--bootstrap", 60, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '<section id="kinds"' in page and 'href="#kinds"' in page


def test_the_kind_of_imported_outputs_is_declared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.csv").write_text("id,reference,transcript\na,one two,one two\nb,one,two\n")
    message = refusal("import", "table", "words.csv", "--kind", "end to ends", "--output", "runs")
    assert "--kind 'end to ends': not a kind of system; did you mean end to end? choose from 'cascade'" in message
    siq("import", "table", "words.csv", "--kind", "end to end", "--output", "runs")
    (system,) = read_systems([tmp_path / "runs"])
    assert system.kind == "end to end" and system.imported == ["table"]
