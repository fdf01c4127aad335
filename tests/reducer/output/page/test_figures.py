"""Charts: what their lines and marks stand for."""

from __future__ import annotations

import pytest

from speechiq.reducer.output.page.figures import against_size

SIZES, NAMES = [7.0, 0.2, 1.0, 7.0, 70.0], list("abcde")


@pytest.mark.parametrize(
    ("scores", "lower", "front"),
    [
        ([110, 90, 85, 120, 119], False, {0.2: 90, 7.0: 120}),
        ([5.0, 30.0, 12.0, 6.0, 2.0], True, {0.2: 30.0, 1.0: 12.0, 7.0: 5.0, 70.0: 2.0}),
    ],
)
def test_the_line_joins_the_systems_that_none_beats_at_their_size_or_less(scores, lower, front):
    line, marks = against_size(SIZES, scores, NAMES, "Score", lower).data
    assert dict(zip(line.x, line.y, strict=True)) == front
    assert [*marks.x] == SIZES and [*marks.y] == scores
