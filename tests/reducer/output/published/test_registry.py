"""A registry of a suite without norms: results are compared with each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

from speechiq.reducer.output.published.boards import BoardEntry, board_languages, list_boards
from speechiq.reducer.output.published.folder import read_folder
from speechiq.reducer.output.published.registry import check_results_folder
from speechiq.reducer.scores.ranking import rank
from tests.commands import siq
from tests.reducer.conftest import levels, write_run
from tests.test_docs import REGISTRY

#: A suite of its own, with one category, two data sets and groups.
QUIZ = {"suite": "quiz", "category": "facts", "group_by": ["answer"], "dataset": "one"}
POINTS = {"column": "acc", "direction": "higher", "unit": "points", "range": [0, 1]}
MORE = QUIZ | {"dataset": "two"}


def publish(
    root: Path, name: str, skill: float, *, sets: Sequence[dict] = (QUIZ, MORE), clips: int = 12, **metadata
) -> None:
    """Publish a run of some data sets under one name."""
    declaration = root / "declaration.yaml"
    declaration.write_text("all: {contamination: none known, interests: none}")
    scores = levels(skill, clips=clips)["apply"]
    count = dict.fromkeys(("original", "effective"), sum(map(len, scores.values())))
    for number, about in enumerate(sets, 1):
        write_run(
            root / name,
            {"apply": {f"{about['dataset']} {clip}": answers for clip, answers in scores.items()}},
            system=name,
            date=float(number),
            tasks=about["dataset"],
            metadata={"apply": about | metadata},
            **{"n-samples": {f"{about['dataset']}_0": count}},
        )
    siq("publish", "runs", root / name, "-o", root / "results", "--declare", declaration)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    publish(tmp_path, "a", 0.9)
    publish(tmp_path, "b", 0.5)
    return tmp_path


def test_data_sets_and_groups_have_scores_of_their_own(root):
    assert check_results_folder(root / "results").faults == []
    for published in read_folder(root / "results"):
        (record,) = published.result.suites.values()
        assert record.siq is None and [*record.datasets] == ["one", "two"]
        both = [scores["facts"] for scores in record.datasets.values()]
        assert sum(each.clips for each in both) == record.categories["facts"].clips == 24
        assert record.groups["answer"]["acc"]["A"].score.value == record.categories["facts"].score.value


def boards_of(root: Path):
    return list_boards(
        BoardEntry(each.folder, each.result, each.systems) for each in check_results_folder(root / "results").results
    )


def test_a_board_has_ranks_and_tables_by_data_set_and_group(root):
    (board,) = boards_of(root)
    assert [entry.name for entry in board.newest] == ["a", "b"] and board.title == "Suite quiz"
    assert [row["rank"] for row in board.rank().rows] == [1.0, 2.0]
    (sets,) = board.list_parts()
    assert sets.title == "Facts by data set: acc. %" and [sets.heading(column) for column in sets.shown][1:] == [
        ["one", "acc. %", "95 % interval"],
        ["two", "acc. %", "95 % interval"],
    ]
    assert sets.rows[0]["group one"].value == board.newest[0].result.suites["quiz"].datasets["one"]["facts"].score.value


def test_ranks_have_the_range_that_the_samples_of_the_clips_allow():
    registry = check_results_folder(REGISTRY / "results")
    entries = [BoardEntry(each.folder, each.result, each.systems) for each in registry.results]
    (board,) = list_boards(entries, registry.norms)
    ranked = [entry for entry in board.newest if not entry.result.control]
    # Scored alone, with the same seed, every system has the same samples of the clips.
    alone = [rank([entry.systems["siq"]], norms=registry.norms["demo@1"], draws=1000) for entry in ranked]
    places = rankdata(-np.hstack([scored.bars.siq_draws for scored in alone]), method="min", axis=1)
    ends = np.quantile(places, (0.025, 0.975), axis=0, method="inverted_cdf").astype(int).T.tolist()
    expected = [f"{low} to {high}" if low < high else "" for low, high in ends]
    grid = board.rank()
    assert [row["ranks"] for row in grid.rows] == [*expected, "", ""] and any(expected)
    assert grid.lines(grid.rows[0], grid.columns[0]) == ["1", expected[0]]


def test_languages_of_a_suite_have_a_table(tmp_path):
    publish(tmp_path, "a", 0.7, sets=[QUIZ | {"dataset": language, "language": language} for language in ("en", "de")])
    boards = boards_of(tmp_path)
    assert [board.title for board in boards] == ["Suite quiz: de", "Suite quiz: en"]
    (table,) = board_languages(boards)
    assert table.title == "Facts by language: acc. %" and table.rows[0].keys() == {"system", "group de", "group en"}
    assert not check_results_folder(tmp_path / "results").faults


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clips": 11}, "items are missing in"),
        ({"version": 2}, "version is 2 in system 'c-"),
        ({"measure": POINTS}, "of 'facts' is not that of"),
    ],
)
def test_a_result_unlike_the_others_is_refused(root, options, message):
    publish(root, "c", 0.7, **options)
    faults = check_results_folder(root / "results").faults
    assert len(faults) == 1 and faults[0].startswith("c-") and message in faults[0]
