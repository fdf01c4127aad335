"""What the plugin needs of lm-eval beyond its documentation; `make test-upstream` runs it too."""

import argparse
import inspect
import logging
from importlib import import_module
from importlib.util import find_spec

import pytest
import yaml
from lm_eval import simple_evaluate
from lm_eval.api.registry import get_model
from lm_eval.api.task import ConfigurableTask
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import _lm_eval as private
from speechiq.harness_patch.hf_audio import HFAudio
from speechiq.harness_patch.hooks import HOOKS
from speechiq.siq_tasks.task import SpeechTask

TASK = "siq_demo_apply"
WRAPPED = {
    "lm_eval.loggers.evaluation_tracker": ["EvaluationTracker.save_results_aggregated"],
    "lm_eval.evaluator": ["simple_evaluate", "evaluate"],
    "lm_eval._cli.run": ["Run._execute"],
}
BOTH = {"log_samples", "cache_requests", "system_instruction"}


@pytest.fixture(scope="module")
def manager():
    return TaskManager(include_defaults=False)


@pytest.fixture(scope="module")
def results(manager):
    return simple_evaluate(
        model="hf-audio", model_args="pretrained=letter:B", tasks=[TASK], limit=2, task_manager=manager, device="cpu"
    )


@pytest.mark.parametrize("module", HOOKS)
def test_every_module_that_is_changed_is_there_and_was_changed(module):
    assert find_spec(module)
    for name in WRAPPED.get(module, []):
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        assert found.__wrapped__


@pytest.mark.parametrize(
    ("function", "first", "others"),
    [
        (simple_evaluate, ["model", "model_args", "tasks"], {"device", "use_cache", "evaluation_tracker"} | BOTH),
        (simple_evaluate, [], {"task_manager", "metadata"}),
        (import_module("lm_eval.evaluator").evaluate, ["lm", "task_dict"], BOTH),
        (TaskManager.__init__, ["self", "verbosity", "include_path", "include_defaults"], {"metadata"}),
        (EvaluationTracker.save_results_aggregated, ["self", "results", "samples"], set()),
        (EvaluationTracker.save_results_samples, ["self", "task_name", "samples"], set()),
        (import_module("lm_eval.tasks._yaml_loader")._mk_function_ctor, ["base_dir", "resolve"], set()),
        (import_module("lm_eval.tasks._factory").load_yaml, ["path"], {"resolve_func"}),
        (import_module("lm_eval.api.task").get_metric, ["name", "hf_evaluate_metric"], set()),
        (ConfigurableTask.download, ["self", "dataset_kwargs"], set()),
        (ConfigurableTask.build_all_requests, ["self"], {"limit", "samples", "rank", "world_size"}),
    ],
)
def test_what_is_wrapped_takes_what_we_read(function, first, others):
    parameters = list(inspect.signature(function).parameters)
    assert parameters[: len(first)] == first and others <= set(parameters)


def test_our_model_types_are_registered_beside_lm_evals_own():
    assert {"hf", "hf-audio", "audio-api"} <= set(private.list_model_types())
    assert get_model("hf-audio") is HFAudio


def test_the_newest_task_manager_lists_our_tasks(manager):
    assert private.list_known_tasks() == manager.all_tasks and TASK in manager.all_tasks
    assert manager.include_path is None and manager.metadata is None


def test_a_run_takes_our_tasks_and_our_model(results):
    assert results["config"]["siq"]["pretrained"] == "letter:B"
    assert len(results["samples"][TASK]) == 2 and results["results"][TASK]["acc,vote"] in (0, 0.5, 1)
    assert results["configs"][TASK]["metadata"]["content_sha256"]


def test_what_evaluate_is_given_holds_the_tasks_by_name(manager):
    tasks = private.unpack_tasks(manager.load([TASK]))
    assert list(tasks) == [TASK] and isinstance(tasks[TASK], SpeechTask)


def test_what_a_run_cannot_do_is_refused_before_it(manager):
    with pytest.raises(SpeechIQError, match=r"^--use_cache x"):
        simple_evaluate(model="hf-audio", model_args="pretrained=letter:B", tasks=[TASK], use_cache="x")


@pytest.mark.parametrize("place", ["runs", "all.json"])
def test_saved_files_are_found(results, tmp_path, place):
    tracker = EvaluationTracker(output_path=str(tmp_path / place))
    tracker.general_config_tracker.log_experiment_args("hf-audio", "pretrained=letter:B", "", None, False)
    samples = results["samples"]
    rest = {name: part for name, part in results.items() if name != "samples"}
    tracker.save_results_aggregated(results=rest, samples=samples)
    tracker.save_results_samples(task_name=TASK, samples=samples[TASK])
    found = {private.find_saved_file(tracker, ".json"), private.find_saved_file(tracker, ".jsonl", f"samples_{TASK}_")}
    assert found == {path for path in tmp_path.rglob("*") if path.is_file()} and len(found) == 2


