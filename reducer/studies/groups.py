"""Compare groups of items, such as the genders or accents of speakers, and groups of words: entities of a class.

Of groups of items, the worst group and the largest gap are found; of the words of each class, the share that is wrong.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from speechiq.core.console import count_of
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.metrics.words.normalizer import DEFAULT
from speechiq.metrics.words.word_classes import ClassCounts, count_entity_classes
from speechiq.reducer.runs.samples import Doc, TextRow, read_text_rows
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.texts import response_text
from speechiq.reducer.scores.derived import split_groups
from speechiq.reducer.scores.ranking import rank_groups
from speechiq.reducer.scores.remarks import title
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.bootstrap import estimate_share
from speechiq.reducer.stats.contrast import FEWEST_CLUSTERS, GroupPairs, compare_groups
from speechiq.reducer.stats.estimate import Difference
from speechiq.reducer.stats.grid import Cell, Column, Grid, Important
from speechiq.reducer.studies.result import StudyResult
from speechiq.siq_tasks.loaders.entities import CLASSES, ENTITIES, read_entity_fields

#: Difference of the shares of a category or data set in two groups from which on a line says so.
UNEQUAL = 0.1
#: Ways to form groups from which on p can be below 0.05.
FEWEST_WAYS = 20
#: Categories that a heading names.
MOST_TITLES = 3
#: Level whose transcripts have entities.
TRANSCRIBED = "remember"
#: Rows of the table of entities that are no class of the data set.
ALL, NO_CLASS = "all entities", "no class"
#: Class -> clip -> what its reference has of the class.
CountsOfClips = dict[str, dict[str, ClassCounts]]


class Gap(NamedTuple):
    """Hold the largest gap of a system: the score of its best group minus that of its worst."""

    best: str
    worst: str
    difference: Difference

    @property
    def record(self) -> dict[str, Any]:
        """Return all its parts by name."""
        return {"best": self.best, "worst": self.worst, **self.difference.record}


class GroupScores(NamedTuple):
    """Hold the scores of groups of items, for categories of one measure.

    Attributes:
        categories: The categories whose items the groups have.
        scoreboard: The scores, with groups in the place of categories.
        without: Number of items of the categories that have no group.
        clusters: Group -> number of its clusters.
        pairs: For each system, in the order of the pool, the differences of all pairs of groups, in the unit of the
            column.
    """

    field: str
    categories: tuple[str, ...]
    scoreboard: Scoreboard
    without: int
    clusters: Mapping[str, int]
    pairs: tuple[GroupPairs, ...]

    @property
    def heading(self) -> str:
        """Return the field, and the categories whose items the groups have."""
        names = self.categories
        shown = f"{len(names)} categories" if len(names) > MOST_TITLES else ", ".join(map(title, names))
        return f"by {self.field}: {shown}"

    def gap(self, row: int) -> Gap | None:
        """Return the largest gap of the system of a row; None without two groups that are compared."""
        means = {
            group: scores[row]
            for group, scores in self.scoreboard.means.items()
            if self.clusters[group] >= FEWEST_CLUSTERS and not math.isnan(scores[row])
        }
        if len(means) < 2:
            return None
        best, worst = max(means, key=means.__getitem__), min(reversed(means), key=means.__getitem__)
        pairs = self.pairs[row]
        return Gap(best, worst, pairs[best, worst] if (best, worst) in pairs else pairs[worst, best].swap())

    @property
    def lone(self) -> list[str]:
        """Return the groups with too few clusters for a comparison."""
        return [group for group, count in self.clusters.items() if count < FEWEST_CLUSTERS]

    def lines(self) -> Iterator[str]:
        """Yield what to know about the comparison, a line each."""
        board, pool = self.scoreboard, self.scoreboard.pool
        counts, units = board.remarks.counts, pool.units
        sizes = []
        for group in pool.clips:
            size = f"{group} {count_of(counts[group].items, counts[group].noun)}"
            if units == "clusters" or counts[group].several:
                size += f" of {count_of(self.clusters[group], units[:-1])}"
            sizes.append(size)
        yield f"by {self.field}: the mean over the items of {', '.join(map(title, self.categories))}"
        yield f"size of groups: {', '.join(sizes)}"
        if self.without:
            yield Important(f"left out: {count_of(self.without, 'item')} without {self.field}")
        if self.lone:
            names = ", ".join(self.lone)
            yield Important(
                f"no gap counts {names}: a group of one {units[:-1]} has no error; merge it, or add {units}"
            )
        compared = [count for count in self.clusters.values() if count >= FEWEST_CLUSTERS]
        if board.bars and (ways := count_ways(compared)) < FEWEST_WAYS:
            yield Important(
                f"no p below {1 / ways:.2g}: there are too few {units} to find a gap; add {units}, or merge groups"
            )
        yield Important(self._pairing())
        yield from map(Important, self._compositions())
        if board.bars:
            pairs = ""
            if len(compared) > 2:
                pairs = f", for all {math.comb(len(compared), 2)} pairs of groups together"
            yield (
                f"best - worst: the largest gap of each system; interval and p come from {board.bars.draws} "
                f"permutations of the groups of {units}{pairs}"
            )

    def _pairing(self) -> str:
        pool, field = self.scoreboard.pool, self.field
        memberships = Counter(clip for clips in pool.clips.values() for clip in clips)
        shared = sum(count > 1 for count in memberships.values())
        words = f"only {shared} of {len(memberships)} clips are in several" if shared else "no clip is in two"
        return (
            f"groups have different clips ({words}), so a gap is not the effect of {field} alone; "
            "siq study robustness compares the same clips under conditions"
        )

    def _compositions(self) -> Iterator[str]:
        """Yield how groups differ most in their categories and data sets."""
        system = self.scoreboard.systems[0]
        aspects: dict[str, dict[str, Counter[str]]] = {"category": {}, "data set": {}}
        for group in system.levels:
            rows = system.by_level[group]
            aspects["category"][group] = Counter(item[-1] for item in rows["item"])
            aspects["data set"][group] = Counter(rows["dataset"])
        for aspect, counts in aspects.items():
            shares: dict[str, dict[str, float]] = {}
            for name in sorted(set().union(*counts.values())):
                shares[name] = {group: count[name] / count.total() for group, count in counts.items()}
            name = max(shares, key=lambda name: np.ptp([*shares[name].values()]))
            most, least = (choose(shares[name], key=shares[name].__getitem__) for choose in (max, min))
            if shares[name][most] - shares[name][least] >= UNEQUAL:
                shown = title(name) if aspect == "category" else name
                yield (
                    f"groups differ in {aspect}: {shown} has {100 * shares[name][most]:.0f} % of the items of "
                    f"{most} and {100 * shares[name][least]:.0f} % of {least}"
                )


def count_ways(counts: Sequence[int]) -> int:
    """Return in how many ways clusters can form groups of some sizes, which limits how small a p value can be.

    >>> count_ways([3, 3]), count_ways([2, 4])
    (10, 15)
    """
    alike = math.prod(math.factorial(groups) for groups in Counter(counts).values())
    return math.factorial(sum(counts)) // (math.prod(map(math.factorial, counts)) * alike)


def score_groups(scoreboard: Scoreboard, field: str) -> list[GroupScores]:
    """Score the groups of items by a field, and compare each pair, for each measure; refuse a single group."""
    scores = []
    for categories, systems, without in split_groups(scoreboard.systems, field):
        board = rank_groups(scoreboard, systems)
        clusters = {group: board.pool.count_clusters(group) for group in board.pool.clips}
        _refuse_few(f"--group-by {field}, {', '.join(map(title, categories))}", board.pool, clusters)
        scores.append(GroupScores(field, categories, board, without, clusters, tuple(_compare(board))))
    return scores


def _refuse_few(where: str, pool: ScoreMatrix, clusters: Mapping[str, int]) -> None:
    if len(pool.clips) < 2:
        group, clips = next(iter(pool.clips.items()))
        raise SpeechIQError(
            where,
            f"all {count_of(len(clips), 'clip')} have the group {group!r:.80}, so that there is nothing to compare",
            "run clips of another group as well, or leave it out",
        )
    if max(clusters.values()) < FEWEST_CLUSTERS:
        raise SpeechIQError(
            where,
            f"each of the {len(pool.clips)} groups, such as {next(iter(pool.clips))!r:.80}, has one clip",
            "name a field that several clips share",
        )


def _compare(board: Scoreboard) -> Iterator[GroupPairs]:
    """Yield the differences of all pairs of groups of each system, in the unit of the column."""
    pool, (category, *_) = board.pool, board.pool.levels.values()
    low, high = category.measure.raw_range
    clips = [(group, clip) for group, names in pool.clips.items() for clip in names]
    compared = compare_groups(
        np.concatenate([*pool.raw.values()], axis=1),
        [group for group, _ in clips],
        [pool.clusters.get(clip, clip) for _, clip in clips],
        draws=board.bars.draws if board.bars else 0,
        seed=board.bars.seed if board.bars else 0,
    )
    for pairs in compared:
        yield {
            names: each._replace(low=max(each.low, low - high), high=min(each.high, high - low)).map(
                category.measure.sign
            )
            for names, each in pairs.items()
        }


def study_entities(systems: Iterable[System]) -> StudyResult:
    """Measure the share of wrong words in the entities of each class, for each system, at the level Remember.

    A row has the `class`, the system, the number of `clips` and `entities` of the class, of those that are `missing` in
    their references, of the `words` of the others, and the share of these that is `wrong` (substituted or deleted).
    All entities together are the last class.
    """
    systems = sorted(systems, key=lambda system: system.name)
    counted = {system.name: _count_entities(system) for system in systems}
    rows = [row for system in systems for row in _measure_classes(system, counted[system.name])]
    if not rows:
        fix = "name them in a column entities of the table of `siq data new`, such as MONEY: five dollars; ORG: Acme"
        raise SpeechIQError("no transcript of these runs has a reference with entities", fix=fix)
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[row["class"]] = max(sizes.get(row["class"], 0), row["words"])
    rows.sort(key=lambda row: (row["class"] == ALL, -sizes[row["class"]], row["class"]))
    grid = _as_entity_grid(rows, _list_missing(counted.values()))
    tasks = [task for system in systems for task in system.tasks]
    return StudyResult("speechiq-entities", [grid], {"entities": grid.rows}, tasks=tasks)


def _count_entities(system: System) -> CountsOfClips:
    """Count the entities and words of each class, and of all, in the references of a system's scored clips."""
    scored = {item[0] for item in system.items.get(TRANSCRIBED, ())}
    counts: CountsOfClips = {}
    for task in system.tasks_at(TRANSCRIBED):
        for row in read_text_rows(task.samples):
            if str(row.doc.id) in scored:
                for name, found in _count_row(row).items():
                    counts.setdefault(name, {})[str(row.doc.id)] = found
    return counts


