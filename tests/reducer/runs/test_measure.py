"""What a task says of itself: read whole, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lm_eval.tasks._yaml_loader import load_yaml
from msgspec.structs import replace

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.columns import columns_of
from speechiq.metrics.judge import meaning
from speechiq.metrics.letters.options import DERIVED
from speechiq.metrics.measure import Category, Measure, differences, read_category
from speechiq.reducer import LEVELS, read_systems
from speechiq.reducer.runs.systems import read_systems_of
from speechiq.reducer.runs.tasks import categories_of, find_tasks, group
from tests.reducer.conftest import write_run

MEASURE = {"column": "miss", "direction": "lower", "unit": "miss. %", "chance": 0.5, "range": [0, 1]}
BESIDE = {"column": "hit", "direction": "higher", "unit": "hit. %"}
ABOUT = {"suite": "toy", "category": "keyword", "item": ["id"], "measure": MEASURE}
TEMPLATES = Path(__file__).parents[3] / "siq_tasks" / "templates"


def with_measure(**changes: object) -> dict:
    return ABOUT | {"measure": MEASURE | changes}


def test_a_description_is_read():
    found = read_category(ABOUT | {"version": 1, "dataset": "demo"}, "toy_keyword", "r.json")
    assert found == Category("toy", "keyword", Measure("miss", "lower", "miss. %", 0.5, (0.0, 1.0)), ("id",))
    assert found.measure.raw_range == (-1.0, 0.0) and found.show(-0.25) == 25.0


def test_a_task_without_a_category_is_its_own():
    without = {key: value for key, value in ABOUT.items() if key != "category"}
    assert read_category(without, "toy_keyword", "r.json").name == "toy_keyword"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (with_measure(direction="up"), r"metadata\.measure\.direction: 'up' is not valid .*; write higher or lower"),
        (with_measure(chance=1.5), r"metadata\.measure\.chance: 1\.5 is outside the range 0 to 1; write the score of"),
        (with_measure(range=[1, 0]), r"metadata\.measure\.range: \[1\.0, 0\.0\] does not go from a lower to a higher"),
        (with_measure(range="all"), r"metadata\.measure\.range: 'all' is not valid .*; write the lowest and the"),
        (with_measure(column=""), r"metadata\.measure\.column: '' is not a name that prints; name the column"),
        (with_measure(unit=5), r"metadata\.measure\.unit: 5 is not valid .*; write the heading of the score"),
        (with_measure(colour="red"), r"metadata\.measure: .* \(Object contains unknown field `colour`\)"),
        (
            with_measure(alternatives={"hit": {"unit": "hit. %", "chance": -1}}),
            r"metadata\.measure\.alternatives\.hit\.chance: -1\.0 is outside the range 0 to 1",
        ),
        (with_measure(alternatives={"miss": {"unit": "x"}}), r"metadata\.measure\.alternatives: \['miss'\] names the"),
        (ABOUT | {"item": []}, r"metadata\.item: \[\] names no field; list fields of doc, the clip first"),
        (ABOUT | {"item": "id"}, r"metadata\.item: 'id' is not valid .*; list fields of doc"),
        (ABOUT | {"suite": "../x"}, r"metadata\.suite: '\.\./x' is not a plain name; write a plain name"),
        (ABOUT | {"category": 5}, r"metadata\.category: 5 is not valid .*; write a plain name"),
        ({"measure": MEASURE, "item": ["id"]}, r"metadata has no suite; write a plain name"),
        (ABOUT | {"measure": {"column": "miss"}}, r"metadata has no measure\.direction; write higher or lower"),
        (ABOUT | {"aggregate": ["a b"]}, r"metadata\.aggregate: 'a b' is not a plain name; list"),
        (ABOUT | {"aggregate": ["keyword"]}, r"metadata\.aggregate: 'keyword' is the name of"),
        (ABOUT | {"aggregate": "a"}, r"metadata\.aggregate: 'a' is not valid"),
        (ABOUT | {"aggregate": ["hit"], "extra_columns": [BESIDE]}, r"metadata\.extra_columns: 'hit' is the name"),
        (
            ABOUT | {"extra_columns": [BESIDE | {"range": [2, 1]}]},
            r"metadata\.extra_columns\.range: \[2\.0, 1\.0\] does not go",
        ),
        (ABOUT | {"extra_columns": [{"column": "hit"}]}, r"metadata has no extra_columns\.0\.direction; write"),
        (
            ABOUT | {"group_by": ["id"]},
            r"metadata\.group_by: 'id' is not a plain name, or is listed twice or under item",
        ),
        (ABOUT | {"order": "keyword"}, r"metadata\.order: 'keyword' is not valid .*; list the categories of the suite"),
        (ABOUT | {"measure": "miss"}, r"metadata\.measure: 'miss' is not valid \(Expected `object`"),
    ],
)
def test_a_description_that_cannot_be_used_is_one_line(metadata, message):
    with pytest.raises(SpeechIQError, match=rf"^'r\.json', task 'toy_keyword': {message}") as refused:
        read_category(metadata, "toy_keyword", "r.json")
    assert "\n" not in str(refused.value)


def test_levels_are_what_their_templates_declare():
    for level, of in LEVELS.items():
        template = load_yaml(TEMPLATES / f"_{level}.yaml")
        columns = {column.name: column.higher_is_better for column in columns_of(template["process_results"])}
        assert {"siq", level} == {of.suite, of.name} and of.column == next(iter(columns))
        # A judge of transcripts adds this column to stored rows.
        columns |= {column.name: column.higher_is_better for column in columns_of(meaning.score)}
        columns |= dict.fromkeys(DERIVED, True)
        assert all(columns[column] == (of.measure.sign_of(column) > 0) for column in of.measure.columns)


def test_a_newer_version_may_have_more_alternatives():
    new = LEVELS["apply"]
    old = new.measure.alternatives.copy()
    strict = old.pop("acc_strict")
    without = replace(new, measure=replace(new.measure, alternatives=old))
    assert differences(new, without) == {}
    changed = replace(new, measure=replace(new.measure, alternatives=old | {"acc_strict": replace(strict, chance=0.5)}))
    assert [*differences(new, changed)] == ["measure.alternatives"]


def toy_run(folder: Path, metadata: dict, **options: object) -> Path:
    """Write a run of one task of a toy suite, whose rows have the column `miss`."""
    path = write_run(folder, {"remember": {"a": 0.5, "b": 0.25}}, columns={"remember": {"miss": 0.5}}, **options)
    results = json.loads(path.read_text())
    results["configs"]["demo_0"]["metadata"] = metadata
    path.write_text(json.dumps(results))
    return path


def test_tasks_of_a_suite_that_disagree_are_refused(tmp_path):
    first = toy_run(tmp_path / "1", ABOUT, system="one")
    second = toy_run(tmp_path / "2", with_measure(direction="higher"), system="two", date=2.0)
    tasks, _ = find_tasks([tmp_path])
    with pytest.raises(SpeechIQError) as refused:
        categories_of(group(tasks)["toy"])
    message = str(refused.value)
    where = f"'{second}', task 'demo_0': metadata.measure.direction"
    assert message.startswith(f"{where}: 'higher' differs from 'lower' in")
    assert f"'{first}', task 'demo_0' of the same suite 'toy' and category 'keyword'; rerun" in message


@pytest.mark.parametrize(
    ("metadata", "needs"),
    [
        (with_measure(column="gone"), "needs doc.id and the number 'gone'"),
        (ABOUT | {"item": ["id", "speaker"]}, "needs doc.id, doc.speaker and the number 'miss'"),
    ],
)
def test_rows_that_lack_what_the_description_names_are_refused(tmp_path, metadata, needs):
    toy_run(tmp_path, metadata)
    tasks, _ = find_tasks([tmp_path])
    with pytest.raises(SpeechIQError, match=rf"samples_demo_0_.*line 1.*{needs}"):
        read_systems_of(tasks, categories_of(tasks))


def test_a_level_that_siq_lacks_is_refused(tmp_path):
    toy_run(tmp_path, ABOUT | {"suite": "siq"})
    with pytest.raises(SpeechIQError, match=r"metadata\.category: 'keyword' is not a level of SIQ; write one of"):
        read_systems([tmp_path])


def test_runs_of_other_suites_alone_hold_no_siq(tmp_path):
    toy_run(tmp_path, ABOUT)
    with pytest.raises(SpeechIQError, match=r"no SIQ task in .*, only tasks of suite 'toy'; give runs of siq_all"):
        read_systems([tmp_path])
