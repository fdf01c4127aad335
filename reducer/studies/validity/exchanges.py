"""Pair the answers to a transcript and to its reference, for people, and label them by a judge of pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.reducer.runs.texts import read_written
from speechiq.reducer.stats.bootstrap import NO_CLUSTERS
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import caution_of_estimates
from speechiq.reducer.studies.judges import position_bias
from speechiq.reducer.studies.validity.answer_key import Success, find_gold
from speechiq.reducer.studies.validity.units import Key, Tables, answers

if TYPE_CHECKING:
    from speechiq.metrics.judge.judging import PairJudgment
    from speechiq.metrics.judge.settings import Judging

#: The column of tasks that answer by choosing an option.
OPTION = "acc"


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


def label_judged(exchanges: Sequence[Exchange], judging: Judging, clusters: Mapping[str, str] = NO_CLUSTERS) -> Success:
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
        *[f"{unjudged} of {len(exchanges)} items are unjudged: left out"] * bool(unjudged),
    ]
    return Success(success, notes + [_describe_bias(judged, clusters)] * bool(judged))


def _describe_bias(judged: Sequence[tuple[PairJudgment, str]], clusters: Mapping[str, str]) -> str:
    """Return the position bias of the judge on pairs, each with its clip, in words."""
    pairs, clips = zip(*judged, strict=True)
    bias = position_bias.measure(pairs, clips, clusters)
    few = caution_of_estimates([bias.changed, bias.first])
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
