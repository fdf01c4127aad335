"""Runs of earlier versions, with their names of columns and metadata, are read like those of today."""

import json

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.former_names import COLUMNS, METADATA
from speechiq.reducer import as_csv, rank, read_systems
from tests.reducer.conftest import levels, write_run

VERSION = "openai-whisper 20250625"
TODAY = {"remember": {"normalizer": "english", "normalizer_version": VERSION}}
FORMER = {"remember": {former: TODAY["remember"][name] for former, name in METADATA.items()}}
SKILLS = {"good": 0.9, "bad": 0.1}


def columns(names: dict[str, str]) -> dict[str, dict]:
    """Return further columns of sample rows, called by the given names."""
    coverage, repetition = names["audio_coverage"], names["repetition"]
    return {"remember": {coverage: 0.5, repetition: 1.0}, "understand": {coverage: 0.5}, "apply": {coverage: 1.0}}


def write_runs(folder, metadata, names, systems=SKILLS):
    """Write a run per system, with docs as the level Remember has them."""
    for name in systems:
        results = write_run(folder / name, levels(SKILLS[name]), system=name, metadata=metadata, columns=columns(names))
        samples = results.with_name(f"samples_demo_0_{results.stem.removeprefix('results_')}.jsonl")
        rows = [json.loads(line) for line in samples.read_text().splitlines()]
        rows = [row | {"doc": row["doc"] | metadata["remember"]} for row in rows]
        samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def today(tmp_path):
    return write_runs(tmp_path / "today", TODAY, {name: name for name in COLUMNS})


@pytest.fixture
def former(tmp_path):
    return write_runs(tmp_path / "former", FORMER, COLUMNS)


def test_the_fixture_has_former_names_alone(former):
    text = "".join(path.read_text() for path in former.rglob("*.json*"))
    assert all(f'"{name}"' in text for name in (*METADATA, *COLUMNS.values()))
    assert not any(f'"{name}"' in text for name in (*METADATA.values(), *COLUMNS))


def test_a_former_run_has_the_flags_and_the_ranking_of_a_run_of_today(today, former):
    systems, same = (read_systems([folder]).systems for folder in (today, former))
    assert [system.flags for system in same] == [system.flags for system in systems]
    assert all(list(system.flags).count(1.0) == 2 for system in same), "incomplete audio and repetition"
    ranking, again = rank(systems), rank(same)
    assert as_csv(again.scores, again.context) == as_csv(ranking.scores, ranking.context)


def test_runs_of_both_versions_share_a_table(tmp_path):
    write_runs(tmp_path, FORMER, COLUMNS, ["good"])
    write_runs(tmp_path, TODAY, {name: name for name in COLUMNS}, ["bad"])
    ranking = rank(read_systems([tmp_path]).systems)
    assert sorted(ranking.pool.systems) == ["bad", "good"]


def test_another_normalizer_under_its_former_name_is_still_a_mismatch(tmp_path):
    write_runs(tmp_path, {"remember": FORMER["remember"] | {"normaliser": "basic"}}, COLUMNS, ["good"])
    write_runs(tmp_path, TODAY, {name: name for name in COLUMNS}, ["bad"])
    with pytest.raises(SpeechIQError, match=r"normalizer.*(basic.*english|english.*basic)"):
        rank(read_systems([tmp_path]).systems)
