"""`lm_eval run` as typed: what it refuses before it computes, what it says, and that what it saved is whole."""

import json
import logging
import resource
import sys

import pytest
import yaml
from lm_eval import simple_evaluate
from lm_eval.__main__ import cli_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.loading import Loading
from speechiq.engines.options import list_names
from speechiq.harness_patch.command_line import speech_help
from speechiq.harness_patch.evaluation import NOISE, _without
from tests.conftest import run

pytestmark = pytest.mark.slow

SYSTEM = ("--model", "hf-audio", "--model_args", "pretrained=letter:B")
QUICK = (*SYSTEM, "--tasks", "siq_demo_apply", "--limit", "2")
SAVED = ("--log_samples", "--output_path")


@pytest.fixture
def lm_eval(monkeypatch):
    """Runs `lm_eval` in this process, so that its errors reach the test."""

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
        ((*QUICK, "--metadata", "subset=5"), r"^--metadata subset=5: no task .*; leave it out \(known: none\)"),
        ((*QUICK, "--device", "cuda:99"), r"^--device cuda:99: this machine has .* only; give --device "),
        ((*QUICK, "--device", "nonsense"), r"^--device nonsense: not a kind of device"),
        (("--model", "hf-audoi", "--tasks", "siq_demo"), r"^--model hf-audoi: .*did you mean hf-audio\?"),
        ((*SYSTEM, "--tasks", "siq_dmeo"), r"^--tasks siq_dmeo: no such task; did you mean siq_demo\?"),
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


def test_two_systems_never_share_lm_evals_cache(lm_eval, tmp_path):
    for letter in "AB":
        with pytest.raises(SpeechIQError, match="has no key for the system"):
            lm_eval("--model", "hf-audio", "--model_args", f"pretrained=letter:{letter}", "--tasks", "siq_demo_apply",
                    "--use_cache", tmp_path / "shared")  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_a_config_file_is_read_like_the_command_line(lm_eval, tmp_path):
    asked = {"model": "hf-audio", "model_args": {"pretrained": "letter:B"}, "tasks": ["siq_demo_apply"]}
    file = tmp_path / "run.yaml"
    file.write_text(yaml.dump(asked | {"metadata": {"embeder": "demo:x"}}))
    with pytest.raises(SpeechIQError, match=r"^--metadata embeder=demo:x: .*did you mean embedder"):
        lm_eval("run", "--config", file)
    file.write_text(yaml.dump(asked | {"device": "cuda:99"}))
    with pytest.raises(SpeechIQError, match=r"^--device cuda:99: "):
        lm_eval("run", "--config", file)


def test_a_program_may_misspell_metadata_too(demo_models):
    options = {"model": "hf-audio", "model_args": "pretrained=letter:B", "tasks": ["siq_demo_apply"]}
    with pytest.raises(SpeechIQError, match="did you mean embedder_text"):
        simple_evaluate(metadata={"embeder_text": "raw"}, **options)
    manager = TaskManager(include_defaults=False, metadata={"questiens": "mine.jsonl"})
    with pytest.raises(SpeechIQError, match=r"^--metadata questiens=mine\.jsonl: no task of this run reads it"):
        simple_evaluate(task_manager=manager, **options)


def test_another_suites_tasks_may_read_keys_of_their_own(lm_eval, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "banana"}\n')
    tmp_path.joinpath("theirs.yaml").write_text(
        f"task: theirs\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {rows}}}}}\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_text: text\ndoc_to_target: text\nmetric_list: [{metric: exact_match}]\n"
        "generation_kwargs: {until: []}\n"
    )
    lm_eval(*SYSTEM, "--tasks", "siq_demo_remember,theirs", "--limit", "1", "--include_path", tmp_path,
            "--metadata", "max_seq_lengths=[4096]")  # fmt: skip


@pytest.fixture
def saved(lm_eval, tmp_path, capfd, monkeypatch):
    """A run outside any repository, with lm-eval's own default device: its folder, and what it said on stderr."""
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
    folder, said = saved
    assert f"siq: the run is in {folder}; once all systems are there: siq score {folder}\n" in said
    assert "siq: no model had to run" in said
    assert "not a git repository" not in said and "chat template" not in said and "--log_samples" not in said
    (file,) = folder.rglob("results_*.json")
    assert json.loads(file.read_text())["config"]["device"] is None


def test_a_run_that_saves_no_rows_says_so_before_it_computes(lm_eval, capfd):
    lm_eval(*QUICK)
    said = capfd.readouterr().err
    assert said.index("siq: without --log_samples no sample rows are saved") < said.index("siq: no model had to run")


@pytest.fixture
def full_disk(monkeypatch):
    """Sets how many bytes a file may have, which stops a write as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def results_of(task: str, rows: int) -> tuple[dict, dict]:
    row = {"doc_hash": "a", "prompt_hash": "b", "target_hash": "c", "arguments": [["?"]], "resps": [["B"]],
           "filtered_resps": ["B"], "target": "B", "doc": {"text": "x" * 500}}  # fmt: skip
    results = {"results": {task: {}}, "configs": {task: {"metadata": {"level": "apply"}}}}
    return results | {"n-samples": {task: {"effective": 3}}}, {task: [dict(row) for _ in range(rows)]}


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (100, r"results_.*\.json: cannot be read back .*free space .*computes nothing anew"),
        (1500, r"samples_siq_x_.*\.jsonl: has 2 of 3 rows"),
    ],
)
def test_a_disk_that_is_full_ends_the_run(tmp_path, full_disk, size, message, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    tracker = EvaluationTracker(output_path=str(tmp_path / "runs"))
    results, samples = results_of("siq_x", 3)
    full_disk(size)
    with pytest.raises(SpeechIQError, match=message):
        tracker.save_results_aggregated(results=results, samples=samples)
        tracker.save_results_samples(task_name="siq_x", samples=samples["siq_x"])


def test_a_row_that_got_lost_is_noticed(tmp_path):
    tracker = EvaluationTracker(output_path=str(tmp_path / "all.json"))
    results, samples = results_of("siq_x", 2)
    with pytest.raises(SpeechIQError, match=r"^siq_x: 2 rows for 3 docs"):
        tracker.save_results_aggregated(results=results, samples=samples)


def test_what_lm_eval_saves_of_others_is_its_own_affair(tmp_path, full_disk):
    tracker = EvaluationTracker(output_path=str(tmp_path))
    full_disk(100)
    tracker.save_results_aggregated(results={"results": {"theirs": {}}, "configs": {"theirs": {}}}, samples={})


def test_ctrl_c_is_one_line_that_says_what_is_kept(lm_eval, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("speechiq.harness_patch.systems.constant.ConstantLetter.answer", stop)
    with pytest.raises(KeyboardInterrupt, match="what was computed is in the response cache"):
        lm_eval(*QUICK)


@pytest.mark.parametrize("command", [("lm_eval", "run", "--help"), ("siq", "run", "--help")])
def test_the_help_describes_speech_systems(command):
    done = run(*command)
    assert done.returncode == 0 and done.stdout.endswith(speech_help())
    assert all(option in done.stdout for option in ("--model hf-audio", "embedder_dtype", *list_names(Loading)))
