"""Read from a results file how lm-eval was called, what the run used and cost, and how fast the system was.

What no run records, such as the prices of an endpoint or the size of a model, users declare in a table.
"""

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import check_columns, read_field, read_number, read_table
from speechiq.core.suggestions import did_you_mean
from speechiq.core.usage import TOKENS, WITHOUT_TOKENS
from speechiq.reducer.runs.results_file import Results, TaskConfig, TaskRun

HIDDEN = "***"
#: Larger numbers of parameters are mistakes of a file.
MOST_PARAMETERS = 10**18
#: How many times longer replies are suggested if some ended at the limit.
LONGER = 4
#: Tokens of a reply if no task says how many.
USUAL = 256
#: What an endpoint wrote down, as `CutReplies.kind` and as the name of a count.
TRANSCRIPTS = "transcripts"
#: The column of a table that names a system.
SYSTEM = "system"
#: Columns of prices: of a million tokens read and written, and of an hour of work.
PRICES = ("input", "output", "hour")
#: Kinds of work that measure a system and are not its own.
OF_MEASURES = ("embedding", "judging", "rating replies", "transcribing replies")
MILLION, HOUR = 1e6, 3600.0
_SECRET = re.compile(r"(key|token|secret|passw(or)?d|credentials?)$", re.IGNORECASE)
_PLAIN = re.compile(r"[^\s,={}\[\]\"']+")


class _Measured(msgspec.Struct):
    audio_seconds: float
    work_seconds: float
    rtfx: float | None


class RunRecord(msgspec.Struct, frozen=True):
    """Hold a command that makes the same run ("" if the file names no model type), and its settings by words."""

    command: str
    facts: dict[str, str]


def read_run_record(tasks: Sequence[TaskRun]) -> RunRecord:
    """Read how a run was called from some of its tasks, which the command lists."""
    content = tasks[0].recorded
    return RunRecord(_command(content, sorted(task.task for task in tasks)), _facts(content))


def _command(content: Results, tasks: Iterable[str]) -> str:
    config = content.config
    if not isinstance(config.model, str):
        return ""
    words = ["lm_eval", "--model", config.model]
    if config.model_args:
        words += ["--model_args", _pairs(config.model_args)]
    words += ["--tasks", ",".join(tasks)]
    if isinstance(config.gen_kwargs, dict | str) and config.gen_kwargs:
        words += ["--gen_kwargs", _pairs(config.gen_kwargs)]
    options = {"--batch_size": config.batch_size, "--device": config.device, "--limit": config.limit}
    options |= {"--system_instruction": content.system_instruction}
    options |= {"--samples": json.dumps(config.samples) if isinstance(config.samples, dict) else None}
    for option, value in options.items():
        if isinstance(value, str | int | float) and str(value):
            words += [option, f"{value:g}" if isinstance(value, float) else str(value)]
    return printable(shlex.join([*words, "--log_samples", "--output_path", "runs"]))


def _pairs(arguments: Mapping[str, Any] | str) -> str:
    """Return arguments as lm-eval takes them: `key=value,...`, or JSON if a value has a comma or is not plain.

    >>> _pairs({"pretrained": "gold", "hub_token": "x"}), _pairs({"stop": ["a", "b"]})
    ('pretrained=gold,hub_token=***', '{"stop": ["a", "b"]}')
    """
    if isinstance(arguments, str):
        given = [pair.partition("=") for pair in arguments.split(",")]
        return ",".join(key + equals + (HIDDEN if _SECRET.search(key) else value) for key, equals, value in given)
    shown = {key: HIDDEN if _SECRET.search(key) else value for key, value in arguments.items()}
    if all(_PLAIN.fullmatch(str(value)) for value in shown.values()):
        return ",".join(f"{key}={value}" for key, value in shown.items())
    return json.dumps(shown, ensure_ascii=False)


def _facts(content: Results) -> dict[str, str]:
    config = content.config
    facts = {
        "Model type": config.model,
        "Duration": _duration(content.total_evaluation_time_seconds),
        "Device": config.device or config.siq.device,
        "Batch size": config.batch_size,
        "Limit": config.limit,
        "Seed": config.random_seed,
        "Parameters": "" if (count := _read_count(config.siq.parameters)) is None else f"{count:,}",
        "Usage": ", ".join(f"{name} {count}" for name, count in _read_counts(config.siq.usage).items()),
    }
    known = {name: str(value) for name, value in facts.items() if isinstance(value, str | int | float)}
    return {name: printable(text) for name, text in known.items() if text}


