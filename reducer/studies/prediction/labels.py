"""Read, write and make labels of task success: whether the system behind a transcript did its task.

Answers to a transcript and to its reference are paired, for people, or for a judge of pairs that labels them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import as_lines, read_objects
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.core.ids import complete_ids
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.samples import show_item
from speechiq.reducer.runs.table import Item
from speechiq.reducer.runs.texts import read_written
from speechiq.reducer.stats.bootstrap import NO_CLUSTERS
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import find_caution
from speechiq.reducer.studies.agreement import measure_position_bias
from speechiq.reducer.studies.prediction.data import Key, Labels, Tables, answers, find_gold

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import PairJudgment
    from speechiq.metrics.judge.settings import Judging

LINE_OF_LABELS = 'each line is {"id": CLIP, "system": NAME, "success": true or false, "by": WHO}'
#: The column of tasks that answer by choosing an option.
OPTION = "acc"


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one label of a clip, or of a question about it; `by` is `answers`, `judge ENGINE:MODEL`, or a person."""

    id: str
    system: str
    success: bool
    by: str
    question_id: str = ""

    @property
    def item(self) -> Item:
        """Return the clip, and its question if there is one."""
        return (self.id, self.question_id) if self.question_id else (self.id,)


def read_labels(path: Path, systems: Mapping[str, Collection[Item]]) -> Labels:
    """Read a file of labels; refuse one that does not fit the runs (system -> the items that it ran).

    A label may name a clip without its data set.
    """
    clips = {item[0] for items in systems.values() for item in items}
    success: dict[tuple[str, Item], bool] = {}
    lines: dict[tuple[str, Item], int] = {}
    authors: dict[str, None] = {}
    for number, where, row in read_objects(path, LINE_OF_LABELS):
        try:
            label = msgspec.convert(row, Label)
        except ValueError as error:
            raise SpeechIQError(where, error, LINE_OF_LABELS) from error
        label = msgspec.structs.replace(label, id=complete_ids([{"id": label.id}], clips)[0]["id"])
        if label.system not in systems:
            near = did_you_mean(label.system, systems)
            raise SpeechIQError(
                where,
                f"no run of system {label.system!r}",
                f"{near}give its run, or delete its labels; the runs have {', '.join(sorted(systems))}",
            )
        if label.id not in clips:
            near = did_you_mean(label.id, clips)
            raise SpeechIQError(where, f"clip {label.id!r} is not in the runs", f"{near}give runs of the same set")
        if label.item not in systems[label.system]:
            raise SpeechIQError(
                where, f"system {label.system!r} did not run {show_item(label.item)}", "give its run, or delete it"
            )
        key = label.system, label.item
        if success.setdefault(key, label.success) != label.success:
            raise SpeechIQError(
                where,
                f"{show_item(label.item)} of system {label.system!r} has another label in line {lines[key]}",
                "keep one of the two, or put the labels of each author into a file of their own",
            )
        lines.setdefault(key, number)
        authors.setdefault(label.by)
    refuse_alike(success.values(), repr(str(path)))
    return Labels(f"{path.name} ({', '.join(authors)})", success)


def refuse_alike(success: Collection[bool], where: str) -> None:
    """Raise a `SpeechIQError` if labels are missing, or all are alike; `where` says where they come from."""
    if not success:
        raise SpeechIQError(f"{where} has no labels", fix=LINE_OF_LABELS)
    if len(set(success)) == 1:
        outcome = "successes" if next(iter(success)) else "failures"
        raise SpeechIQError(
            where,
            f"all labels are {outcome} ({len(success)}), so nothing can be predicted",
            "use clips or systems of which some succeed and some fail",
        )


def write_labels(labels: Iterable[Label], path: Path) -> None:
    """Write labels, complete or not at all; a field with its default is left out."""
    write_whole(path, as_lines(map(_list_given, labels)), OWN_FILE)


def _list_given(label: Label) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(label).items() if value != ""}


class Exchange(NamedTuple):
    """Hold the answers of a system, and of its language model from the reference, to one item.

    Attributes:
        question: What was asked; for an assistant, the query itself.
        right: The right answer; empty if there is none.
        from_reference: The answer of the same language model to the reference.
    """

    key: Key
    question: str
    reference: str
    right: str
    from_reference: str
    from_transcript: str

    @property
    def same(self) -> bool:
        """Return whether both answers are equal; such items are successes by rule."""
        return self.from_reference.split() == self.from_transcript.split()


