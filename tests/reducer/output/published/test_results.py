"""Published results: the same bytes for the same runs, each system alone, in a documented form."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import jsonschema
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.output.published import folder, schema
from speechiq.reducer.output.published.folder import list_below, read_folder, read_result
from speechiq.reducer.output.published.record import unpack_rows
from tests.commands import as_json, refusal, siq
from tests.records import edit_rows
from tests.reducer.conftest import change_results, levels, write_run

SKILLS = {"best": 0.9, "middle": 0.5, "worst": 0.1}
LEVELS = ("remember", "understand", "apply")
METADATA = {level: {"content_sha256": "0" * 64, "token": "secret"} for level in LEVELS}
WHOLE = {"n-samples": {f"demo_{place}": {"original": n, "effective": n} for place, n in enumerate((6, 6, 18))}}
COLUMNS = {level: {"repetition": math.nan} for level in LEVELS}
DECLARATION = """
all: {contamination: none known, interests: none}
systems: {best: {openness: weights, parameters: 0.5, withdrawn: {apply: wrong prompt}}}
"""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name, skill in SKILLS.items():
        scores = levels(skill, clips=6)
        write_run(tmp_path / "runs" / name, scores, system=name, metadata=METADATA, columns=COLUMNS, **WHOLE)
    siq("score", tmp_path / "runs", "--save-norms", tmp_path / "draft.json", "--bootstrap", 0)
    siq("publish", "norms", tmp_path / "draft.json", "-o", tmp_path / "mine@1.json", "--example")
    (tmp_path / "declaration.yaml").write_text(DECLARATION)
    return tmp_path / "runs"


def publish(runs: Path, output: str = "results", *options: object) -> Path:
    root = runs.parent
    arguments = ("--norms", root / "mine@1.json", "--declare", root / "declaration.yaml", *options)
    siq("publish", "runs", runs, "-o", root / output, *arguments)
    return root / output


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in list_below(root)}


def test_the_same_runs_give_the_same_bytes_in_any_order_of_rows(runs):
    first = contents(publish(runs))
    for samples in runs.glob("best/samples_*"):
        samples.write_text("".join(reversed(samples.read_text().splitlines(keepends=True))))
    assert contents(publish(runs, "again")) == first
    assert contents(publish(runs)) == first, "equal files may be there already"
    assert len(first) == 1 + 3 * 4


def test_a_result_has_the_scores_of_siq_score_and_fits_its_schema(runs):
    root = publish(runs)
    for published in read_folder(root):
        result = published.result
        row = as_json("score", runs / result.system, "--norms", runs.parent / "mine@1.json")["systems"][0]
        record = result.suites["siq"]
        assert [record.siq.value, record.siq.low, record.siq.high] == [row["siq"], *row["siq_interval"]]
        for level, cells in row["categories"].items():
            assert record.categories[level].score.value == cells["score"]
            assert record.categories[level].z.value == cells["z"]
        assert result.norms.label == "mine@1" and result.norms.example
        content = json.loads((published.folder / "result.json").read_text())
        jsonschema.Draft202012Validator(schema.json_schema()).validate(content)
        assert "secret" not in json.dumps(content)
    best = read_folder(root)[0].result.declaration
    assert (best.openness, best.parameters, best.withdrawn) == ("weights", 0.5, {"apply": "wrong prompt"})


def test_the_schema_in_the_package_is_that_of_the_structs():
    file = Path(folder.__file__).with_name("result.schema.json")
    assert json.loads(file.read_text()) == schema.json_schema(), "write it again with json_schema()"


def test_rows_have_texts_only_on_request(runs):
    for options, has in (((), False), (("--texts",), True)):
        for published in read_folder(publish(runs, f"results{has}", *options)):
            for task in published.result.tasks:
                file = published.folder / "rows" / f"{task.task}.jsonl.gz"
                rows = [json.loads(line) for line in unpack_rows(file, task.rows).splitlines()]
                assert len(rows) == task.rows.count and task.rows.texts is has
                assert all(("text" in row["doc"]) is has and ("resps" in row) is has for row in rows)
                assert all(row["repetition"] is None for row in rows), "JSON has no NaN"
                assert all("other" not in row for row in rows), "a column that no task declares"
                assert b"/no/such" not in gzip.decompress(file.read_bytes())


def test_a_declaration_can_be_changed_and_nothing_else(runs):
    first = contents(publish(runs))
    declaration = runs.parent / "declaration.yaml"
    declaration.write_text(DECLARATION.replace("none known", "the test set"))
    changed = contents(publish(runs))
    assert {name for name in first if first[name] != changed[name]} == {name for name in first if "result" in name}
    assert read_folder(runs.parent / "results")[0].result.declaration.contamination == "the test set"
    write_run(runs / "best", levels(0.8, clips=6), system="best", metadata=METADATA, columns=COLUMNS, **WHOLE)
    line = refusal("publish", "runs", runs, "-o", runs.parent / "results", "--norms", runs.parent / "mine@1.json")
    assert "has other content than this result" in line and contents(runs.parent / "results") == changed


def test_a_system_is_added_with_the_declaration_of_those_before_it(runs):
    arguments = ("-o", runs.parent / "results", "--norms", runs.parent / "mine@1.json")
    siq("publish", "runs", runs / "best", *arguments)
    siq("publish", "runs", runs / "middle", *arguments)
    assert [each.result.system for each in read_folder(runs.parent / "results")] == ["best", "middle"]


def test_a_row_whose_audio_is_a_text_is_published_without_it(runs):
    edit_rows(runs / "best", lambda row: row["doc"].update(audio="/no/such/clip.wav"))
    root = publish(runs, "results", "--texts")
    assert all(b"no/such" not in gzip.decompress(file.read_bytes()) for file in root.rglob("*.gz"))


def test_without_norms_there_is_no_siq(runs):
    siq("publish", "runs", runs, "-o", runs.parent / "raw")
    for published in read_folder(runs.parent / "raw"):
        assert published.result.norms is None and published.result.suites["siq"].siq is None
        assert not math.isnan(published.result.suites["siq"].categories["apply"].score.value)


def mix_versions(runs: Path) -> None:
    write_run(runs / "more", {"remember": levels(0.9, clips=6)["remember"]}, "best", 2.0, lm_eval_version="9.9")


def declare(text: str):
    return lambda runs: (runs.parent / "declaration.yaml").write_text(text)


def edit_norms(runs: Path) -> None:
    path = runs.parent / "mine@1.json"
    path.write_text(path.read_text().replace('"example": true', '"example": false'))


def limit(runs: Path) -> None:
    change_results(
        next(runs.glob("best/results_*")), lambda content: content["n-samples"]["demo_0"].update(original=14)
    )


def limit_unknown(runs: Path) -> None:
    change_results(next(runs.glob("best/results_*")), lambda content: content.pop("n-samples") and None)


def mark(runs: Path) -> None:
    write_run(runs / "middle", levels(0.9, clips=6), system="a<b>", metadata=METADATA, columns=COLUMNS, **WHOLE)


def publish_others(runs: Path) -> None:
    file = next(publish(runs).glob("best*/*/result.json"))
    file.write_text(file.read_text().replace("none known", "known"))


BAD = {
    "nothing declared": (
        declare("all: {interests: none}"),
        "contamination not declared for best; fill it in, and give the same command again",
    ),
    "no rows": (lambda runs: next(runs.glob("best/samples_*")).unlink(), "rerun lm_eval with --log_samples"),
    "mixed versions": (mix_versions, "its tasks ran with lm-eval 9.9 and not recorded"),
    "other content": (
        lambda runs: (runs.parent / "results" / "notes").mkdir(parents=True),
        "holds something else than results ('notes')",
    ),
    "edited norms": (edit_norms, "was changed after it was made"),
    "an edited result": (publish_others, "has other content than this result"),
    "a declaration of no system": (
        declare("systems: {bset: {}}"),
        "no system 'bset' in these runs or results; did you mean best? correct its name",
    ),
    "something withdrawn that is no category": (
        declare(DECLARATION.replace("apply", "siq")),
        "withdrawn 'siq': not a category of the result; known are remember, understand, apply",
    ),
    "a part of a task": (limit, "task 'demo_0': 6 rows, and 6 of 14 docs were run; publish a run of the whole task"),
    "no number of docs": (limit_unknown, "task 'demo_0': 6 rows, and an unknown number of docs were run"),
    "a name with markup": (mark, "name 'a<b>': characters that no name needs; write letters and digits"),
    "an unknown key": (declare("all: {size: 3}"), "not a declaration (Object contains unknown field `size`)"),
    "a declaration that is no YAML": (declare("{"), "not a declaration"),
}


@pytest.mark.parametrize(("spoil", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(runs, spoil, message):
    spoil(runs)
    root = runs.parent
    arguments = ("--norms", root / "mine@1.json", "--declare", root / "declaration.yaml")
    assert message in refusal("publish", "runs", runs, "-o", root / "results", *arguments)


def test_nothing_is_published_on_a_draft(runs):
    line = refusal("publish", "runs", runs, "-o", runs.parent / "results", "--norms", runs.parent / "draft.json")
    assert "a draft, on which nothing is published" in line


def test_a_folder_without_results_is_one_line(tmp_path):
    with pytest.raises(SpeechIQError, match="has no result"):
        read_folder(tmp_path)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(SpeechIQError, match="is not a speechiq-result file"):
        read_result(tmp_path)
