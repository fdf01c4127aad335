"""Read and compute everything that the report shows, once."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.measure import Category
from speechiq.reducer.output.page.clips import ClipView, read_clips
from speechiq.reducer.output.page.identity import short_names
from speechiq.reducer.output.page.suite import gather_groups
from speechiq.reducer.output.suite_scores import SuiteScores, score_datasets, score_suite
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.signs import NO_REPLIES, Replies, SignsOfSystems, read_answer_texts
from speechiq.reducer.runs.systems import read_systems_of
from speechiq.reducer.runs.texts import Answers, keep_shared, read_votes
from speechiq.reducer.scores import scale as siq
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import LEVELS, SUITE
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.ranking import split_datasets
from speechiq.reducer.scores.scale import PAPER, Scale, Weighting
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import NOTHING, ConfirmedSet, ScoringOptions, find_levels
from speechiq.reducer.studies.groups import GroupScores

#: Most answers whose texts a report shows.
MOST_REPLIES = 50_000
NO_ANSWERS = Answers({}, {}, {}, [])


class Study(NamedTuple):
    """Hold the content of a report. Lists with one entry per system are in the order of `scoreboard.pool.systems`.

    Attributes:
        scoreboard: The systems, their raw scores, scores and error bars.
        warnings: One line for every choice made between runs.
        labels: Short names for the charts.
        clips: The clips, with references and transcripts.
        answers: The level Apply, question by question; empty if it is not scored; its warnings say why if it is.
        sets: Data set -> its own scoreboard; empty with one data set, or with norms.
        groups: The scores of groups of clips, by each field and for each level.
        signs: System -> (clip, question) -> the signs of hallucination in its answers; empty if they cannot be read.
        replies: What was asked and replied word for word; empty if there are more than `MOST_REPLIES` answers.
    """

    scoreboard: Scoreboard
    warnings: list[str]
    labels: list[str]
    clips: list[ClipView]
    answers: Answers
    sets: dict[str, Scoreboard]
    groups: Sequence[GroupScores]
    signs: SignsOfSystems
    replies: Replies

    @property
    def levels(self) -> list[str]:
        """Return the levels that are scored."""
        return list(self.scoreboard.pool.raw)

    @property
    def scale(self) -> Scale:
        """Return the scale; a flat one without Z."""
        return self.scoreboard.scale or siq.flat(self.scoreboard.pool)

    @property
    def has_siq(self) -> bool:
        """Return whether the levels are combined; the remarks say why not."""
        return self.scoreboard.has_siq

    @property
    def has_z(self) -> bool:
        """Return whether there is a scale that gives the levels a Z."""
        return self.scoreboard.has_z

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the systems."""
        return self.scoreboard.pool.systems

    @property
    def listening(self) -> list[int]:
        """Return the rows of the systems that process audio; all rows if there are only controls."""
        return self.scoreboard.listening


def gather_report(
    runs: Iterable[Path],
    *,
    rule: Weighting = PAPER,
    norms: Norms | None = None,
    allow_mismatch: bool = False,
    allow_missing: bool = False,
    exclude: ConfirmedSet = NOTHING,
    bootstrap: int = DRAWS,
    levels: Mapping[str, Category] = LEVELS,
) -> Study:
    """Read and score runs.

    Args:
        runs: Folders (any depth) or results files.
        rule: Rules of the weights; norms have their own.
        norms: Norms whose scale to use; None makes the systems their own reference population.
        exclude: Questions to leave out of Apply, as `unanswerable.read_confirmed` returns them.
        bootstrap: Draws of the error bars; 0 for none.
        levels: The levels, each with the column to read, as `levels.choose_levels` returns them.

    Raises:
        SpeechIQError: The runs cannot be read, aligned or scored.
    """
    tasks, warnings = find_levels(runs, allow_missing)
    options = ScoringOptions(rule, norms, exclude, allow_mismatch, bootstrap)
    return read_study(tasks, score_suite(SUITE, read_systems_of(tasks, levels), options), options, warnings)


def read_study(
    tasks: Sequence[TaskRun], scores: SuiteScores, options: ScoringOptions, warnings: Iterable[str] = ()
) -> Study:
    """Read the texts of tasks of SIQ, and score each data set."""
    scoreboard = scores.scoreboard
    answers, clips = _read_answers(tasks, options) if "apply" in scoreboard.pool.raw else NO_ANSWERS, read_clips(tasks)
    signs, replies = _read_answer_texts(tasks, answers, clips)
    sets, unscored = ({}, []) if scoreboard.norms else _score_sets(scores, options)
    return Study(
        scoreboard=scoreboard,
        warnings=[*dict.fromkeys([*warnings, *answers.warnings, *unscored])],
        labels=short_names(scoreboard.pool.systems),
        clips=clips,
        answers=answers,
        sets=sets,
        groups=gather_groups(scores),
        signs=signs,
        replies=replies,
    )


def _read_answers(tasks: Iterable[TaskRun], options: ScoringOptions) -> Answers:
    """Read the answers to the questions that all share; none, with the reason, if rows have another template.

    Such runs can be scored too.
    """
    try:
        answers = read_votes(task for task in tasks if task.level == "apply")
        return keep_shared(answers, options.allow_mismatch)
    except SpeechIQError as error:
        return NO_ANSWERS._replace(warnings=[f"no questions are shown: {error}"])


def _read_answer_texts(
    tasks: Iterable[TaskRun], answers: Answers, clips: Iterable[ClipView]
) -> tuple[SignsOfSystems, Replies]:
    """Return the signs of hallucination and the replies; none if a row does not have the texts of its answers.

    Without replies if there are too many for a page.
    """
    if not answers.questions:
        return {}, NO_REPLIES
    transcripts: dict[str, dict[str, str]] = {}
    for clip in clips:
        for system, written in clip.transcripts.items():
            transcripts.setdefault(system, {})[clip.id] = written.text
    count = sum(map(len, answers.votes.values()))
    try:
        return read_answer_texts(tasks, transcripts, with_replies=count <= MOST_REPLIES)
    except SpeechIQError:
        return {}, NO_REPLIES


def _score_sets(scores: SuiteScores, options: ScoringOptions) -> tuple[dict[str, Scoreboard], list[str]]:
    """Return the scores on each data set if there are several; none, and why, if one of them cannot be scored."""
    if len(split_datasets(scores.scoreboard.systems)) < 2:
        return {}, []
    try:
        return scores.by_dataset or score_datasets(scores.scoreboard, options), []
    except SpeechIQError as error:
        return {}, [f"no scores per data set are shown: {error}"]


def weights_by_rule(scoreboard: Scoreboard) -> dict[str, dict[str, float]]:
    """Return rule -> level -> weight on the systems of the scale, whose own rule comes first; empty without SIQ.

    Rules that cannot be computed, such as correlations of few systems, are left out.
    """
    if not scoreboard.scale or not scoreboard.has_siq:
        return {}
    scale = scoreboard.scale
    rules = dict.fromkeys((scale.rule.levels, *siq.RULES))
    weights = {rule: scale.share_out(rule) for rule in rules}
    return {rule: shares for rule, shares in weights.items() if not np.isnan([*shares.values()]).any()}


def ranks_by_rule(scoreboard: Scoreboard) -> dict[str, np.ndarray]:
    """Return rule -> rank of each system that processes audio, in the order of `listening`; Z does not change."""
    z = {level: values[scoreboard.listening] for level, values in scoreboard.z.items()}
    rules = weights_by_rule(scoreboard)
    return {rule: siq.competition_ranks(siq.combine(z, weights)) for rule, weights in rules.items()}
