"""Damaged input of every kind, for a few seconds per kind here and for minutes with `make fuzz`.

Every case follows from its number alone: `FUZZ_FROM=1234 FUZZ_SECONDS=1` runs case 1234 first.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from tests.fuzz.cases import TARGETS, damage
from tests.fuzz.judge import REFUSED

SECONDS = float(os.environ.get("FUZZ_SECONDS", "4"))
FIRST = int(os.environ.get("FUZZ_FROM", "0"))
MOST = 5


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_ends_in_numbers_or_in_one_line(name, tmp_path, monkeypatch):
    target = TARGETS[name]
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    valid = tmp_path / "valid"
    valid.mkdir()
    files = [path.relative_to(valid) for path in target.prepare(valid)]
    faults, number, end = [], FIRST, time.monotonic() + SECONDS
    while time.monotonic() < end and len(faults) < MOST:
        folder = tmp_path / "case"
        shutil.copytree(valid, folder)
        rng = random.Random(f"{name} {number}")
        damage([folder / file for file in files], rng)
        if fault := target.run(folder, rng):
            faults.append(f"case {number}: {fault}")
        shutil.rmtree(folder)
        number += 1
    print(f"{name}: {number - FIRST} cases")
    assert not faults, "\n\n".join(faults)


@pytest.mark.parametrize("name", TARGETS)
def test_undamaged_input_is_taken(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    folder = tmp_path / "valid"
    folder.mkdir()
    TARGETS[name].prepare(folder)
    REFUSED.clear()
    for seed in range(20):
        shutil.copytree(folder, case := tmp_path / str(seed))
        assert TARGETS[name].run(case, random.Random(seed)) is None
    assert not REFUSED or name == "replies", "an endpoint may refuse by its status alone"


def test_a_case_follows_from_its_number(tmp_path):
    written = []
    for again in ("one", "two"):
        folder = tmp_path / again
        folder.mkdir()
        files = TARGETS["questions"].prepare(folder)
        damage(files, random.Random("questions 3"))
        written.append([Path(file).read_bytes() for file in files])
    assert written[0] == written[1]
