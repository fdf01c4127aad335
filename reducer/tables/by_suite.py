"""Join what several suites write into one file: SIQ at the top, other suites under their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.tables.scored import Scored


def join(contents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of a JSON file: that of SIQ, and other suites, if there are any, by name.

    Args:
        contents: suite -> its content.

    >>> join({"siq": {"a": 1}, "keywords": {"a": 2}})
    {'a': 1, 'suites': {'keywords': {'a': 2}}}
    """
    others = {suite: of for suite, of in contents.items() if suite != SIQ}
    return {**contents.get(SIQ, {}), **({"suites": others} if others else {})}


def join_rows(scored: Mapping[str, Scored], common: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of a CSV file; they name their suite unless all are of SIQ.

    Args:
        scored: suite -> its scores.
        common: Columns that all rows share.
    """
    if [*scored] == [SIQ]:
        return scored[SIQ].rows(common)
    return [{"suite": suite} | row for suite, of in scored.items() for row in of.rows(common)]
