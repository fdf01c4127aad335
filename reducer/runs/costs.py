"""Compute what runs cost: tokens at the prices of endpoints, and time of work at the price of a machine."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.tables import read_number
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.declared import read_declared
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.run_record import read_counts, read_speeds

#: Columns of prices: of a million tokens read and written, and of an hour of work.
PRICES = ("input", "output", "hour")
#: Kinds of work that measure a system and are not its own.
OF_MEASURES = ("embedding", "judging", "rating replies", "transcribing replies")
MILLION, HOUR = 1e6, 3600.0


class RunCost(NamedTuple):
    """Hold what the runs of a system used, without what came from the response cache.

    Attributes:
        calls: Calls to endpoints, those of judges included.
        prompt_tokens, completion_tokens: Tokens that endpoints stated for the system's own calls.
        work_seconds: Seconds of the system's own work.
        cost: In the currency of the prices; NaN without a price.
    """

    system: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    work_seconds: float
    cost: float


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
    counts = read_counts(tasks)
    work: dict[str, float] = defaultdict(float)
    for speed in read_speeds(tasks):
        if speed.work not in OF_MEASURES:
            work[speed.system] += speed.work_seconds
    costs = []
    for name in systems:
        own = counts.get(name, {})
        read, written = own.get("prompt_tokens", 0), own.get("completion_tokens", 0)
        cost = math.nan
        if name in prices:
            used = {"input": read / MILLION, "output": written / MILLION, "hour": work[name] / HOUR}
            cost = sum(used[column] * price for column, price in prices[name].items())
        costs.append(RunCost(name, own.get("calls", 0), read, written, work[name], cost))
    return costs
