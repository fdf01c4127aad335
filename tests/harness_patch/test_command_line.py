"""`lm_eval run` as typed: what it refuses before it computes, what it prints, and that its saved files are complete."""

import json
import logging
import os
import sys
from pathlib import Path

import pytest
import yaml
from lm_eval import simple_evaluate
from lm_eval.__main__ import cli_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.checkpoint import Loading
from speechiq.engines.options import list_names
from speechiq.harness_patch.evaluation import NOISE, _without
from speechiq.harness_patch.run import speech_help
from tests import warm
from tests.conftest import full_disk
from tests.records import describe
from tests.warm import run_warm

pytestmark = pytest.mark.slow

SYSTEM = ("--model", "hf-audio", "--model_args", "pretrained=letter:B")
QUICK = (*SYSTEM, "--tasks", "siq_demo_apply", "--limit", "2")
SAVED = ("--log_samples", "--output_path")


@pytest.fixture
def lm_eval(monkeypatch):
    """Runs `lm_eval` in this process, so that the test gets its errors."""

    def start(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["lm_eval", *map(str, arguments)])
        cli_evaluate()

    return start


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*QUICK, "--use_cache", "shared"), r"^--use_cache shared: .* another; leave it out, the response cache"),
        ((*QUICK, "--cache_requests"), r"^--cache_requests: siq_demo_apply .*leave it out"),
        ((*SYSTEM, "--tasks", "siq_demo", "--metadata", "embeder=demo:x"), r"^--metadata embeder=demo:x: .*embedder\?"),
        (
            (*QUICK, "--metadata", "subset=5"),
            r"^--metadata subset=5: .*; leave it out "
            r"\(known: condition, language, listen, preset, prompt_language, prompts, reader, reader_\*, "
            r"reader_max_gen_toks, timing\)",
        ),
        (
            (*SYSTEM, "--tasks", "siq_medasr_remember", "--metadata", "medasr.subst=5"),
            r"^--metadata medasr\.subst=5: .*did you mean medasr\.subset\?",
        ),
        ((*QUICK, "--device", "cuda:99"), r"^--device cuda:99: this machine has .* only; give --device "),
        (("--model", "hf-audoi", "--tasks", "siq_demo"), r"^--model hf-audoi: .*did you mean hf-audio\?"),
        ((*SYSTEM, "--tasks", "siq_dmeo"), r"^--tasks siq_dmeo: no such task; did you mean siq_demo\?"),
        ((*SYSTEM, "--tasks", "siq_belebele_deu_Latin"), r"no such task; did you mean siq_belebele_deu_Latn\?"),
        ((*SYSTEM, "--limit", "2"), r"^--tasks: none given"),
        ((*QUICK, "--include_path", "nowhere"), r"^--include_path nowhere: no such folder"),
        ((*QUICK, "--config", "nowhere.yaml"), r"^--config nowhere\.yaml: Config file not found"),
        ((*QUICK, "--log_samples"), r"Specify --output_path"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(lm_eval, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpeechIQError, match=message):
        lm_eval(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_file", [False, True])
def test_spaces_around_the_names_of_tasks_mean_nothing(lm_eval, tmp_path, monkeypatch, in_file):
    monkeypatch.chdir(tmp_path)
    names = "siq_demo_apply, siq_demo_remember, siq_demo_dmo"
    tmp_path.joinpath("run.yaml").write_text(yaml.dump({"tasks": names}))
    given = ("--config", "run.yaml") if in_file else ("--tasks", names)
    with pytest.raises(SpeechIQError, match=r"^--tasks siq_demo_dmo: no such task"):
        lm_eval(*SYSTEM, *given)


def test_a_config_file_is_read_like_the_command_line(lm_eval, tmp_path):
    asked = {"model": "hf-audio", "model_args": {"pretrained": "letter:B"}, "tasks": ["siq_demo_apply"]}
    file = tmp_path / "run.yaml"
    file.write_text(yaml.dump(asked | {"metadata": {"embeder": "demo:x"}}))
    with pytest.raises(SpeechIQError, match=r"^--metadata embeder=demo:x: .*did you mean embedder"):
        lm_eval("run", "--config", file)
    file.write_text(yaml.dump(asked | {"device": "cuda:99"}))
    with pytest.raises(SpeechIQError, match=r"^--device cuda:99: "):
        lm_eval("run", "--config", file)


def test_a_config_file_runs_a_system_with_metadata(lm_eval, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    asked = {"model": "hf-audio", "model_args": {"pretrained": "letter:B"}, "tasks": ["siq_demo_remember"], "limit": 2,
             "metadata": {"normalizer": "basic"}, "log_samples": True, "output_path": "my-runs"}  # fmt: skip
    tmp_path.joinpath("run.yaml").write_text(yaml.dump(asked))
    lm_eval("run", "--config", "run.yaml")
    assert recorded_normalizers(tmp_path) == ("basic", {"basic"})
    printed = capfd.readouterr().err
    assert "siq: this run saves" not in printed and "siq: next: siq score my-runs" in printed


def recorded_normalizers(folder):
    """Return the normalizer in the results file below `folder`, and those in its sample rows."""
    (results,), (samples,) = folder.rglob("results_*.json"), folder.rglob("samples_*.jsonl")
    (task,) = json.loads(results.read_text())["configs"].values()
    rows = map(json.loads, samples.read_text().splitlines())
    assert "normaliser" not in results.read_text()
    return task["metadata"]["normalizer"], {row["doc"]["normalizer"] for row in rows}


def test_the_config_file_of_the_tutorial_is_what_the_demo_runs(lm_eval, tmp_path, monkeypatch, demo_models, capfd):
    file = Path(__file__).parents[2] / "docs" / "tutorials" / "run_demo.yaml"
    monkeypatch.chdir(tmp_path)
    lm_eval("run", "--config", file, "--model_args", "pretrained=letter:B", "--limit", "1")
    assert {path.parent for path in tmp_path.rglob("samples_siq_demo_*")} == {tmp_path / "my-runs" / "letter__B"}
    options = yaml.safe_load(file.read_text())
    assert options["model_args"] == {"pretrained": "demo"} and options["tasks"] == ["siq_demo"]
    assert options["batch_size"] == "auto" and "siq: next: siq score my-runs" in capfd.readouterr().err


def test_a_program_may_misspell_metadata_too(demo_models):
    options = {"model": "hf-audio", "model_args": "pretrained=letter:B", "tasks": ["siq_demo_apply"]}
    with pytest.raises(SpeechIQError, match="did you mean embedder_text"):
        simple_evaluate(metadata={"embeder_text": "raw"}, **options)
    manager = TaskManager(include_defaults=False, metadata={"questiens": "mine.jsonl"})
    with pytest.raises(SpeechIQError, match=r"^--metadata questiens=mine\.jsonl: no task of this run reads it"):
        simple_evaluate(task_manager=manager, **options)


@pytest.fixture
def theirs(tmp_path):
    """Return the folder of the task `theirs`, which is not of the suite."""
    folder, rows = tmp_path, tmp_path / "rows.jsonl"
    rows.write_text('{"text": "banana"}\n')
    folder.joinpath("theirs.yaml").write_text(
        f"task: theirs\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {rows}}}}}\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_text: text\ndoc_to_target: text\nmetric_list: [{metric: exact_match}]\n"
        "generation_kwargs: {until: []}\n"
    )
    return folder


def test_another_suites_tasks_may_read_keys_of_their_own(lm_eval, theirs):
    lm_eval(*SYSTEM, "--tasks", "siq_demo_remember,theirs", "--limit", "1", "--include_path", theirs,
            "--metadata", "max_seq_lengths=[4096]")  # fmt: skip


def test_a_limit_of_docs_says_where_it_takes_fewer_clips(lm_eval, tmp_path, capfd):
    lm_eval(*SYSTEM, "--tasks", "siq_demo_apply,siq_demo_remember", "--limit", "3", *SAVED, tmp_path / "runs")
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("siq: --limit")]
    assert said == [
        "siq: --limit 3 counts docs: siq_demo_apply runs 3 questions about 1 clip; `siq eval --limit` counts clips"
    ]


@pytest.fixture
def saved(lm_eval, tmp_path, capfd, monkeypatch):
    """A run outside any repository, with lm-eval's own default device: its folder, and its output on stderr."""
    monkeypatch.chdir(tmp_path)
    lm_eval(*QUICK, *SAVED, tmp_path / "runs")
    return tmp_path / "runs", capfd.readouterr().err


def test_log_lines_that_do_not_help_are_held_back_during_a_speech_run_alone(caplog):
    for name, text in NOISE.items():
        with _without(name, text):
            logging.getLogger(name).warning("%s applied.", text.replace(" ", "\n  ", 1))
            logging.getLogger(name).warning("Another line.")
        logging.getLogger(name).warning(text)
    assert [record.getMessage() for record in caplog.records] == [
        line for text in NOISE.values() for line in ("Another line.", text)
    ]


def test_a_run_says_what_it_did_and_what_comes_next(saved):
    folder, printed = saved
    assert printed.endswith(f"siq: next: siq score {folder}\n") and printed.count("siq: next:") == 1
    assert "siq: no model had to run" in printed
    assert "chat template" not in printed and "--log_samples" not in printed
    (file,) = folder.rglob("results_*.json")
    assert json.loads(file.read_text())["config"]["device"] is None


def test_the_next_command_of_a_second_system_can_be_typed_as_it_is(lm_eval, saved, capfd, tmp_path):
    spaced = saved[0].rename(tmp_path / "my runs")
    lm_eval("--model", "hf-audio", "--model_args", "pretrained=letter:C", *QUICK[4:], *SAVED, spaced)
    assert capfd.readouterr().err.endswith(f"\nsiq: next: siq score '{spaced}'\n")


UNSAVED = {
    "nothing": ((), "--log_samples --output_path FOLDER"),
    "no sample rows": (("--output_path", "runs"), "--log_samples"),
}


@pytest.mark.parametrize("lost", UNSAVED)
def test_a_run_that_saves_no_rows_says_so_before_it_computes_and_after_it(lm_eval, capfd, monkeypatch, tmp_path, lost):
    monkeypatch.chdir(tmp_path)
    given, missing = UNSAVED[lost]
    lm_eval(*QUICK, *given)
    out, printed = capfd.readouterr()
    before = f"siq: this run saves {lost}, and siq score and siq compare will have nothing to read; "
    assert printed.index(f"{before}stop and add {missing}\n") < printed.index("siq: no model had to run")
    assert printed.endswith(f"siq: next: run the same command with {missing}, then siq score\n")
    assert printed.count("siq: this run saves") == printed.count("siq: next:") == 1 and "|siq_demo_apply|" in out


def lm_eval_with_one_file():
    """Enter lm-eval with stdout and stderr in one file."""
    os.dup2(1, 2)
    warm.lm_eval()


def test_the_next_command_is_below_the_table_even_in_one_file_and_siq_run_prints_the_same_lines():
    lines = run_warm(lm_eval_with_one_file, "run", *QUICK).stdout.splitlines()
    assert lines[-1].startswith("siq: next: ") and any(line.startswith("|siq_demo_apply|") for line in lines)
    ours = [line for line in lines if line.startswith("siq: ")]
    assert any(line.startswith("siq: this run saves nothing") for line in ours)
    assert [line for line in run_warm(warm.siq, "run", *QUICK).stderr.splitlines() if line.startswith("siq: ")] == ours


def test_another_suites_run_by_another_model_gets_no_hint(lm_eval, theirs, capfd, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # else it waits for the dummy's tokenizer
    lm_eval("--model", "dummy", "--tasks", "theirs", "--include_path", theirs)
    assert "siq:" not in capfd.readouterr().err


def test_a_program_that_saves_no_rows_is_warned_in_its_own_words(capfd):
    simple_evaluate(
        model="hf-audio", model_args="pretrained=letter:B", tasks=["siq_demo_apply"], limit=1, log_samples=False
    )
    printed = capfd.readouterr().err
    assert "siq: log_samples=False: the results have no sample rows" in printed and "siq: next" not in printed


def results_of(task: str, rows: int) -> tuple[dict, dict]:
    row = {"doc_hash": "a", "prompt_hash": "b", "target_hash": "c", "arguments": [["?"]], "resps": [["B"]],
           "filtered_resps": ["B"], "target": "B", "doc": {"text": "x" * 500}}  # fmt: skip
    results = {"results": {task: {}}, "configs": {task: {"metadata": describe("apply")}}}
    return results | {"n-samples": {task: {"effective": 3}}}, {task: [dict(row) for _ in range(rows)]}


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (100, r"results_.*\.json': was not written to its end .*free disk space .*answers come from the response"),
        (1500, r"samples_siq_x_.*\.jsonl': has 2 of 3 rows"),
    ],
)
def test_a_disk_that_is_full_ends_the_run(tmp_path, size, message, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    tracker = EvaluationTracker(output_path=str(tmp_path / "runs"))
    results, samples = results_of("siq_x", 3)
    with full_disk(size), pytest.raises(SpeechIQError, match=message):
        tracker.save_results_aggregated(results=results, samples=samples)
        tracker.save_results_samples(task_name="siq_x", samples=samples["siq_x"])


def test_a_row_that_got_lost_is_noticed(tmp_path):
    tracker = EvaluationTracker(output_path=str(tmp_path / "all.json"))
    results, samples = results_of("siq_x", 2)
    with pytest.raises(SpeechIQError, match=r"^siq_x: 2 rows for 3 docs"):
        tracker.save_results_aggregated(results=results, samples=samples)


def test_what_lm_eval_saves_of_others_is_its_own_affair(tmp_path):
    tracker = EvaluationTracker(output_path=str(tmp_path))
    with full_disk(100):
        tracker.save_results_aggregated(results={"results": {"theirs": {}}, "configs": {"theirs": {}}}, samples={})


def test_ctrl_c_is_one_line_that_says_what_is_kept(lm_eval, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("speechiq.harness_patch.systems.system.ConstantLetter.answer", stop)
    with pytest.raises(
        KeyboardInterrupt, match="what was computed is in the response cache, and the same command continues"
    ):
        lm_eval(*QUICK)


def test_the_help_describes_speech_systems():
    done = run_warm(warm.siq, "run", "--help")
    assert done.returncode == 0 and done.stdout.endswith(speech_help())
    assert all(option in done.stdout for option in ("--model hf-audio", "embedder_dtype", *list_names(Loading)))