def _count_row(row: TextRow) -> dict[str, ClassCounts]:
    texts, classes = _read_entities(row.doc)
    if not texts:
        return {}
    if any(classes):
        texts, classes = [*texts, *texts], [*(name or NO_CLASS for name in classes), *([ALL] * len(texts))]
    else:
        classes = [ALL] * len(texts)
    kind = str(row.doc.normalizer or DEFAULT)
    return count_entity_classes(str(row.doc.text), response_text(row), texts, classes, kind)


def _read_entities(doc: Doc) -> tuple[list[str], list[str]]:
    """Return the entities of a doc, and the class of each, which is empty without one."""
    try:
        fields = read_entity_fields(doc.entities)
    except RowError as error:
        raise SpeechIQError(str(doc.id), error.fault, "correct the row, or rerun its task") from error
    texts = fields[ENTITIES]
    classes = fields.get(CLASSES) or doc.entity_classes or [""] * len(texts)
    if (
        not isinstance(classes, list)
        or len(classes) != len(texts)
        or not all(isinstance(name, str) for name in classes)
    ):
        fault = f"{CLASSES} is {classes!r:.80}, not a text for each of {count_of(len(texts), 'entity')}"
        raise SpeechIQError(str(doc.id), fault, "correct the row, or rerun its task")
    return texts, classes


