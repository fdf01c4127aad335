"""SIQ as lm-eval's output files, read by lm-eval's own consumers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from lm_eval import utils
from lm_eval.loggers import WandbLogger
from lm_eval.result_schema import EvalResults, SampleResult
from pydantic import TypeAdapter

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.output.harness import folder_names, write_harness
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.tasks import find_tasks
from speechiq.reducer.scores.bootstrap import resample
from speechiq.reducer.scores.levels import LEVELS
from speechiq.reducer.scores.ranking import rank
from speechiq.reducer.scores.scale import calibrate, score
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import read_systems
from tests.commands import siq
from tests.reducer.conftest import levels, write_run

TASKS = ["siq_remember", "siq_understand", "siq_apply"]
SYSTEMS = ("demo:tiny+llm", "org/whisper+org/llm")
CLIPS = 5


def ranked(*names: str, draws: int = 0) -> Scoreboard:
    """Two systems as well have SIQ, on their own scale."""
    rng = np.random.default_rng(0)

    def draw_system(name):
        scores = {}
        for level, of in LEVELS.items():
            items = [(f"demo/{number}", "q")[: len(of.item)] for number in range(CLIPS)]
            scores[level] = {item: of.measure.sign * rng.random() for item in items}
        return System.of_scores(name, scores, levels=LEVELS)

    systems = [draw_system(name) for name in names]
    scoreboard = rank(systems)
    scores = score(scoreboard.pool, calibrate(scoreboard.pool))
    return scoreboard._replace(
        remarks=scoreboard.remarks._replace(no_siq=None),
        scale=scores.scale,
        z={level: of.z for level, of in scores.levels.items()},
        siq=scores.siq,
        bars=resample(scoreboard.pool, draws=draws) if draws else None,
        excluded=3,
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_harness(ranked(*SYSTEMS, draws=100), tmp_path / "siq")
    return tmp_path / "siq"


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def test_results_have_lm_evals_schema(written):
    scoreboard = ranked(*SYSTEMS, draws=100)
    pool, errors = scoreboard.pool, scoreboard.bars
    for name, folder in zip(SYSTEMS, ("demo__tiny+llm", "org__whisper+org__llm"), strict=True):
        (path,) = (written / folder).glob("results_*.json")
        results, j = read(path), pool.systems.index(name)
        assert set(results) <= set(EvalResults.__annotations__)
        assert results["model_name"] == name and results["model_name_sanitized"] == folder
        assert results["config"]["model_args"] == {"pretrained": name}
        assert list(results["results"]) == [*TASKS, "siq"] and results["group_subtasks"] == {"siq": TASKS}
        assert results["groups"]["siq"]["siq,none"] == scoreboard.siq[j]
        assert results["groups"]["siq"]["siq_stderr,none"] == errors.siq_std[j]
        assert results["results"]["siq_apply"]["acc_stderr,none"] == errors.std["apply"][j]
        assert results["results"]["siq_remember"]["wer,none"] == pytest.approx(-pool.raw["remember"][j].mean())
        assert results["higher_is_better"]["siq_remember"] == {"wer": False, "z": True}
        assert results["n-samples"]["siq_apply"] == {"original": CLIPS, "effective": CLIPS}
        for task in TASKS:
            metadata = results["configs"][task]["metadata"]
            assert "level" not in metadata and metadata["systems"] == list(SYSTEMS) and metadata["excluded"] == 3


def test_what_the_siq_hides_is_printed_beside_it(two_runs):
    write_run(two_runs / "bad", levels(0.1), system="bad", columns={"apply": {"unparsed": 0.25}})
    (path, _) = write_harness(rank(read_systems([two_runs])), two_runs / "siq")
    rows = [line.replace(" ", "").split("|") for line in utils.make_table(read(path), "groups").splitlines()[2:]]
    shown = {row[5]: row[6:8] for row in rows}
    assert shown["unparsed"] == ["↓", "0.2500"] and shown["repetition"] == ["↓", "N/A"]
    assert {*shown} == {"siq", "unparsed", "none_of_the_above", "incomplete_audio", "repetition", "wrong_language"}


def test_a_folder_stays_one_systems_over_several_exports(tmp_path):
    for systems in (("a/b", "x"), ("a:b", "x"), ("a/b", "x")):
        write_harness(ranked(*systems), tmp_path)
    held = {(path.parent.name.partition("-")[0], read(path)["model_name"]) for path in tmp_path.glob("*/results_*")}
    assert held == {("a__b", "a/b"), ("a__b", "a:b"), ("x", "x")} and len(list(tmp_path.iterdir())) == 3


def test_without_a_bootstrap_errors_are_as_lm_eval_writes_none(tmp_path):
    (path, _) = write_harness(ranked(*SYSTEMS), tmp_path)
    assert read(path)["groups"]["siq"]["siq_stderr,none"] == "N/A" and "N/A" in utils.make_table(read(path))


def test_sample_rows_have_lm_evals_schema_and_average_to_the_results(written):
    for path in written.glob("*/samples_*.jsonl"):
        rows = [TypeAdapter(SampleResult).validate_json(line, strict=True) for line in path.read_text().splitlines()]
        (metric,) = rows[0]["metrics"]
        task = utils.get_file_task_name(path.name)
        results = read(path.with_name(f"results_{utils.get_file_datetime(path.name)}.json"))["results"][task]
        assert np.mean([row[metric] for row in rows]) == pytest.approx(results[f"{metric},none"], abs=1e-12)
        assert len({row["doc_hash"] for row in rows}) == results["sample_len"] == CLIPS


def test_lm_evals_table_printer(written):
    scores = ranked(*SYSTEMS)
    (path,) = written.glob("demo__tiny*/results_*")
    tasks, groups = (utils.make_table(read(path), column) for column in ("results", "groups"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in tasks.splitlines()[2:]]
    assert [row[0] for row in rows if row[0]] == ["siq", "- siq_apply", "- siq_remember", "- siq_understand"]
    siq = f"{scores.siq[0]:.4f}"
    assert rows[0][:4] == ["siq", "1", "none", "0"] and ["siq", "↑", siq, "±"] in [row[4:8] for row in rows]
    assert ["wer", "↓"] in [row[4:6] for row in rows] and siq in groups and "siq_apply" not in groups


@pytest.mark.slow
def test_weights_and_biases_offline(written, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    (path,) = written.glob("demo__tiny*/results_*")
    results = read(path)
    logger = WandbLogger({"project": "siq", "dir": str(tmp_path)})
    logger.post_init(results)
    logger.log_eval_result()
    samples = {}
    for file in path.parent.glob("samples_*"):
        rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        in_memory = [row | {"arguments": [list(row["arguments"]["gen_args_0"].values())]} for row in rows]
        samples[utils.get_file_task_name(file.name)] = in_memory
    logger.log_eval_samples(samples)
    summary = dict(logger.run.summary)
    config = dict(logger.run.config)
    wandb.finish()
    assert summary["siq/siq"] == results["groups"]["siq"]["siq,none"]
    assert summary["siq_remember/wer"] == results["results"]["siq_remember"]["wer,none"]
    assert summary["evaluation/group_eval_results"]["nrows"] and summary["siq_eval_results"]["nrows"] == 3 * CLIPS
    assert config["cli_configs"]["model_args"] == {"pretrained": "demo:tiny+llm"}
    assert list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))


def by_name(file: str, task: str) -> bool:
    return utils.get_file_task_name(Path(file).name) == task


def by_substring(file: str, task: str) -> bool:
    return task in file


@pytest.mark.parametrize("matches", [by_name, by_substring])
def test_zenos_reading_rules(written, matches):
    """Those of lm-eval's `scripts/zeno_visualize.py`, now and before task names were compared whole."""
    write_harness(ranked(*SYSTEMS), written)
    asked = {}
    for folder in written.iterdir():
        files = [path.as_posix() for path in folder.iterdir()]
        results = Path(utils.get_latest_filename(utils.get_results_filenames(files)))
        latest = read(results)
        assert "/" not in re.sub(r"[\"<>:/|\\?*\[\]]+", "__", json.dumps(latest["config"]["model_args"]))
        assert list(latest["configs"]) == TASKS
        for task, config in latest["configs"].items():
            samples = [file for file in utils.get_sample_results_filenames(files) if matches(file, task)]
            path = Path(utils.get_latest_filename(samples))
            rows = [json.loads(line.strip()) for line in path.read_text(encoding="utf-8").splitlines()]
            assert path.stem == f"samples_{task}_{results.stem.removeprefix('results_')}", "the newest of both"
            assert not config.get("filter_list") and config["output_type"] == "generate_until"
            for metric in config["metric_list"]:
                assert metric["aggregation"] == "mean" and all(isinstance(row[metric["metric"]], float) for row in rows)
            data = [(row["doc_id"], row["target"], row["arguments"]["gen_args_0"]["arg_0"]) for row in rows]
            assert asked.setdefault(task, data) == data, "all systems have the same documents"
            assert all(str(row["filtered_resps"][0]) for row in rows)


