"""Define the task class of the suite's YAMLs, which adds the loader's record to the metadata of the results file."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from lm_eval.api.filter import Filter
from lm_eval.api.task import ConfigurableTask

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import PROMPTS
from speechiq.core.response import Response, drop_reasoning, response_of, reword
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.languages import PROMPT_LANGUAGE, read_language
from speechiq.metrics import latency
from speechiq.metrics.columns import SPREAD, Columns, columns_of, worded
from speechiq.metrics.judge import reader
from speechiq.metrics.judge.free_answers import check_docs
from speechiq.metrics.judge.settings import READER
from speechiq.metrics.letters.options import NONE_OF_THE_ABOVE, NONE_OPTION
from speechiq.metrics.measure import read_category
from speechiq.metrics.settings import read_record
from speechiq.metrics.words.normalizer import refuse_lost_marks
from speechiq.metrics.words.units import describe_measure, refuse_unspaced, warn_other_language
from speechiq.siq_tasks.conditions.apply import check_listen, with_condition, with_listen
from speechiq.siq_tasks.conditions.preset import PRESET, with_preset
from speechiq.siq_tasks.conditions.prompts import (
    digest_prompts,
    find_prompts,
    read_prompt_language,
    write_prompt,
    write_request,
)
from speechiq.siq_tasks.conditions.spec import (
    CONDITION,
    LISTEN,
    STREAM,
    TIMING,
    QuestionSettings,
    RunSettings,
    write_condition,
)
from speechiq.siq_tasks.index import INLINE, TRANSCRIPTS, join_metadata, resolve_folder
from speechiq.siq_tasks.loaders.content import digest_content
from speechiq.siq_tasks.settings import (
    expand_sets,
    find_task_type,
    for_dataset,
    keys_of,
    name_task_type,
    read_task_type,
    user_metadata,
)

REMEMBER, APPLY = "remember", "apply"
#: The configuration of a task, as lm-eval takes it.
Task = dict[str, Any]
#: The filters of a task that lists none, as in lm-eval.
TAKE_FIRST = [{"name": "none", "filter": [{"function": "take_first"}]}]


class DropReasoning(Filter):
    """Leave a model's reasoning out of its answers, as the first filter of every task; samples keep the whole answers.

    >>> DropReasoning().apply([["<think>Or A?</think>(B)", "(C)"]], [{}])
    [['(B)', '(C)']]
    """

    def apply(self, resps: Iterable[Sequence[str]], docs: Iterable[Mapping[str, Any]]) -> list[list[str]]:
        """Return the answers to each doc."""
        return [[reword(answer, drop_reasoning(answer)) for answer in answers] for answers in resps]


class SpeechTask(ConfigurableTask):
    """Run a task of the suite; `class` of every template. Its `custom_dataset` returns a `Loaded`.

    See `resolve_task` for what becomes of the configuration in its YAML.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        task = resolve_task(config)
        metrics = task["metric_list"]
        self.is_timed = task["metadata"].get(TIMING) is not None
        self.has_spread = any(metric["metric"] == SPREAD for metric in metrics)
        self._responses: dict[tuple[Any, ...], Response] = {}
        super().__init__(config=task | {"metric_list": _named_metrics(metrics)})

    @property
    def metadata_keys(self) -> frozenset[str] | None:
        """Return the keys of metadata that the task reads; see `settings.keys_of`."""
        return keys_of(self.config.custom_dataset, self.config.metadata)

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Load the docs with `custom_dataset`, and check that each has the reference that its judge is shown."""
        if not callable(self.config.custom_dataset):
            raise SpeechIQError(
                self.config.task,
                f"custom_dataset: {self.config.custom_dataset!r:.80} is not a loader",
                "write custom_dataset: !function speechiq.siq_tasks.loaders.clips.load",
            )
        about = self.config.metadata
        loaded = self.config.custom_dataset(**resolve_folder(about, about.get("config_source", INLINE)))
        docs = loaded.docs
        if about.get(CONDITION) is not None:
            docs = with_condition(docs, about[CONDITION])
        if about.get(LISTEN) is not None:
            docs = with_listen(docs, about[LISTEN], str(self.config.task))
        if "judging" in docs.column_names:
            check_docs(docs)
        if name_task_type(about) == REMEMBER:
            refuse_unspaced(docs.remove_columns("audio"))
            refuse_lost_marks(docs["text"], docs["normalizer"][0])
            if language := read_language(about):
                warn_other_language(docs["text"], language)
        if missing := [field for field in about.get("item", ()) if field not in docs.column_names]:
            fault = f"metadata.item: docs have no field {missing[0]!r}"
            raise SpeechIQError(self.config.task, fault, f"name some of {', '.join(docs.column_names)}")
        self.dataset = {"test": docs}
        about |= {**loaded.record, "content_sha256": digest_content(docs)}
        if PROMPTS in loaded.record:
            about[f"{PROMPTS}_sha256"] = digest_prompts(loaded.record[PROMPTS])
        else:  # The file has no prompt that the task reads.
            about.pop(PROMPTS, None)

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """Return the scores of one doc, with `instruction_spread` if the task lists it."""
        scores: dict[str, Any] = super().process_results(doc, results)
        if self.is_timed:
            scores |= latency.score(self._responses.get(self._name_item(doc)), doc)
        if self.has_spread:
            scores[SPREAD] = worded(scores[self.config.metadata["measure"]["column"]], doc)
        return scores

    def apply_filters(self) -> Any:
        """Filter the answers; those that are timed have their times until then, at the first answer to a doc."""
        if self.is_timed:
            self._responses = {self._name_item(each.doc): response_of(each.resps[0]) for each in self.instances}
        return super().apply_filters()

    def _name_item(self, doc: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(doc[field] for field in self.config.metadata["item"])

    def build_all_requests(
        self,
        *,
        limit: int | None = None,
        samples: Sequence[int] | None = None,
        rank: int = 0,
        world_size: int = 1,
        **options: Any,
    ) -> None:
        """Build requests like lm-eval, but refuse a run in which a process has no doc."""
        docs = len(self.dataset["test"] if samples is None else samples)
        docs = docs if limit is None else min(docs, limit)
        if docs < world_size:
            raise SpeechIQError(
                self.config.task,
                f"{docs} docs for {world_size} processes leave one without work",
                "raise --limit or start fewer processes",
            )
        super().build_all_requests(limit=limit, samples=samples, rank=rank, world_size=world_size, **options)


def resolve_task(config: Mapping[str, Any]) -> Task:
    """Return the whole configuration of a task, from the keys of its YAML and the metadata of the run.

    The metadata of the data set, the description in the template and the `condition` of a task become part of its
    metadata; lm-eval would replace them by those of the task or of the user. A task that lists no metrics has the
    columns of its score function (`metrics/columns.py`).
    """
    task = join_metadata(config)
    task.pop("class", None)
    for step in STEPS:
        task = step(task)
    return task


def _choose_metadata(task: Task) -> Task:
    """Take the metadata of the task's data set, and the condition of the task itself; the user may not give another."""
    metadata = expand_sets(task["metadata"])
    metadata = for_dataset(metadata, metadata.get("dataset"))
    read_record(RunSettings, metadata)
    read_record(QuestionSettings, metadata)
    own = task.pop(CONDITION, None)
    if own is not None and metadata.get(CONDITION) is not None:
        raise SpeechIQError(
            f"--metadata condition={metadata[CONDITION]}",
            f"task {task.get('task')} has the condition {own}",
            "leave one of the two out",
        )
    condition = metadata.get(CONDITION) if own is None else own
    if condition is not None:
        metadata[CONDITION] = write_condition(condition)
    return task | {"metadata": metadata}


