"""`siq publish`: frozen norms."""

from __future__ import annotations

import pytest

from speechiq.reducer.scores import norms
from tests.commands import refusal, siq
from tests.reducer.conftest import levels, write_run


@pytest.fixture
def draft(tmp_path):
    for name, skill in {"best": 0.9, "middle": 0.5, "worst": 0.1}.items():
        write_run(tmp_path / "runs" / name, levels(skill), system=name)
    siq("score", tmp_path / "runs", "--save-norms", tmp_path / "draft.json", "--bootstrap", 0)
    return tmp_path / "draft.json"


def test_norms_are_frozen_once(tmp_path, draft):
    frozen = tmp_path / "mine@1.json"
    assert "a population of 3 systems, fewer than 10" in refusal("publish", "norms", draft, "-o", frozen)
    siq("publish", "norms", draft, "-o", frozen, "--example")
    assert norms.read(frozen).label == "mine@1" and norms.read(frozen).levels == norms.read(draft).levels
    assert "frozen norms are never replaced" in refusal("publish", "norms", draft, "-o", frozen, "--example")
    printed = siq("score", tmp_path / "runs" / "best", "--norms", frozen, "--bootstrap", 0)
    assert "norms: mine@1 (example, " in printed and "of 3 systems" in printed
    assert '"name": "mine@1"' in siq("list", "norms", frozen, "--json")


def test_norms_edited_after_freezing_are_refused(tmp_path, draft):
    frozen = tmp_path / "mine@1.json"
    siq("publish", "norms", draft, "-o", frozen, "--example")
    frozen.write_text(frozen.read_text().replace('"edition": 1', '"edition": 2'))
    assert "was changed after it was made" in refusal("score", tmp_path / "runs", "--norms", frozen)