PATHS = ["../../x", "..", ".", "", "/etc/passwd", "C:\\x"]
HOSTILE = [*PATHS, "a/b", "a:b", "A:B", "=1+1", "<script>", "\0\n", "n" * 999, "ü" * 99]


def test_hostile_names_stay_in_the_folder(tmp_path):
    names = folder_names(HOSTILE)
    assert not any("/" in name or "\\" in name or not name.strip(". ") for name in names.values())
    assert max(len(name.encode()) for name in names.values()) < 256
    assert len({name.casefold() for name in names.values()}) == len(HOSTILE)
    assert names["=1+1"] == utils.sanitize_model_name("=1+1") and names["<script>"] == "__script__"
    (tmp_path / "siq").mkdir()
    write_harness(ranked(*HOSTILE), tmp_path / "siq")
    assert [path.name for path in tmp_path.iterdir()] == ["siq"]
    assert sorted(path.name for path in (tmp_path / "siq").iterdir()) == sorted(names.values())
    assert {read(path)["model_name"] for path in tmp_path.glob("siq/*/results_*")} == set(HOSTILE)


def test_what_was_written_is_no_run(two_runs):
    tasks, _ = find_tasks([two_runs])
    write_harness(rank(read_systems([two_runs])), two_runs)
    assert find_tasks([two_runs]) == (tasks, [])


