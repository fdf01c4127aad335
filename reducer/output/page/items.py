"""Find items that deserve attention: deciding clips, gaps between words and meaning, suspect references, questions."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from markupsafe import Markup

from speechiq.reducer.output.page.clips import ClipView, Edit, TranscriptView, edits
from speechiq.reducer.output.page.page import link_to
from speechiq.reducer.runs.texts import Answers
from speechiq.reducer.scores.scale import Scale
from speechiq.reducer.scores.score_matrix import ScoreMatrix
from speechiq.reducer.stats.grid import Cell, Column, Grid

MOST_LISTED = 8
#: Most transcripts that are shown with more errors than the reference has words, which is above 100 %.
MOST_WRONG, FULL = 40, 100.0
TOP = 0.1
NEARLY_ALL = 0.8
CONTEXT = 4


def deciding(pool: ScoreMatrix, scale: Scale | None, listening: Sequence[int]) -> dict[str, list[Grid]]:
    """Return level -> its heaviest clips, if there is a scale, and its hardest clips.

    A clip's weight is its share of the level's discrimination, V_i / sum V (eq. 4). Means are over `listening`, the
    rows of the systems that process audio.
    """
    tables: dict[str, list[Grid]] = {}
    for level, raw in pool.raw.items():
        clips, mean = pool.clips[level], raw[listening].mean(axis=0)
        heaviest = [_heaviest(clips, scale.levels[level].shares)] if scale else []
        column = Column("mean", pool.levels[level].unit, ".1f")
        hardest = _list_first(clips, mean, Column("hardest", "Hardest"), column, pool.levels[level].show(mean))
        tables[level] = [*heaviest, hardest]
    return tables


def _heaviest(clips: Sequence[str], share: np.ndarray) -> Grid:
    top = max(1, round(TOP * len(clips)))
    heaviest = "The heaviest clip has" if top == 1 else f"The heaviest {top} clips have"
    column = Column("weight", "weight %", ".1f", factor=100.0, kind="bar")
    grid = _list_first(clips, -share, Column("heaviest", "Most discriminating"), column, share)
    return grid._replace(title=f"{heaviest} {100 * np.sort(share)[-top:].sum():.0f} % of the weight.")


def _list_first(clips: Sequence[str], order: np.ndarray, first: Column, column: Column, values: np.ndarray) -> Grid:
    """Return the first clips in an order, lowest first, each with its value."""
    places = np.argsort(order, kind="stable")[:MOST_LISTED]
    rows: list[dict[str, Cell]] = [
        {first.name: link_to("clip", clips[place]), column.name: float(values[place])} for place in places
    ]
    return Grid("", [first, column], rows)


def rank_gaps(pool: ScoreMatrix, listening: Sequence[int], labels: Sequence[str]) -> list[Grid]:
    """Return transcripts with many word errors and a high similarity, and the reverse; the largest difference first.

    All transcripts of the systems that process audio are ranked by word error rate and by similarity; a transcript with
    equal ranks is in neither table. Empty without one of the two levels.
    """
    from scipy.stats import rankdata

    levels = ("remember", "understand")
    if not {*levels} <= pool.raw.keys():
        return []
    common = sorted({*pool.clips["remember"]} & {*pool.clips["understand"]})
    scores = {
        level: pool.raw[level][np.ix_(np.array(listening, int), np.searchsorted(pool.clips[level], common))]
        for level in levels
    }
    by_errors, by_similarity = (rankdata(values).reshape(values.shape) for values in scores.values())
    gap = by_similarity - by_errors
    titles = {"Many word errors, close in meaning": gap, "Few word errors, far in meaning": -gap}
    units = [Column(level, pool.levels[level].unit, ".1f") for level in levels]
    grids = []
    for title, gaps in titles.items():
        rows: list[dict[str, Cell]] = []
        for place in np.argsort(-gaps, axis=None, kind="stable")[:MOST_LISTED]:
            row, clip = map(int, np.unravel_index(place, gap.shape))
            if gaps[row, clip] > 0:
                rows.append({"clip": link_to("clip", common[clip]), "system": labels[listening[row]]})
                rows[-1] |= {level: pool.levels[level].show(raw[row, clip]) for level, raw in scores.items()}
        grids.append(Grid(title, [Column("clip", "Clip"), Column("system", "System"), *units], rows))
    return grids


def disagreements(clips: Iterable[ClipView], encoders: Mapping[str, str]) -> Grid:
    """Return edits that nearly all encoders (`NEARLY_ALL`, at least two) make, those with the most agreement first.

    Systems that share an encoder (system -> the model that processes the audio) make similar errors and count once.
    """
    found = []
    for clip in clips:
        written = {system: each for system, each in clip.transcripts.items() if system in encoders}
        by_encoder: dict[str, list[TranscriptView]] = {}
        for system, transcript in written.items():
            by_encoder.setdefault(encoders[system], []).append(transcript)
        agreed = _count_agreed([*by_encoder.values()])
        shown = chain.from_iterable(edits(transcript.ops) for transcript in written.values()) if agreed else ()
        found += [(agreed[edit], len(by_encoder), clip, edit) for edit in dict.fromkeys(shown) if edit in agreed]
    found.sort(key=lambda place: (-place[0] / place[1], -place[0], place[2].id))
    rows: list[dict[str, Cell]] = [
        {"clip": link_to("clip", clip.id), "words": _mark(clip, edit), "agree": f"{agree} of {count}"}
        for agree, count, clip, edit in found
    ]
    columns = [
        Column("clip", "Clip"),
        Column("words", "Reference, normalized, and what was written", kind="words"),
        Column("agree", "Agree\nencoders", kind="number"),
    ]
    return Grid("Words that systems agree on against the reference", columns, rows)


def _count_agreed(by_encoder: Sequence[Sequence[TranscriptView]]) -> dict[Edit, int]:
    """Return how many encoders make an edit, for the edits of nearly all; each encoder has some transcripts.

    Encoders are read until no edit can reach that number any more.
    """
    enough = max(2, NEARLY_ALL * len(by_encoder))
    agreed: Counter[Edit] = Counter()
    for left, transcripts in zip(reversed(range(len(by_encoder))), by_encoder, strict=True):
        agreed.update({edit for transcript in transcripts for edit in edits(transcript.ops)})
        if left >= enough:
            continue
        agreed = Counter({edit: count for edit, count in agreed.items() if count + left >= enough})
        if not agreed:
            break
    return agreed


def more_errors_than_words(pool: ScoreMatrix, listening: Sequence[int], labels: Sequence[str]) -> Grid | None:
    """Return transcripts with an error rate above 100 %, the highest first; None if no level has an error rate."""
    category = pool.levels.get("remember")
    if category is None or category.measure.direction == "higher" or not category.measure.in_per_cent:
        return None
    rates, clips = category.show(pool.raw["remember"][list(listening)]), pool.clips["remember"]
    rows: list[dict[str, Cell]] = []
    for place in np.argsort(-rates, axis=None, kind="stable")[:MOST_WRONG]:
        row, clip = map(int, np.unravel_index(place, rates.shape))
        if rates[row, clip] > FULL:
            system = labels[listening[row]]
            rows.append({"clip": link_to("clip", clips[clip]), "system": system, "rate": float(rates[row, clip])})
    columns = [Column("clip", "Clip"), Column("system", "System"), Column("rate", category.unit, ".1f")]
    return Grid("More errors than words", columns, rows)


def _mark(clip: ClipView, edit: Edit) -> Markup:
    """Return the place of an edit in the reference, with the words that may be wrong and those written instead."""
    words = clip.words.split()
    start, end = edit.start, edit.start + edit.dropped
    before, reference, after = words[max(0, start - CONTEXT) : start], words[start:end], words[end : end + CONTEXT]
    marks = [
        " ".join(before),
        Markup("<del>{}</del>").format(" ".join(reference)) if reference else "",
        Markup("<ins>{}</ins>").format(edit.written) if edit.written else "",
        " ".join(after),
    ]
    return Markup(" ").join(filter(None, marks))


def failed_with_reference(answers: Answers, systems: Collection[str]) -> Grid:
    """Return questions that every `gold` control and nearly all of the systems fail; none without such a control."""
    gold = [system for system, control in answers.controls.items() if control == "gold"]
    rows: list[dict[str, Cell]] = []
    for item, question in answers.questions.items():
        votes = Counter(answers.votes[system][item].vote for system in systems)
        failed = votes.total() - votes[question.answer]
        if gold and failed >= NEARLY_ALL * len(systems):
            if any(answers.votes[system][item].vote == question.answer for system in gold):
                continue
            rows.append(
                {
                    "clip": link_to("clip", item[0]),
                    "question": question.question,
                    "votes": _fold(item[1], question.answer, votes),
                    "failed": f"{failed} of {len(systems)}",
                }
            )
    rows.sort(key=lambda row: -int(str(row["failed"]).split()[0]))
    columns = [
        Column("clip", "Clip"),
        Column("question", "Question", kind="words"),
        Column("votes", "Key and votes", kind="votes"),
        Column("failed", "Failed\nsystems", kind="number"),
    ]
    return Grid("Questions that no system answers, not even from the reference", columns, rows)


def _fold(question_id: str, answer: str, votes: Counter[str]) -> Markup:
    shown = ", ".join(f"{letter} \N{MULTIPLICATION SIGN} {count}" for letter, count in votes.most_common())
    summary = Markup('<summary aria-label="Show the key and the votes of {}">Show</summary>').format(question_id)
    return Markup("<details>{}<bdi>right: {}; votes: {}</bdi></details>").format(summary, answer, shown)