def _refuse_unknown_type(task: Task) -> Task:
    """Refuse a task that names an unknown type; one that names none may have a loader of its own."""
    if name_task_type(task["metadata"]) is not None:
        read_task_type(task["metadata"])
    return task


def _apply_preset(task: Task) -> Task:
    metadata = task["metadata"]
    if metadata.get(PRESET) is None:
        return task
    given = for_dataset(expand_sets(user_metadata.get() or {}), metadata.get("dataset"))
    return with_preset(task, metadata, given)


def _list_metrics(task: Task) -> Task:
    metrics = task.get("metric_list") or [column.metric for column in columns_of(task.get("process_results"))]
    return task | {"metric_list": metrics}


def _choose_unit(task: Task) -> Task:
    """Put an error rate into the unit of the task's language (`metrics/words/units.py`)."""
    if name_task_type(task["metadata"]) not in TRANSCRIPTS:
        return task
    measure, columns = describe_measure(task["metadata"])
    return _add_columns(task | {"metadata": task["metadata"] | measure}, columns)


def _write_prompt(task: Task) -> Task:
    """Write the user's own request, else that of Apply in its language, which is a setting of the tasks of Apply."""
    metadata, task_type = task["metadata"], name_task_type(task["metadata"])
    none = read_prompt_language(metadata).get(NONE_OPTION, NONE_OF_THE_ABOVE) if task_type == APPLY else ""
    if (request := write_request(task_type, find_prompts(metadata), none)) is not None:
        task = task | {"doc_to_text": request}
    elif task_type == APPLY:
        task = task | {"doc_to_text": write_prompt(task["doc_to_text"], metadata)}
    if task_type == APPLY:
        return task
    return task | {"metadata": {key: value for key, value in metadata.items() if key != PROMPT_LANGUAGE}}