def _duration(seconds: Any) -> str:
    """Return a duration in words; "" if lm-eval recorded none.

    >>> _duration("63.8"), _duration("5000"), _duration(None)
    ('64 s', '83 min', '')
    """
    try:
        value = float(seconds)
    except (TypeError, ValueError):
        return ""
    return f"{value:.0f} s" if value < 600 else f"{value / 60:.0f} min"


class MeasuredSpeed(NamedTuple):
    """Hold the speed of one kind of work in one run; device and batch size are empty if not recorded.

    Attributes:
        work: Kind of work, such as `transcribing`, `answering by likelihood`, `embedding` or `judging`.
        rtfx: Seconds of audio per second of work, without the loading of models; None for work on texts alone.
        audio_seconds: Seconds of audio; what came from the response cache does not count.
        work_seconds: Seconds of work, of all processes together.
    """

    system: str
    work: str
    rtfx: float | None
    audio_seconds: float
    work_seconds: float
    device: str
    batch_size: str


class CutReplies(NamedTuple):
    """Hold how many of the replies, or of the transcripts, of one run ended at the limit of their tokens.

    Attributes:
        replies: Their number.
        limits: Most tokens of a reply, of each task that has another limit; empty for transcripts, whose limit is that
            of the endpoint or of the seconds of the clip.
        kind: `replies` or `transcripts`.
    """

    system: str
    replies: int
    at_limit: int
    limits: tuple[int, ...]
    kind: str = "replies"

    def describe(self) -> str:
        """Return the counts in words, with what to do.

        >>> CutReplies("openai:m", 40, 12, (64, 256)).describe()
        '12 of 40 replies of openai:m end at the limit of 64 or 256 tokens; raise it with --gen_kwargs \
max_gen_toks=1024'
        """
        if self.kind == TRANSCRIPTS:
            return (
                f"{self.at_limit} of {self.replies} transcripts of {printable(self.system)} end at a token limit: the "
                "model repeats itself, or an endpoint has a low limit (raise it there, or set max_audio_s)"
            )
        limit = f"limit of {' or '.join(map(str, self.limits))} tokens" if self.limits else "token limit"
        longer = LONGER * max(self.limits, default=USUAL)
        return (
            f"{self.at_limit} of {self.replies} replies of {printable(self.system)} end at the {limit}; raise it with "
            f"--gen_kwargs max_gen_toks={longer}"
        )


def read_cut_replies(tasks: Iterable[TaskRun]) -> list[CutReplies]:
    """Return the runs of some tasks with replies or transcripts that ended at the limit of their tokens."""
    found = []
    for _, system, content in _list_runs(tasks):
        counts = _read_counts(content.config.siq.replies)
        if at_limit := counts.get("at_limit", 0):
            limits = _list_limits(content.configs.values())
            found.append(CutReplies(system, counts.get("written", at_limit), at_limit, limits))
        if at_limit := counts.get("transcripts_at_limit", 0):
            found.append(CutReplies(system, counts.get(TRANSCRIPTS, at_limit), at_limit, (), TRANSCRIPTS))
    return found


def _list_limits(configs: Iterable[TaskConfig]) -> tuple[int, ...]:
    """Return the limits of tokens of the tasks that ask something; transcripts have the limit of their recognizer."""
    from speechiq.siq_tasks.settings import find_task_type  # 0.2 s, for the few runs that need it

    limits = set()
    for config in configs:
        task_type = find_task_type(config.metadata) if isinstance(config.metadata, dict) else None
        settings = config.generation_kwargs
        if isinstance(settings, dict) and (task_type is None or task_type.asks_question):
            limits.add(settings.get("max_gen_toks"))
    return tuple(sorted(limit for limit in limits if isinstance(limit, int)))


def read_parameters(tasks: Iterable[TaskRun]) -> dict[str, int]:
    """Return system -> the number of parameters that its newest run counted; systems without one are not in it."""
    counts = {}
    for task in sorted(tasks, key=lambda task: (task.date, task.results, task.system)):
        if count := _read_count(task.recorded.config.siq.parameters):
            counts[task.system] = count
    return counts


def _read_count(recorded: Any) -> int | None:
    """Return the number of parameters of a system; None if none was counted."""
    return recorded if type(recorded) is int and 0 < recorded < MOST_PARAMETERS else None


def _read_counts(recorded: Any) -> dict[str, int]:
    if not isinstance(recorded, dict):
        return {}
    return {name: count for name, count in recorded.items() if type(count) is int}


def read_speeds(tasks: Iterable[TaskRun]) -> list[MeasuredSpeed]:
    """Return the speeds of the runs of some tasks, by system; runs that recorded none have none."""
    return [speed for file, system, content in _list_runs(tasks) for speed in _list_speeds(file, system, content)]


