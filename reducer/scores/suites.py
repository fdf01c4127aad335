"""Find the suites in runs, with the categories to score and the options of scoring, and read systems and answers."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.languages import KEY
from speechiq.metrics.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.systems import Runs, System, add_judge, read_systems_of
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.tasks import categories_of, find_all, find_tasks, group, part_listening, warn_of_variants
from speechiq.reducer.runs.texts import Answers, keep_shared, read_votes
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import LEVELS, choose_categories, is_siq
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.scale import PAPER, Weighting


class Confirmed(NamedTuple):
    """Hold the sha256 of the wording of a question of the unanswerable set, and the verdict of a person."""

    wording: str
    verdict: str


class ConfirmedSet(dict[Item, Confirmed]):
    """Map (clip, question) -> its wording and verdict, for the questions of an unanswerable set; know its sha256."""

    sha256: str | None = None


NOTHING = ConfirmedSet()
#: The level whose questions can be left out.
APPLY = "apply"


class ScoringOptions(NamedTuple):
    """Hold options of the user; a suite without a scale does not use the first three.

    Attributes:
        rule: Rules of the weights; norms have their own.
        norms: Norms to score on; None makes the systems their own reference population.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions.
        draws: Number of bootstrap draws; 0 leaves out the error bars.
        by_dataset: Whether each data set is also scored on its own.
        group_by: Field by which items have groups, each of which is also scored on its own; None for no groups.
    """

    rule: Weighting = PAPER
    norms: Norms | None = None
    exclude: ConfirmedSet = NOTHING
    allow_mismatch: bool = False
    draws: int = DRAWS
    seed: int = 0
    by_dataset: bool = False
    group_by: str | None = None


class Found(NamedTuple):
    """Hold the suites of some runs, SIQ first, with one line per choice that was made between runs.

    Attributes:
        tasks: Suite -> the newest run of each of its tasks.
        levels: Suite -> the categories to score, each with its column.
        variants: Suite -> the tasks with `listen` that are not scored beside those of `tasks`.
    """

    tasks: dict[str, list[TaskRun]]
    levels: dict[str, dict[str, Category]]
    warnings: list[str]
    variants: Mapping[str, list[TaskRun]] = MappingProxyType({})

    @property
    def all_tasks(self) -> list[TaskRun]:
        """Return the tasks of all suites."""
        return list(chain.from_iterable(self.tasks.values()))

    def read(self, suite: str) -> list[System]:
        """Read the systems of a suite; errors as for `read_tasks`."""
        return read_systems_of(self.tasks[suite], self.levels[suite])

    @property
    def languages(self) -> dict[str, dict[str, str]]:
        """Return suite -> language -> the suite of that language, for suites that were run in several."""
        parts: dict[str, dict[str, str]] = {}
        for suite in self.levels:
            language = self.tasks[suite][0].language
            if suite.endswith(f".{language}"):
                parts.setdefault(suite.removesuffix(f".{language}"), {})[language] = suite
        return {suite: languages for suite, languages in parts.items() if len(languages) > 1}

    @property
    def others(self) -> list[str]:
        """Return the suites without a scale."""
        return [suite for suite in self.levels if suite != SIQ]


def find_suites(
    runs: Iterable[Path],
    allow_missing: bool,
    options: ScoringOptions,
    *,
    measures: Sequence[str] = (),
    levels: str | None = None,
) -> Found:
    """Find every suite in some folders; `measures` and `levels` are as for `levels.choose_categories`."""
    everything, warnings = find_all(runs, allow_missing)
    tasks, variants = part_listening(everything)
    suites = dict(sorted(group(tasks).items(), key=lambda item: (not is_siq(item[0]), item[0])))
    known = {suite: _describe(suite, suite_tasks, options.norms) for suite, suite_tasks in suites.items()}
    chosen = choose_categories(known, measures, levels)
    warnings = [*warnings, *warn_of_variants(variants)]
    return Found({suite: suites[suite] for suite in chosen}, chosen, warnings, group(variants))


def _describe(suite: str, tasks: Sequence[TaskRun], norms: Norms | None) -> Mapping[str, Category]:
    """Return the categories of a suite; those of SIQ are its levels, with the columns of the norms if there are any."""
    if not is_siq(suite):
        return categories_of(tasks)
    check_levels(tasks)
    if norms is not None:
        return {level: category.measured_by(norms.levels[level].metric) for level, category in LEVELS.items()}
    # The levels are those of the templates; only fields that all tasks have can group their items.
    common = set(tasks[0].category.group_by).intersection(*(task.category.group_by for task in tasks))
    groups = [field for field in tasks[0].category.group_by if field in common]
    levels = {level: replace(category, suite=suite, group_by=tuple(groups)) for level, category in LEVELS.items()}
    return {level: add_judge(tasks, category) for level, category in levels.items()}


def refuse_unknown_field(found: Found, field: str | None) -> None:
    """Raise a `SpeechIQError` if no category has groups by a field (`group_by`); None is not given."""
    scored = (task for suite, levels in found.levels.items() for task in found.tasks[suite] if task.level in levels)
    known = {name for task in scored for name in task.category.group_by}
    if field == KEY:
        raise SpeechIQError(f"--group-by {KEY}", "each language is scored by itself without it", "leave it out")
    if field is not None and field not in known:
        fix = f"choose from {', '.join(sorted(known))}" if known else "leave it out: their tasks have no group_by"
        raise SpeechIQError(
            f"--group-by {field}", "no task of these runs has groups by it", f"{did_you_mean(field, known)}{fix}"
        )


def refuse_options_of_siq(found: Found, **given: object) -> None:
    """Raise a `SpeechIQError` if an option is given (not None) that needs SIQ, or Apply, and it is not scored."""
    for option, value in given.items():
        if value is not None and SIQ not in found.levels:
            if languages := [suite for suite in found.levels if is_siq(suite)]:
                raise SpeechIQError(
                    f"--{option} {value}",
                    f"{', '.join(languages)} have no common scale",
                    "give the runs of one language",
                )
            raise SpeechIQError(
                f"--{option} {value}",
                f"only SIQ has this option, and these runs have only suite {', '.join(found.levels)}",
                "leave it out",
            )
    if given.get("exclude") is not None and APPLY not in found.levels[SIQ]:
        raise SpeechIQError(
            f"--exclude {given['exclude']}",
            "it leaves out questions of Apply, which --levels does not name",
            f"add {APPLY} to --levels, or leave one of the two out",
        )


def read_systems(runs: Iterable[Path], allow_missing: bool = False, *, levels: Mapping[str, Category] = LEVELS) -> Runs:
    """Read every system in some folders that ran tasks of SIQ; of several runs of a task, the newest by `date` counts.

    Args:
        levels: Level -> its category with the column to read, as `levels.choose_levels` returns them.
    """
    tasks, warnings = find_levels(runs, allow_missing)
    return Runs(read_systems_of(tasks, levels), warnings)


def find_levels(runs: Iterable[Path], allow_missing: bool = False) -> tuple[list[TaskRun], list[str]]:
    """Return the tasks of SIQ in some folders, and one line per choice that was made between runs; see `find_tasks`."""
    runs = list(runs)
    newest, warnings = find_tasks(runs, allow_missing)
    suites = group(newest)
    if SIQ not in suites and (languages := [suite for suite in suites if is_siq(suite)]):
        raise SpeechIQError(
            f"{len(languages)} languages ({', '.join(languages)})",
            "they have no common scale",
            "give the runs of one language, or score all with siq score",
        )
    if SIQ not in suites:
        raise SpeechIQError(
            f"no SIQ task in {', '.join(repr(str(path)) for path in runs)}, only tasks of suite "
            f"{', '.join(map(repr, suites))}",
            fix="give runs of siq_all or of a data set's levels",
        )
    check_levels(suites[SIQ])
    return suites[SIQ], warnings


def read_answers(runs: Iterable[Path], allow_mismatch: bool = False) -> Answers:
    """Read the Apply answers of every system below some folders, the newest run of each task, to the same questions."""
    return keep_shared(read_all_answers(runs, allow_mismatch), allow_mismatch)


def read_all_answers(runs: Iterable[Path], allow_missing: bool = False) -> Answers:
    """Read the Apply answers of every system below some folders, also those to questions that others did not answer."""
    tasks, warnings = find_tasks(runs, allow_missing)
    apply = [task for task in tasks if is_siq(task.suite) and task.level == APPLY]
    if not apply:
        raise SpeechIQError(
            "no system in these runs has an Apply task", "give runs of siq_apply or of all three levels"
        )
    return read_votes(apply)._replace(warnings=warnings)


def check_levels(tasks: Iterable[TaskRun]) -> None:
    """Raise a `SpeechIQError` if tasks of SIQ disagree on a level, or have a level that SIQ does not have."""
    tasks = list(tasks)
    for task in tasks:
        if task.level not in LEVELS:
            raise SpeechIQError(
                f"{task.results!r}, task {task.task!r}",
                f"metadata.category: {task.level!r} is not a level of SIQ",
                f"write one of {', '.join(LEVELS)}, or give the task a suite of its own",
            )
    categories_of(tasks)
