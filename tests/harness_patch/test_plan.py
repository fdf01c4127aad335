"""Processes of runs: which of them read lm-eval's index of tasks."""

import pytest

from speechiq.harness_patch.plan import needs_index
from speechiq.siq_tasks.index import list_tasks

OWN = sorted(set().union(*(task.names for task in list_tasks(check_files=False))))


def test_no_task_or_group_of_the_suite_needs_the_index():
    assert {"siq_all", "audiobench", "audiobench_demo_long"} <= {*OWN}
    assert [name for name in OWN if needs_index([name])] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *[("siq_*", False), ("audiobench_demo_*", False), ("siq_dmeo", False), ("siq_mine", False)],
        *[("mmlu", True), ("*", True), ("siqa", True), ("audio", True), ("tasks/siq_mine.yaml", True)],
    ],
)
def test_other_names_need_the_index_unless_they_begin_like_the_suite(name, expected):
    assert needs_index([name]) is needs_index(["siq_demo", name]) is expected
