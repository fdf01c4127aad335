"""The page of a suite with a judge: figures, what the judge wrote, and the filter of answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from speechiq.cli.main import app
from tests.reducer.browser import Visit
from tests.reducer.judged_runs import judged_row, write_judged


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """A page of two systems; one refuses once, and one answer of the other is unjudged."""
    place = tmp_path_factory.mktemp("judged")
    for system, shift in (("good", 3), ("bad", 0)):
        rows = [judged_row(f"talks/{i}", "q", [i % 3 + shift, i % 3 + shift], f1=(i % 3 + shift) / 5) for i in range(8)]
        if system == "good":
            rows[2] = judged_row("talks/2", "q", [None, None], answer="<b>bold</b>")
        else:
            rows[5] |= {"refusal": 1.0}
            rows[6] |= {"exact_match": 1.0, "judge": 0.0}
        write_judged(place / system, rows, system)
    result = CliRunner().invoke(app, ["score", str(place), "-o", str(place / "r.html"), "--bootstrap", "100"])
    assert result.exit_code == 0, (result.exception, result.output)
    return place / "r.html"


def test_it_has_what_the_judge_wrote_and_its_figures(page):
    text = page.read_text()
    assert "reliability of the judge" in text and "judge: 4, 4" in text and "judge: no score, no score" in text
    assert "no number here" in text and "&lt;b&gt;bold&lt;/b&gt;" in text and "<b>bold" not in text
    assert "judged by openai:gpt-4o, rubric grade_0_5 v1, 3 judgments" in text and "1 of 8 unjudged" in text
    assert "The answers on which judge and rule differ most" in text
    assert "What is q? | the right one" in text, "the question and its reference"


def test_answers_are_filtered(page, chromium):
    here = Visit(chromium, page)
    tools = here.tab.locator(".tools[data-marks]")
    here.tab.locator("details.as-table summary", has_text="Every item").click()
    rows = here.tab.locator("#suite-listening-items-answers tbody tr")
    assert rows.count() == 8 and tools.locator(".count").inner_text() == "8 of 8 items"
    for mark, item in (("unjudged", "talks/2"), ("refusal", "talks/5"), ("differs", "talks/6")):
        tools.locator("select").select_option(mark)
        visible = [row for row in rows.all() if row.is_visible()]
        assert len(visible) == 1 and item in visible[0].inner_text()
        assert tools.locator(".count").inner_text() == "1 of 8 items"
    tools.locator("select").select_option("")
    assert all(row.is_visible() for row in rows.all())
    assert here.errors == [] and here.requests == []
    here.context.close()
