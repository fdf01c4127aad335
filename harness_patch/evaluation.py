"""Check speech runs before and around lm-eval's `simple_evaluate` and `evaluate`, and the files that they wrote.

Every run calls these two functions: lm-eval's command line, a config file, and a program. If lm-eval cannot write a
file, it only logs that, prints its table and exits with 0.
"""

from __future__ import annotations

import functools
import json
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speechiq.core.console import count_of, is_first_process, say
from speechiq.core.endpoint.addresses import refuse_secrets
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output_folder
from speechiq.core.prompt import PROMPTS
from speechiq.engines._transformers import WHISPER_NOISE
from speechiq.harness_patch import _lm_eval, command_line

if TYPE_CHECKING:
    from lm_eval.api.model import LM

    from speechiq.siq_tasks.index import TaskInfo

#: Logger -> text of a line that is wrong or useless in a speech run.
NOISE = dict([_lm_eval.CHAT_NOISE, WHISPER_NOISE])


class SpeechModel(ABC):
    """Define what the checks need of a model type of lm-eval that is a speech system."""

    @abstractmethod
    def running(self) -> AbstractContextManager[None]:
        """Return a block inside which the tasks are evaluated."""

    @abstractmethod
    def refuse_words(self, option: str) -> None:
        """Refuse words of the user for the prompt of questions, given by `option`, if the system cannot use them."""


def guard_run(simple_evaluate: Callable, model_types: Sequence[str]) -> Callable:
    """Return lm-eval's `simple_evaluate` with checks before it; `model_types` are those of speech systems."""

    @functools.wraps(simple_evaluate)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        options = dict(zip(("model", "model_args", "tasks"), args, strict=False)) | kwargs
        speech = options.get("model") in model_types or isinstance(options.get("model"), SpeechModel)
        with ExitStack() as during:
            if speech:
                _refuse_unsafe(options)
                if (path := getattr(options.get("evaluation_tracker"), "output_path", None)) is not None:
                    check_output_folder(
                        command_line.output_folder(path), "choose another --output_path, or correct its permissions"
                    )
                if (run := command_line.command.get()) is not None and not run.has_device:
                    kwargs["device"] = None
                for name, text in NOISE.items():
                    during.enter_context(_without(name, text))
                during.enter_context(_lm_eval.compiling_templates_once())
            during.enter_context(given_metadata(options))
            if "tasks" in kwargs:
                kwargs["tasks"] = choose_tasks(kwargs["tasks"])
            results = simple_evaluate(*args, **kwargs)
            if speech and results is not None and options.get("samples"):
                results["config"]["samples"] = options["samples"]
            return results

    return guarded


def _refuse_unsafe(options: Mapping[str, Any]) -> None:
    """Refuse lm-eval's cache, and addresses with a password or key before lm-eval logs and stores them."""
    given = {"--model_args": options.get("model_args"), "--metadata": options.get("metadata")}
    advice = "set the environment variable OPENAI_API_KEY, or name one by key_variable"
    refuse_secrets(given, f"{options['model']}:", advice)
    if options.get("use_cache") is not None:
        raise SpeechIQError(
            f"--use_cache {options['use_cache']}",
            "lm-eval's cache has no key for the system and would give a system the transcripts of another",
            "leave it out, the response cache (SIQ_STORE, on by default) stores the answers per system",
        )


