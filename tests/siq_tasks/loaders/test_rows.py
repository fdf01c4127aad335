"""Versions of data sets on the Hub, by a local server that answers as the Hub does."""

import pytest

from speechiq.core.checkpoints.names import notice_offline
from speechiq.siq_tasks.loaders.rows import RowSource
from tests.loopback_hub import reach, serve

FIRST, SECOND = "1" * 40, "2" * 40


@pytest.fixture
def commits(monkeypatch):
    """Serve a data set; the dictionary has the commit of each revision."""
    with serve() as hub:
        reach(hub.address, monkeypatch)
        yield hub.add("org/set", {}, revisions={"main": FIRST}).revisions
    notice_offline.cache_clear()


def test_the_commit_of_a_revision_is_found(commits, tmp_path):
    commits["v2"] = SECOND
    assert RowSource(dataset_path="org/set").find_commit() == FIRST
    assert RowSource(dataset_path="org/set", dataset_revision="v2").find_commit() == SECOND
    assert RowSource(dataset_path="org/other").find_commit() is None
    assert RowSource(dataset_path=str(tmp_path)).find_commit() is None


def test_a_new_upload_is_named_with_both_versions(commits):
    source = RowSource(dataset_path="org/set")
    assert source.describe_new_version("calls", FIRST) is None
    commits["main"] = SECOND
    line = source.describe_new_version("calls", FIRST)
    assert line.startswith("calls: org/set has a new version on the hub, 222222222222; this run uses 111111111111")
    assert line.endswith(f"--metadata dataset_revision={SECOND}")
    assert RowSource(dataset_path="org/set", dataset_revision="v1").describe_new_version("calls", FIRST) is None
    assert source.describe_new_version("calls", None) is None


def test_a_hub_that_does_not_answer_is_no_obstacle(monkeypatch):
    reach("http://127.0.0.1:9", monkeypatch)
    assert RowSource(dataset_path="org/set").find_commit() is None
    notice_offline.cache_clear()
