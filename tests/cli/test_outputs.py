"""`--output`: the ending of a name chooses the format."""

from __future__ import annotations

import pytest

from tests.commands import refusal


@pytest.mark.parametrize(
    "name, fault",
    [
        ("o.jsn", "its ending names no format; did you mean .json? end the name in .json or .csv"),
        ("o.xlsx", "end the name in .json or .csv or .md or .tex or .html, or name a folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, name, fault):
    assert fault in refusal("score", "nowhere", "-o", tmp_path / name)


def test_only_formats_of_the_command_are_offered(tmp_path):
    assert "cannot write" in refusal("compare", "a", "b", "-o", tmp_path / "no" / "such" / "o.json")
    assert "end the name in .json" in refusal("compare", "a", "b", "-o", tmp_path / "o.csv")


def test_a_page_is_not_written_into_a_file_of_another_kind(tmp_path):
    assert "its ending names no format; " in refusal("study", "labels", tmp_path, "-o", tmp_path / "page.pdf")