def _list_speeds(file: Path, system: str, content: Results) -> list[MeasuredSpeed]:
    config = content.config
    try:
        speeds = msgspec.convert(config.siq.speed or {}, dict[str, _Measured])
    except ValueError as error:
        raise SpeechIQError(file, f"the recorded speed is invalid ({error})", "rerun the evaluation") from error
    device, batch_size = (
        "" if value is None else printable(str(value)) for value in (config.siq.device, config.batch_size)
    )
    return [
        MeasuredSpeed(system, printable(work), speed.rtfx, speed.audio_seconds, speed.work_seconds, device, batch_size)
        for work, speed in sorted(speeds.items())
    ]


class RunCost(NamedTuple):
    """Hold what the runs of a system used, without what came from the response cache.

    Attributes:
        calls: Calls to endpoints, those of judges included.
        prompt_tokens, completion_tokens: Tokens that endpoints stated for the system's own calls.
        work_seconds: Seconds of the system's own work.
        cost: In the currency of the prices; NaN without a price, or with one of tokens that were not all stated.
        replies_without_tokens: Replies that do not state their tokens, which makes both counts too low.
    """

    system: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    work_seconds: float
    cost: float
    replies_without_tokens: int = 0


def read_prices(file: Path) -> dict[str, dict[str, float]]:
    """Read system -> prices from a table with columns of `PRICES`; an empty cell costs nothing."""
    return read_declared(file, PRICES, "prices", _read_price)


def _read_price(column: str, value: Any, where: str) -> float:
    price = read_number(value)
    if not 0 <= price < math.inf:
        raise SpeechIQError(where, f"{column} is {value!r:.40}, not a price", "give a number, such as 2.50")
    return price


def read_costs(tasks: Iterable[TaskRun], prices: Mapping[str, Mapping[str, float]]) -> list[RunCost]:
    """Return the use and the cost of each system of some tasks, by name; refuse prices of which no system has one."""
    tasks = list(tasks)
    systems = sorted({task.system for task in tasks})
    if not prices.keys() & {*systems}:
        near = next(filter(None, (did_you_mean(name, systems) for name in prices)), "")
        raise SpeechIQError("--prices", "names no system of these runs", f"{near}there are {', '.join(systems)}")
    counts: dict[str, Counter[str]] = {name: Counter() for name in systems}
    work = dict.fromkeys(systems, 0.0)
    for file, system, content in _list_runs(tasks):
        counts[system].update(_read_counts(content.config.siq.usage))
        for speed in _list_speeds(file, system, content):
            if speed.work not in OF_MEASURES:
                work[system] += speed.work_seconds
    costs = []
    for name in systems:
        own = counts[name]
        read, written = (own[kind] for kind in TOKENS)
        cost = math.nan
        if name in prices:
            used = {"input": read / MILLION, "output": written / MILLION, "hour": work[name] / HOUR}
            if own[WITHOUT_TOKENS]:
                used |= {"input": math.nan, "output": math.nan}
            cost = sum(used[column] * price for column, price in prices[name].items() if price)
        costs.append(RunCost(name, own["calls"], read, written, work[name], cost, own[WITHOUT_TOKENS]))
    return costs


def read_declared(
    file: Path, columns: Sequence[str], what: str, read: Callable[[str, Any, str], float]
) -> dict[str, dict[str, float]]:
    """Read system -> column -> number from a table with the column `system`; a column without a cell is left out.

    Rows of other systems than those of a run are allowed, so that one table serves many runs.

    Args:
        columns: Names of the columns of numbers, of which the table has at least one.
        what: What they are, in the plural, for the error.
        read: Reads a cell from its column, its value and its place in the file, or refuses it.
    """
    rows = read_table(file)
    check_columns(rows[0], [SYSTEM], file)
    if rows[0].keys().isdisjoint(columns):
        raise SpeechIQError(file, f"no column of {what}", f"add {', '.join(columns)} or some of them")
    declared: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, 1):
        where = f"{file} row {number}"
        name = read_field(row, SYSTEM, where)
        if name in declared:
            raise SpeechIQError(where, f"duplicate system {name!r}", "delete one of the rows")
        given = {column: row[column] for column in columns if row.get(column) not in (None, "")}
        declared[name] = {column: read(column, value, where) for column, value in given.items()}
    return declared


def _list_runs(tasks: Iterable[TaskRun]) -> Iterator[tuple[Path, str, Results]]:
    """Yield the results file of each run of some tasks, its system and its content."""
    runs = {(task.results, task.system): task.recorded for task in tasks}
    for (file, system), content in sorted(runs.items(), key=lambda run: run[0]):
        yield Path(file), system, content