def guard_tasks(evaluate: Callable) -> Callable:
    """Return lm-eval's `evaluate` with checks of the tasks before it."""

    @functools.wraps(evaluate)
    def guarded(lm: LM, task_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        from speechiq.siq_tasks.task import SpeechTask

        tasks = _lm_eval.unpack_tasks(task_dict)
        suite = {name: task for name, task in tasks.items() if isinstance(task, SpeechTask)}
        if suite:
            _check_tasks(suite, len(suite) < len(tasks), lm, kwargs)
        speech = isinstance(lm, SpeechModel)
        if speech and suite:
            _refuse_words(lm, suite, kwargs.get("system_instruction"))
        if (speech or suite) and lm.rank == 0:
            command_line.begin(kwargs.get("log_samples", True))
        with lm.running() if speech else nullcontext():
            return evaluate(lm, task_dict, *args, **kwargs)

    return guarded


def _check_tasks(suite: Mapping[str, Any], others: bool, lm: LM, options: Mapping[str, Any]) -> None:
    from speechiq.siq_tasks.settings import refuse_unread, user_metadata

    refuse_unread(user_metadata.get() or {}, [task.metadata_keys for task in suite.values()], others)
    if options.get("cache_requests"):
        raise SpeechIQError(
            "--cache_requests",
            f"{next(iter(suite))} cannot be cached so, because the key ignores prompts and metadata",
            "leave it out, requests are built in seconds",
        )
    if not isinstance(lm, SpeechModel):
        _refuse_other_model(suite, lm)
    if lm.rank == 0 and options.get("limit"):
        _explain_limit(suite, options["limit"])


def _refuse_other_model(suite: Mapping[str, Any], lm: LM) -> None:
    """Refuse what only a speech system can do with tasks, and a model type that takes no audio at all."""
    from speechiq.siq_tasks.conditions.spec import LISTEN, STREAM, TEXT, TIMING

    kind = f"the model type {type(lm).__name__}"
    for name, task in suite.items():
        about = task.config.metadata
        read, turn = about.get(LISTEN) == TEXT, "system" in about.get(PROMPTS, {})
        for is_asked, option, fault, instead in (
            (read, f"{LISTEN}={TEXT}", f"gets the audio of {name}, not its transcript", "take listen=muted"),
            (task.is_timed, f"{TIMING}={STREAM}", f"cannot time {name}", "leave it out"),
            (turn, f"{PROMPTS}: system", f"takes no system turn from {name}", "give --system_instruction"),
        ):
            if is_asked:
                fix = f"run it with --model hf-audio or audio-api, or {instead}"
                raise SpeechIQError(f"--metadata {option}", f"{kind} {fault}", fix)
    if not getattr(lm, "MULTIMODAL", False):
        raise SpeechIQError(
            f"--tasks {next(iter(suite))}",
            f"{kind} takes no audio",
            "run it with --model hf-audio, or --model audio-api for an endpoint",
        )


def _refuse_words(lm: SpeechModel, suite: Mapping[str, Any], instruction: str | None) -> None:
    """Refuse a system instruction, and the user's own prompt for answers, that the system cannot use."""
    if instruction:
        lm.refuse_words(f"--system_instruction {instruction[:40]!r}")
    if any("answer" in task.config.metadata.get(PROMPTS, {}) for task in suite.values()):
        lm.refuse_words(f"--metadata {PROMPTS}: answer")


def _explain_limit(suite: Mapping[str, Any], limit: float) -> None:
    """Say for which tasks the first docs are about fewer clips, since lm-eval limits docs, not clips."""
    for name, task in suite.items():
        docs = task.eval_docs
        count = min(len(docs), int(limit) if limit >= 1 else int(limit * len(docs)))
        clips = len({doc["id"] for doc in docs.select(range(count))})
        if 0 < clips < count:
            say(
                f"--limit {limit:g} counts docs: {name} runs {count} questions about {count_of(clips, 'clip')}; "
                f"`siq eval --limit` counts clips"
            )


def choose_tasks(names: Any) -> Any:
    """Return the tasks of a run without the Apply tasks that have no question file, after saying so in one line.

    Metadata that no task of the run reads is refused here, before data sets are fetched.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return names
    if not any(name.startswith(command_line.PREFIXES) for name in names):
        return names
    from speechiq.siq_tasks.settings import list_keys, refuse_unread, user_metadata

    metadata = user_metadata.get() or {}
    if metadata:
        refuse_unread(metadata, list_keys(names))
    tasks, left_out = _leave_out_apply(names, metadata)
    if left_out and is_first_process():
        say(
            f"Apply is left out of {', '.join(left_out)}, which have no questions yet: write them with `siq "
            f"data questions --dataset {left_out[0]}`, or import them with `siq paper questions`"
        )
    return tasks


def _leave_out_apply(names: Sequence[str], metadata: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the tasks of a run without the Apply tasks whose questions are not written yet, and the sets of those.

    The names stay as they are if no questions are missing, if one of them is not a task or group of the suite, or if
    nothing else would be left: then the task itself says what it needs. The user's metadata may name a question file
    by `questions` or `DATASET.questions`.
    """
    from speechiq.siq_tasks.index import list_tasks

    known = list_tasks(check_files=False)
    wanted = [task for task in known if not task.names.isdisjoint(names)]
    left_out = list(_without_questions(wanted, metadata))
    of_suite = set[str]().union(*(task.names for task in known))
    if not left_out or len(left_out) == len(wanted) or not of_suite.issuperset(names):
        return list(names), []
    return [task.name for task in wanted if task not in left_out], [task.dataset for task in left_out]


def _without_questions(tasks: Sequence[TaskInfo], metadata: Mapping[str, Any]) -> Iterator[TaskInfo]:
    from speechiq.siq_tasks.questions.file import find_question_file

    for task in tasks:
        given = {"questions", f"{task.dataset}.questions"} & metadata.keys()
        if task.needs_questions and not given and find_question_file(task.dataset) is None:
            yield task


@contextmanager
def given_metadata(options: Mapping[str, Any]) -> Iterator[None]:
    """Pass the user's metadata to the tasks inside the block, without the model arguments that lm-eval adds to it."""
    from speechiq.siq_tasks.settings import expand_sets, user_metadata

    arguments = options.get("model_args") or {}
    if isinstance(arguments, str):
        arguments = _lm_eval.parse_arguments(arguments)
    metadata = (getattr(options.get("task_manager"), "metadata", None) or {}) | (options.get("metadata") or {})
    token = user_metadata.set(expand_sets({key: metadata[key] for key in metadata.keys() - arguments.keys()}))
    try:
        yield
    finally:
        user_metadata.reset(token)


@contextmanager
def _without(logger_name: str, text: str) -> Iterator[None]:
    """Suppress the lines of a logger that contain `text`."""
    logger = logging.getLogger(logger_name)

    def is_other(record: logging.LogRecord) -> bool:
        return text not in " ".join(record.getMessage().split())

    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


def check_results(tracker: Any, results: Mapping[str, Any], samples: Mapping[str, list] | None = None) -> None:
    """Read back the results that lm-eval's `EvaluationTracker` has just saved, if they are of a speech run."""
    tracker.is_of_speech = _is_of_speech(results)
    if not tracker.is_of_speech:
        return
    file = _lm_eval.find_saved_file(tracker, ".json")
    try:
        complete = set(json.loads(_read(file))["results"]) == set(results["results"])
    except (OSError, ValueError, KeyError) as error:
        raise _incomplete(tracker, file, f"was not written to its end ({error})") from error
    if not complete:
        raise _incomplete(tracker, file, "misses results")
    for task, rows in (samples or {}).items():
        docs = results.get("n-samples", {}).get(task, {}).get("effective", len(rows))
        if len(rows) < docs:
            raise SpeechIQError(task, f"{len(rows)} rows for {docs} docs were scored", "run it again")


def check_samples(tracker: Any, task_name: str, samples: list) -> None:
    """Read back the sample rows that lm-eval's `EvaluationTracker` has just saved, if they are of a speech run."""
    if not tracker.is_of_speech:
        return
    file = _lm_eval.find_saved_file(tracker, ".jsonl", f"samples_{task_name}_")
    try:
        lines = _read(file).splitlines(keepends=True)
    except OSError as error:
        raise _incomplete(tracker, file, f"was not written to its end ({error})") from error
    complete = sum(line.endswith(b"\n") for line in lines)
    if complete != len(samples) or complete != len(lines):
        raise _incomplete(tracker, file, f"has {complete} of {len(samples)} rows")


def _is_of_speech(results: Mapping[str, Any]) -> bool:
    """Return whether a speech system ran, or a task that declares its measure."""
    tasks = results.get("configs", {}).values()
    described = ("measure" in (task.get("metadata") or {}) for task in tasks)
    return "siq" in results.get("config", {}) or any(described)


def _read(file: Path) -> bytes:
    """Return the bytes of a file after the operating system has written its buffers to the disk."""
    with file.open("rb+") as content:
        os.fsync(content.fileno())
        return content.read()


def _incomplete(tracker: Any, file: Path, fault: str) -> SpeechIQError:
    return SpeechIQError(
        file,
        f"{fault}, as on a full disk, so the run is not saved",
        f"free disk space or choose another --output_path, delete the files of this run (*{tracker.date_id}*), then "
        "run the same command again; answers come from the response cache",
    )