def read_exchanges(tables: Tables) -> list[Exchange]:
    """Return the exchanges of all systems but controls, sorted.

    If a system answered about a clip both in free text and by choosing an option, the free text is taken.
    """
    answering = [task for task in tables.tasks if answers(task)]
    if not answering:
        raise SpeechIQError("these runs have no answers to compare", "give runs of a task that answers questions")
    gold = find_gold(tables)
    for task in answering:
        if task.system not in gold and task.system not in tables.controls:
            raise SpeechIQError(
                f"no run of the control gold with the language model of {task.system!r}, so answers to the references "
                "are missing",
                fix="run pretrained=gold+MODEL on the same tasks",
            )
    chosen = read_written(task for task in answering if OPTION in task.signs)
    written = read_written(task for task in answering if OPTION not in task.signs)
    free = {(system, item[0]) for system, item in written}
    written |= {key: answer for key, answer in chosen.items() if (key[0], key[1][0]) not in free}
    exchanges = []
    for key, answer in sorted(written.items()):
        system, item = key
        if system in tables.controls:
            continue
        if (from_reference := written.get((gold[system], item))) is None:
            raise SpeechIQError(
                f"{gold[system]!r} did not answer {'/'.join(item)}, which {system!r} did",
                fix="run both on the same tasks with the same --limit",
            )
        texts = (answer.question, answer.reference, answer.right, from_reference.text, answer.text)
        exchanges.append(Exchange(key, *texts))
    return exchanges


def label_judged(exchanges: Sequence[Exchange], judging: Judging, clusters: Mapping[str, str] = NO_CLUSTERS) -> Labels:
    """Return which answers to transcripts are as good and as complete as those to the references, by a judge of pairs.

    Equal in every draw and in both orders is a success; an expected score (`by=likelihood`) is rounded to a verdict.
    Items on which the orders disagree are failures, and counted. Equal answers are not sent to the judge. `clusters` of
    clips widen the interval of the position bias.
    """
    from speechiq.metrics.judge.judging import PairCase, judge_pairs

    cases = [
        PairCase(exchange.question, exchange.from_reference, exchange.from_transcript, name="/".join(exchange.key[1]))
        for exchange in exchanges
    ]
    verdicts = dict(zip(exchanges, judge_pairs(cases, judging), strict=True))
    success, inconsistent = {}, 0
    for exchange, verdict in verdicts.items():
        if not any(map(math.isnan, verdict.combined)):
            first, second = (list(map(round, scores)) for scores in (verdict.shown_first, verdict.shown_second))
            inconsistent += first != second
            success[exchange.key] = not any([*first, *second])
    unjudged = len(exchanges) - len(success)
    judged = [(verdict, exchange.key[1][0]) for exchange, verdict in verdicts.items() if not exchange.same]
    notes = [
        f"{len(exchanges) - len(judged)} of {len(exchanges)} items have equal answers: successes without the judge",
        f"{inconsistent} of {len(success)} items are judged differently in the two orders: failures",
    ]
    if unjudged:
        notes.append(f"{unjudged} of {len(exchanges)} items are unjudged: left out")
    if judged:
        notes.append(_describe_bias(judged, clusters))
    return Labels(f"judge {judging.judge}", success, notes)


def _describe_bias(judged: Sequence[tuple[PairJudgment, str]], clusters: Mapping[str, str]) -> str:
    """Return the position bias of the judge on pairs, each with its clip, in words."""
    pairs, clips = zip(*judged, strict=True)
    bias = measure_position_bias(pairs, clips, clusters)
    few = find_caution([bias.changed, bias.first])
    return (
        f"position bias over {count_of(bias.pairs, 'pair')}: the order changes {_percent(bias.changed)} of the "
        f"verdicts; the answer shown first wins {_percent(bias.first)} of those with a winner, 50 % without a "
        "preference" + (f" ({few})" if few else "")
    )


def _percent(share: Estimate) -> str:
    """Return a share in percent with its interval.

    >>> _percent(Estimate(0.25, 0.125, 0.5)), _percent(Estimate(math.nan))
    ('25.0 % (12.5 to 50.0)', '- %')
    """
    if math.isnan(share.value):
        return "- %"
    interval = "" if math.isnan(share.low) else f" ({100 * share.low:.1f} to {100 * share.high:.1f})"
    return f"{100 * share.value:.1f} %{interval}"