def _measure_classes(system: System, counts: CountsOfClips) -> list[dict[str, Any]]:
    """Return a row for each class of a system; a clip or a cluster is one unit of the interval."""
    rows = []
    for name, by_clip in counts.items():
        total = ClassCounts()
        for count in by_clip.values():
            total = total.join(count)
        wrong = [count.wrong for count in by_clip.values()]
        words = [count.words for count in by_clip.values()]
        numbers = {"clips": len(by_clip), "entities": total.entities, "missing": total.missing, "words": total.words}
        share = estimate_share(wrong, words, [*by_clip], system.clusters)
        rows.append({"class": name, "system": system.name, **numbers, "wrong": share})
    return rows


def _list_missing(counted: Iterable[CountsOfClips]) -> list[str]:
    """Return the line about entities that their references do not contain, of all clips; nothing without one."""
    missing: dict[str, int] = {}
    for counts in counted:
        missing |= {clip: count.missing for clip, count in counts.get(ALL, {}).items() if count.missing}
    if not missing:
        return []
    size = count_of(sum(missing.values()), "entity")
    return [Important(f"left out: {size} that the reference does not contain, as in {next(iter(missing))}")]


def _as_entity_grid(rows: Sequence[Mapping[str, Cell]], missing: Sequence[str]) -> Grid:
    """Return a grid with one row per class and system."""
    columns = [
        Column("class", "Class"),
        Column("system", "System"),
        Column("clips", "Clips", "d"),
        Column("entities", "Entities", "d"),
        Column("missing"),
        Column("words", "Words", "d"),
        Column("wrong", "Wrong words\n%", ".1f", factor=100),
    ]
    notes = [
        *missing,
        "Wrong words: words of entities that are substituted or deleted, on the alignment of entity_wer",
    ]
    return Grid("Errors by class of entity", columns, rows, notes)