def test_a_folder_that_takes_no_files(tmp_path):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(SpeechIQError, match=r"cannot write '.*file.*'.*name a folder"):
        write_harness(ranked("a", "b"), tmp_path / "file")


def test_a_second_export_leaves_the_first(written):
    before = {path: path.read_bytes() for path in written.rglob("*.json*")}
    write_harness(ranked(*SYSTEMS), written)
    assert all(path.read_bytes() == content for path, content in before.items())
    assert len(list(written.rglob("results_*"))) == 4


def test_the_command_writes_every_kind_of_file(two_runs):
    write_run(two_runs / "hostile", levels(0.5), system="=../<b>|\\input&_%")
    files = {ending: two_runs / f"siq.{ending}" for ending in ("json", "csv", "md", "tex")}
    options = [part for file in (*files.values(), two_runs / "siq") for part in ("-o", file)]
    siq("score", two_runs, *options, "--bootstrap", "40")
    assert "=../&lt;b&gt;\\|\\\\input&amp;\\_%" in files["md"].read_text()
    assert r"=../\textless{}b\textgreater{}\textbar{}\textbackslash{}input\&\_\%" in files["tex"].read_text()
    assert "'=../<b>" in files["csv"].read_text()
    assert sorted(path.name for path in (two_runs / "siq").iterdir()) == ["=..__b__input&_%", "bad", "good"]
    (results,) = (two_runs / "siq" / "good").glob("results_*")
    assert read(results)["groups"]["siq"]["siq_stderr,none"] > 0