def _add_reader(task: Task) -> Task:
    """Add the columns of a model that reads the letters which the rules leave unread."""
    task_type = find_task_type(task["metadata"])
    has_reader = task_type is not None and READER in task_type.keys & task["metadata"].keys()
    return _add_columns(task, reader.COLUMNS) if has_reader else task


def _time_answers(task: Task) -> Task:
    """Time the answers if the user asks for it; a task that wants a transcript is not timed."""
    metadata = task["metadata"]
    if metadata.get(TIMING) is None:
        return task
    task_type = find_task_type(metadata)
    if task_type is None or not task_type.asks_question:
        return task | {"metadata": {key: value for key, value in metadata.items() if key != TIMING}}
    timed = {"generation_kwargs": {**task.get("generation_kwargs", {}), TIMING: STREAM}}
    return _add_columns(task | timed, latency.COLUMNS)


def _drop_reasoning(task: Task) -> Task:
    """Drop a model's reasoning by the first filter of every task."""
    pipelines = [
        pipeline | {"filter": [{"function": DropReasoning}, *pipeline["filter"]]}
        for pipeline in task.get("filter_list") or TAKE_FIRST
    ]
    return task | {"filter_list": pipelines}


def _add_columns(task: Task, columns: Columns) -> Task:
    return task | {"metric_list": [*task["metric_list"], *(column.metric for column in columns)]}


def _refuse_unscored(task: Task) -> Task:
    """Refuse a task whose results could not be scored: a key is invalid, or no column is that of the measure."""
    columns = [metric["metric"] for metric in task["metric_list"]]
    if "measure" not in task["metadata"]:
        return task
    name = read_category(task["metadata"], str(task["task"])).measure.column
    if columns and name not in columns:
        fault = f"metadata.measure.column: {name!r:.80} is not one of {', '.join(columns)}"
        raise SpeechIQError(f"task {task['task']!r}", fault, f"{did_you_mean(name, columns)}correct it")
    return task


#: What makes the configuration of a task whole, in this order.
STEPS: tuple[Callable[[Task], Task], ...] = (
    _choose_metadata,
    _refuse_unknown_type,
    _apply_preset,
    check_listen,
    _list_metrics,
    _choose_unit,
    _write_prompt,
    _add_reader,
    _time_answers,
    _refuse_unscored,
    _drop_reasoning,
)


def _named_metrics(metrics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the metrics in the form in which lm-eval accepts any name; `process_results` computes their values.

    lm-eval 0.4 accepts any name. Its successor, which has scorers, searches the name among its own metrics, where `acc`
    is for multiple choice alone, but accepts a function of that name.
    """
    if find_spec("lm_eval.scorers") is None:
        return metrics
    return [metric | {"metric": _placeholder(metric["metric"])} for metric in metrics]


def _placeholder(name: str) -> Callable[..., Any]:
    def metric(*values: Any, **options: Any) -> float:
        raise NotImplementedError(f"{name} is computed by process_results")

    metric.__name__ = name
    return metric