def test_errors_about_options_are_distinguished():
    with pytest.raises(ValueError) as missing:
        EvaluatorConfig(model="dummy", tasks=["siq_x", "siq_y"]).process_tasks()
    with pytest.raises(ValueError) as other:
        int("x")
    assert private.is_about_options(missing.value) and not private.is_about_options(other.value)
    assert private.find_missing_task(str(missing.value)) == "siq_x"
    assert private.find_missing_task(str(other.value)) is None


def test_a_config_file_is_read(tmp_path):
    file, options = tmp_path / "run.yaml", {"model": "hf-audio", "tasks": [TASK]}
    file.write_text(yaml.safe_dump(options))
    assert private.read_config_file(str(file)) == options
    with pytest.raises(OSError):
        private.read_config_file(str(tmp_path / "nowhere.yaml"))
    file.write_text("- a list")
    with pytest.raises(TypeError):
        private.read_config_file(str(file))


def test_a_text_is_added_to_the_help_of_run(monkeypatch):
    command = import_module("lm_eval._cli.run").Run
    monkeypatch.setattr(command, "__init__", command.__init__)
    private.add_help(lambda: "speech\n")
    assert command(argparse.ArgumentParser().add_subparsers())._parser.format_help().endswith("speech\n")


def test_values_are_read_as_lm_eval_reads_them():
    assert private.parse_arguments("a=1,b=x,c=True") == {"a": 1, "b": "x", "c": True}
    assert [private.parse_value(text) for text in ("5", "0.5", "x")] == [5, 0.5, "x"]
    assert private.parse_pairs(["a=5", "b.c=[1, 2]", "d=x=y"]) == {"a": 5, "b.c": [1, 2], "d": "x=y"}
    assert private.parse_pairs([]) == {}


def test_generation_settings_come_in_one_form():
    given = {"max_new_tokens": 8, "temperature": 0.5, "until": "."}
    assert private.normalize_settings(given) == {
        "temperature": 0.5, "until": ["."], "do_sample": True, "max_gen_toks": 8,
    }  # fmt: skip
    with pytest.raises((TypeError, ValueError)):
        private.normalize_settings({"max_gen_toks": "many"})


def test_the_advice_about_chat_templates_is_logged_under_its_name(caplog):
    logger, text = private.CHAT_NOISE
    with caplog.at_level(logging.WARNING, logger), pytest.raises(ValueError, match="No tasks"):
        simple_evaluate.__wrapped__(model="dummy", model_args={"pretrained": "x-instruct"}, tasks=[])
    assert any(text in " ".join(line.getMessage().split()) for line in caplog.records if line.name == logger)


def test_packages_of_the_machine_are_listed_for_the_results_as_pip_lists_them(monkeypatch):
    listing = import_module("torch.utils.collect_env")
    by_pip = listing.get_pip_packages(listing.run)
    monkeypatch.setattr(listing, "get_pip_packages", listing.get_pip_packages)
    private.list_packages_once()
    assert "torch" in by_pip[1] and listing.get_pip_packages(None) == by_pip
    info: dict = {}
    import_module("lm_eval.loggers.utils").add_env_info(info)
    assert by_pip[1].splitlines()[0] in info["pretty_env_info"]


def test_a_package_that_was_removed_in_part_is_not_listed(monkeypatch, tmp_path):
    (tmp_path / "rest-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert "pytest==" in private._list_packages() and "rest" not in private._list_packages().split("==")


def test_a_template_is_compiled_once_inside_the_block():
    utils = import_module("lm_eval.utils")
    with private.compiling_templates_once():
        assert utils.env.from_string("{{text}}!") is utils.env.from_string("{{text}}!")
        assert [utils.apply_template("{{text}}!", {"text": text}) for text in "ab"] == ["a!", "b!"]
    assert utils.env.from_string("{{text}}!") is not utils.env.from_string("{{text}}!")


def test_git_says_nothing_outside_a_repository(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    utils = import_module("lm_eval.loggers.utils")
    monkeypatch.setattr(utils, "get_git_commit_hash", utils.get_git_commit_hash)
    private.ask_git_quietly()
    assert utils.get_git_commit_hash() is None
    assert capfd.readouterr().err == ""
