"""Damaged input of every kind: a few cases per kind here, as many as fit into some time with `make fuzz`.

Every case follows from its number alone: `FUZZ_FROM=1234 FUZZ_SECONDS=1` runs case 1234 first.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path

import pytest

from speechiq.core.files.folders import cache_dir
from tests.fuzz.cases import TARGETS, damage, prepare, run_case
from tests.fuzz.judge import REFUSED

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("FUZZ_SECONDS") or 0)
FIRST = int(os.environ.get("FUZZ_FROM") or 0)
MOST = 5
#: The share of the cases that every run of the tests tries, and the fewest of a kind.
SHARE, FEWEST = 0.1, 3


@pytest.fixture
def cache(demo_models, tmp_path, monkeypatch) -> None:
    """A cache folder of the test's own, with the models of the demo; the hub is not asked."""
    models = cache_dir("models")
    tmp_path.joinpath("cache").mkdir()
    tmp_path.joinpath("cache", "models").symlink_to(models)
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize("name", TARGETS)
def test_sound_input_is_taken_and_damaged_input_ends_in_numbers_or_in_one_line(name, cache, tmp_path):
    valid, folder = tmp_path / "valid", tmp_path / "case"
    files = prepare(name, valid, folder)
    REFUSED.clear()
    assert [run_case(name, number, valid, [], folder) for number in range(FEWEST)] == [None] * FEWEST
    assert TARGETS[name].refuses or not REFUSED
    cases = max(FEWEST, round(SHARE * TARGETS[name].cases))
    faults, end = [], time.monotonic() + SECONDS
    for number in itertools.count(FIRST):
        done = number - FIRST
        if len(faults) == MOST or (time.monotonic() >= end if SECONDS else done == cases):
            break
        if fault := run_case(name, number, valid, files, folder):
            faults.append(f"case {number}: {fault}")
    print(f"{name}: {done} cases")
    assert not faults, "\n\n".join(faults)


def test_a_case_follows_from_its_number(tmp_path):
    written = []
    for again in ("one", "two"):
        folder = tmp_path / again
        folder.mkdir()
        files = TARGETS["questions"].prepare(folder)
        damage(files, random.Random("questions 3"))
        written.append([Path(file).read_bytes() for file in files])
    assert written[0] == written[1]
