"""Exports of published results: the schemas and parsers of other tools read them, with the same numbers."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import jsonschema
import msgspec
import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from speechiq.reducer.publishing.exports.scores import list_scores
from speechiq.reducer.publishing.folder import Published, read_folder
from tests.commands import refusal, siq
from tests.test_docs import REGISTRY

#: Schemas of every-eval-ever 0.3.0, with their license beside them.
SCHEMAS = Path(__file__).with_name("every_eval_ever")
RESULTS = REGISTRY / "results"
PUBLISHED = read_folder(RESULTS)


def export(tmp_path: Path, format: str, *options: object) -> Path:
    siq("publish", "export", RESULTS, "--format", format, "-o", tmp_path / format, *options)
    return tmp_path / format


def fits(content: object, schema: str) -> bool:
    jsonschema.Draft7Validator(json.loads(SCHEMAS.joinpath(schema).read_text())).validate(content)
    return True


def values(published: Published) -> dict[str, float]:
    return {named.name: named.value for named in list_scores(published.result)}


def test_every_eval_ever_takes_scores_and_samples(tmp_path):
    folder = export(tmp_path, "every-eval-ever")
    for published in PUBLISHED:
        (file,) = (path for path in folder.rglob("*.json") if published.result.system in path.read_text())
        content = json.loads(file.read_text())
        assert fits(content, "eval.schema.json")
        siq_scores = published.result.suites["siq"]
        scores = {each["evaluation_name"]: each["score_details"] for each in content["evaluation_results"]}
        assert scores["siq"]["score"] == siq_scores.siq.value and scores["siq"]["details"]["norms"] == "demo@1"
        assert scores["siq_remember"]["score"] == siq_scores.categories["remember"].score.value
        assert [each["metric_config"]["lower_is_better"] for each in content["evaluation_results"]] == [False, True] + [
            False
        ] * 2
        details = content["detailed_evaluation_results"]
        samples = folder.joinpath(details["file_path"]).read_bytes()
        assert details["checksum"] == hashlib.sha256(samples).hexdigest()
        rows = [json.loads(line) for line in samples.splitlines()]
        assert len(rows) == details["total_rows"] == 14 + 14 + 42
        assert all(fits(row, "instance_level_eval.schema.json") for row in rows)
        wer = [row["evaluation"]["score"] for row in rows if row["evaluation_result_id"] == "siq_remember"]
        assert sum(wer) / len(wer) == pytest.approx(siq_scores.categories["remember"].score.value)
        right = [row["evaluation"]["is_correct"] for row in rows if row["evaluation_result_id"] == "siq_apply"]
        assert sum(right) / len(right) == pytest.approx(siq_scores.categories["apply"].score.value)


def test_the_parser_of_the_hub_reads_eval_results(tmp_path):
    folder = export(tmp_path, "eval-results", "--benchmark", "owner/speechiq")
    board = yaml.safe_load((export(tmp_path, "eval-yaml") / "eval.yaml").read_text())
    tasks = [task["id"] for task in board["tasks"]]
    assert tasks == ["siq", "siq_remember", "siq_understand", "siq_apply"]
    for published in PUBLISHED:
        file = folder / published.folder.parent.name / published.folder.name / ".eval_results" / "speechiq.yaml"
        entries = parse_eval_result_entries(yaml.safe_load(file.read_text()))
        assert {entry.task_id: entry.value for entry in entries} == values(published)
        assert {entry.dataset_id for entry in entries} == {"owner/speechiq"} and {*tasks} == {*values(published)}
        assert "norms: demo@1 (example)" in entries[0].notes


def test_the_parser_of_the_hub_reads_model_cards(tmp_path):
    folder = export(tmp_path, "model-card", "--benchmark", "owner/speechiq")
    for published in PUBLISHED:
        card = ModelCard.load(folder / published.folder.parent.name / published.folder.name / "README.md")
        assert card.data.model_name == published.result.system
        assert {each.metric_args["task"]: each.metric_value for each in card.data.eval_results} == values(published)


def test_restored_runs_have_the_published_scores(tmp_path):
    folder, out = export(tmp_path, "lm-eval"), tmp_path / "siq.json"
    siq("score", folder, "--norms", "demo", "-o", out)
    scored = {row["system"]: row["siq"] for row in json.loads(out.read_text())["systems"]}
    assert scored == {each.result.system: each.result.suites["siq"].siq.value for each in PUBLISHED}


def test_withdrawn_scores_are_left_out(tmp_path):
    result = PUBLISHED[0].result
    declaration = msgspec.structs.replace(result.declaration, withdrawn={"apply": "wrong prompt"})
    names = [named.name for named in list_scores(msgspec.structs.replace(result, declaration=declaration))]
    assert names == ["siq_remember", "siq_understand"], "no SIQ without one of its levels"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "eval-result"], "no such format; did you mean eval-results?"),
        (["--format", "model-card"], "give --benchmark OWNER/NAME"),
        (["--format", "eval-results", "--benchmark", "speechiq"], "give --benchmark OWNER/NAME"),
    ],
)
def test_a_wrong_format_is_one_line(tmp_path, arguments, message):
    assert message in refusal("publish", "export", RESULTS, "-o", tmp_path, *arguments)


@pytest.mark.parametrize("format", ["every-eval-ever", "eval-yaml", "lm-eval"])
def test_results_that_are_refused_are_not_exported(tmp_path, format):
    results = shutil.copytree(RESULTS, tmp_path / "results")
    next(results.glob("*/*/rows/*remember*")).write_bytes(b"")
    line = refusal("publish", "export", results, "--format", format, "-o", tmp_path / "out")
    assert "1 fault, such as" in line and not (tmp_path / "out").exists()


def test_files_are_never_replaced(tmp_path):
    export(tmp_path, "eval-yaml")
    line = refusal("publish", "export", RESULTS, "--format", "eval-yaml", "-o", tmp_path / "eval-yaml")
    assert "exists; name a new folder" in line
