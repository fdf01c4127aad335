"""Let people rank the transcripts of anonymous systems clip by clip, and aggregate their ranks (paper, section 5.3).

A line of a person's file is one clip: `{"id": clip, "ranks": {card: rank}, "person": name}`. A card is a text that one
system or several wrote; its name is a digest of clip and text, so that no file names a system. A clip that was not
ranked has the rank null on all its cards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from speechiq.core.console import count_of, list_some, printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import Line, content_sha256, read_objects, shorten
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.systems import System
from speechiq.reducer.runs.texts import read_clip_transcripts
from speechiq.reducer.scores.ranking import rank
from speechiq.reducer.scores.scale import EQUAL, Weighting
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.agreement import concordance
from speechiq.reducer.stats.bootstrap import resample
from speechiq.reducer.stats.estimate import Estimate
from speechiq.reducer.stats.grid import Cell, Column, Grid
from speechiq.reducer.studies.correlated import WRITTEN, SystemScores, correlate_ranks, list_scores, refuse_few
from speechiq.reducer.studies.result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

FIX_RANKS = "rank the clips on the page of `siq paper rank` and save the file again"
FIX_RUNS = "give the runs that the page was made from"
#: Endings of files of the page; a table with the column `system` may have them too.
ENDINGS = (".jsonl", ".json")
#: The column of the aggregated ranks.
PEOPLE = "people"


class ClipCards(NamedTuple):
    """Hold a clip whose transcripts are ranked.

    Attributes:
        audio: Path and span of its audio, as in a doc.
        texts: Card -> its text; equal texts are one card.
        cards: System -> its card.
    """

    clip: str
    reference: str
    audio: Any
    texts: dict[str, str]
    cards: dict[str, str]


def read_cards(systems: Iterable[System]) -> dict[str, ClipCards]:
    """Return clip -> its cards, for the clips that all systems transcribed; controls have none."""
    written, controls = {}, []
    for system in systems:
        if system.control:
            controls.append(system.name)
        else:
            written[system.name] = read_clip_transcripts(system.tasks_at(WRITTEN))
    if not written:
        names = ", ".join(map(repr, controls))
        raise SpeechIQError(f"only controls ({names}) in these runs", fix="give runs of other systems")
    if without := [name for name, transcripts in written.items() if not transcripts]:
        names = ", ".join(map(repr, without))
        raise SpeechIQError(f"no transcripts of {names} in these runs", fix="give runs of siq_remember or siq_all")
    common = set.intersection(*map(set, written.values()))
    if not common:
        raise SpeechIQError("no clip was transcribed by all systems", fix="give runs of them on the same task")
    found = {}
    for clip in sorted(common):
        texts: dict[str, str] = {}
        cards: dict[str, str] = {}
        for name, transcripts in written.items():
            text = " ".join(transcripts[clip].text.split())
            cards[name] = shorten(content_sha256([clip, text]))
            texts[cards[name]] = text
            first = transcripts[clip]
        found[clip] = ClipCards(clip, first.reference, first.audio, texts, cards)
    return found


def draw_clips(cards: Mapping[str, ClipCards], count: int, seed: int) -> list[ClipCards]:
    """Return clips at random, in random order, of those with at least two different transcripts.

    The cards of a clip are in random order, too.
    """
    differing = [clip for clip in cards.values() if len(clip.texts) > 1]
    if not differing:
        raise SpeechIQError(
            f"the systems wrote the same on all {count_of(len(cards), 'clip')}",
            "there is nothing to rank",
            "give runs of other systems",
        )
    random = np.random.default_rng(seed)
    chosen = []
    for place in random.permutation(len(differing))[:count]:
        clip = differing[place]
        names = sorted(clip.texts)
        texts = {names[card]: clip.texts[names[card]] for card in random.permutation(len(names))}
        chosen.append(clip._replace(texts=texts))
    return chosen


class _RankedLine(msgspec.Struct):
    """Hold the fields that are read of a line."""

    id: str
    ranks: dict[str, float | None]
    person: str = ""


@dataclass
class GivenRanks:
    """Hold the ranks that people gave.

    Attributes:
        ranks: Person -> clip -> card -> rank, for the clips that the person ranked.
        missing: Person -> the clips of the page without ranks, for people who left some out.
    """

    ranks: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)

    @property
    def clips(self) -> list[str]:
        """Return the clips that at least one person ranked."""
        return sorted(set().union(*self.ranks.values()))


def is_saved_page(file: Path) -> bool:
    """Return whether a file was saved from the page, and is not a table of ranks."""
    if file.suffix.lower() not in ENDINGS:
        return False
    first = next(read_objects(file, FIX_RANKS), None)
    return first is not None and isinstance(first.row.get("ranks"), dict)


def read_people(files: Sequence[Path], cards: Mapping[str, ClipCards]) -> GivenRanks:
    """Return the ranks that people gave, each in a file; a person without a name is named after the file."""
    given = GivenRanks()
    origin: dict[str, Path] = {}
    for file in files:
        for line in read_objects(file, FIX_RANKS):
            row = _read_line(line, cards)
            person = printable(row.person.strip()) or file.stem
            if origin.setdefault(person.casefold(), file) != file:
                other = origin[person.casefold()]
                raise SpeechIQError(line.where, f"{person!r} also has the file {str(other)!r}", "give one of them")
            _add_line(given, person, row, line.where)
    _name_missing(given)
    if not given.clips:
        raise SpeechIQError(f"{files[0]}", "no clip has ranks", FIX_RANKS)
    return given


def _read_line(line: Line, cards: Mapping[str, ClipCards]) -> _RankedLine:
    try:
        row = msgspec.convert(line.row, _RankedLine)
    except ValueError as error:
        raise SpeechIQError(f"{line.where} has no ranks of `siq paper rank` ({error})", fix=FIX_RANKS) from error
    if row.id not in cards:
        near = did_you_mean(row.id, cards)
        raise SpeechIQError(line.where, f"no clip that all systems transcribed is {row.id!r:.80}", f"{near}{FIX_RUNS}")
    if any(card not in cards[row.id].texts for card in row.ranks):
        raise SpeechIQError(line.where, f"clip {row.id!r:.80} has a text that no system in these runs wrote", FIX_RUNS)
    without = [card for card, place in row.ranks.items() if place is None]
    if 0 < len(without) < len(row.ranks):
        fault = f"clip {row.id!r:.80}: {len(without)} of {count_of(len(row.ranks), 'transcript')} without a rank"
        raise SpeechIQError(line.where, fault, FIX_RANKS)
    for place in row.ranks.values():
        if place is not None and not 1 <= place <= len(row.ranks):
            fault = f"clip {row.id!r:.80}: {place:g} is no rank from 1 to {len(row.ranks)}"
            raise SpeechIQError(line.where, fault, FIX_RANKS)
    return row


def _add_line(given: GivenRanks, person: str, row: _RankedLine, where: str) -> None:
    own = given.ranks.setdefault(person, {})
    missing = given.missing.setdefault(person, [])
    if row.id in own or row.id in missing:
        raise SpeechIQError(where, f"{person!r} ranked clip {row.id!r:.80} in an earlier line", "delete one line")
    for other, ranks in given.ranks.items():
        if None not in row.ranks.values() and ranks.get(row.id, row.ranks).keys() != row.ranks.keys():
            fault = f"clip {row.id!r:.80} has other transcripts than in the file of {other!r}"
            raise SpeechIQError(where, fault, "give files of one page")
    ranked = {card: place for card, place in row.ranks.items() if place is not None}
    if ranked:
        own[row.id] = ranked
    else:
        missing.append(row.id)


def _name_missing(given: GivenRanks) -> None:
    """Add to the missing clips of each person those that only others ranked; people without any are left out."""
    for person, ranks in given.ranks.items():
        given.missing[person] = sorted({*given.missing[person], *given.clips} - ranks.keys())
    given.missing = {person: clips for person, clips in given.missing.items() if clips}


def rank_cards(given: GivenRanks, cards: Mapping[str, ClipCards]) -> pd.DataFrame:
    """Return the ranks of the systems, from 1, with a row per person and clip; ties share the mean of their places.

    A system counts if its transcript was ranked on every clip. Systems with equal transcripts have one card, and so
    share the mean of their places.
    """
    import pandas as pd

    rows = {}
    for person, ranks in given.ranks.items():
        for clip, of_cards in ranks.items():
            rows[person, clip] = {name: of_cards.get(card) for name, card in cards[clip].cards.items()}
    index = pd.MultiIndex.from_tuples(rows, names=["person", "clip"])
    frame = pd.DataFrame([*rows.values()], index, dtype=float)
    return frame.sort_index(axis=1).dropna(axis=1).rank(axis=1)


def average_by_clip(ranks: pd.DataFrame) -> np.ndarray:
    """Return the mean over the people who ranked a clip, shape (clips, systems); clips are sorted."""
    return np.ascontiguousarray(ranks.groupby(level="clip").mean())


def correlate_people(
    scoreboard: Scoreboard, given: GivenRanks, cards: Mapping[str, ClipCards], *, rule: Weighting, draws: int
) -> StudyResult:
    """Return the mean ranks of the systems, how far people agree, and the correlation of each metric with the ranks.

    Metrics are computed on the ranked clips, but SIQ on all clips. `SIQ_rm` is SIQ of the ranked clips, all of which
    count the same (paper, Table 3).
    """
    ranked = rank_cards(given, cards)
    means = dict(zip(ranked.columns, average_by_clip(ranked).mean(axis=0).tolist(), strict=True))
    refuse_few(means, PEOPLE, "the files of --ranks")
    on_clips = _keep_clips(scoreboard.systems, given.clips)
    metrics = list_scores(rank(on_clips, rule=rule._replace(clips=EQUAL)))
    if "SIQ" in metrics:
        metrics["SIQ_rm"] = metrics.pop("SIQ")
    siq = {name: scores for name, scores in list_scores(scoreboard).items() if name == "SIQ"}
    correlated = correlate_ranks(siq | metrics, {PEOPLE: means}, _describe_clips(given, metrics))
    ranks, agreement = _rank_grid(ranked, given, scoreboard, draws), _agreement_grid(ranked, given)
    content = {
        **correlated.content,
        "people": [*ranked.index.unique("person")],
        "missing": given.missing,
        "mean_ranks": ranks.rows,
        "agreement": agreement.rows,
    }
    return StudyResult(correlated.schema, [ranks, agreement, *correlated.grids], content, correlated.grids[0].records())


def _keep_clips(systems: Sequence[System], clips: Collection[str]) -> list[System]:
    """Return the systems with only some clips, and the levels that have items of these clips in all systems."""
    kept = [system.replace(table=system.table.where(np.isin(system.table["clip"], [*clips]))) for system in systems]
    levels = [level for level in systems[0].levels if all(level in system.by_level for system in kept)]
    return [system.restrict(levels) for system in kept]


def _describe_clips(given: GivenRanks, metrics: Mapping[str, SystemScores]) -> list[str]:
    lines = [f"metrics are computed on the {count_of(len(given.clips), 'ranked clip')}, SIQ on all clips"]
    if "SIQ_rm" in metrics:
        lines.append("SIQ_rm: SIQ of the ranked clips, all with the same weight, on a scale of all systems in the runs")
    if "BLEU" in metrics:
        lines.append("BLEU, chrF: of the corpus, on texts normalized as for the error rate")
    return lines


def _rank_grid(ranked: pd.DataFrame, given: GivenRanks, scoreboard: Scoreboard, draws: int) -> Grid:
    by_clip = average_by_clip(ranked)

    def mean(counts: np.ndarray) -> np.ndarray:
        return np.asarray(counts @ by_clip / counts.sum(axis=1, keepdims=True))

    draws = draws if len(given.clips) > 1 else 0
    means: list[Estimate] = resample(mean, given.clips, scoreboard.pool.clusters, draws=draws).estimates
    order = sorted(range(len(means)), key=lambda place: means[place].value)
    rows: list[dict[str, Cell]] = [{"system": ranked.columns[place], "mean_rank": means[place]} for place in order]
    columns = [Column("system", "System"), Column("mean_rank", "Mean rank", ".2f", lower=True)]
    count = len(ranked.index.unique("person"))
    people = "1 person" if count == 1 else f"{count} people"
    clips = count_of(len(given.clips), "clip")
    notes = [
        f"mean over {people} and {clips}; 1 is the best, ties share the mean of their places",
        *_list_missing(given),
    ]
    if draws:
        notes.append("intervals cover the choice of clips, not that of people")
    left_out = sorted({*scoreboard.pool.systems} - {*ranked.columns})
    if left_out:
        notes.append(f"not ranked: {', '.join(left_out)}")
    return Grid("Ranks by people", columns, rows, notes)


def _list_missing(given: GivenRanks) -> list[str]:
    lines = []
    for person, clips in given.missing.items():
        lines.append(f"{person} did not rank {count_of(len(clips), 'clip')}: {list_some(clips)}")
    return lines


def _agreement_grid(ranked: pd.DataFrame, given: GivenRanks) -> Grid:
    """Return a row per clip with W of its cards, and one with W of each person's mean ranks of the systems."""
    rows: list[dict[str, Cell]] = []
    for clip in given.clips:
        orders = [ranks[clip] for ranks in given.ranks.values() if clip in ranks]
        names = sorted(orders[0])
        agreed = concordance(np.array([[order[card] for card in names] for order in orders]))
        rows.append({"clip": clip, "people": len(orders), "ranked": len(names), "w": agreed.w, "p": agreed.p})
    people = len(ranked.index.unique("person"))
    by_all = ranked.groupby(level="clip").filter(lambda ranks: len(ranks) == people)
    if len(by_all):
        name = f"mean of {count_of(len(by_all) // people, 'clip')}"
        agreed = concordance(by_all.groupby(level="person", sort=False).mean().to_numpy())
        rows.append({"clip": name, "people": people, "ranked": len(ranked.columns), "w": agreed.w, "p": agreed.p})
    columns = [
        Column("clip", "Clip"),
        Column("people", "People", "d"),
        Column("ranked", "Ranked", "d"),
        Column("w", "Kendall's W", ".3f"),
        Column("p", "p", ".2g"),
    ]
    notes = [
        "W: 1 if all people have the same order, 0 if they have none in common; corrected for ties",
        "p: share of orders at random with a W as large",
        "the last row compares the mean ranks of the systems, on the clips that everyone ranked",
    ]
    if people < 2:
        notes.append("W needs two people")
    return Grid("Agreement of people", columns, rows, notes)
