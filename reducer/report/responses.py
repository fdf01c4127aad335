"""Show the responses to each item of a category: questions, audio, answers, and what a judge made of them."""

import math
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

import msgspec
from markupsafe import Markup

from speechiq.reducer.report.clips import find_source, number
from speechiq.reducer.runs.judged import Judged, read_item, read_stored
from speechiq.reducer.runs.measure import Category
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.samples import Item, first_of, read_rows, show_item

#: Mark of an answer -> what it is called.
MARKS = {"unjudged": "unjudged", "refusal": "a refusal", "empty": "empty", "differs": "judge and rule differ"}
#: Difference of the scores by the judge and by rule, on 0 to 1, from which they differ.
DIFFERS = 0.5


class _Row(msgspec.Struct):
    """Hold a row of any suite, with its complete doc."""

    doc: dict[str, Any]
    filtered_resps: Any = ""
    speech_text_wer: Any = None


class Responses:
    """Hold what the systems were asked in a category, and their responses, as the page shows them.

    Attributes:
        asked: Item -> question, reference and answer, and the audio and checklist of a spoken query.
        given: Item -> system -> its response.
    """

    def __init__(self, category: Category, tasks: Iterable[TaskRun]) -> None:
        """Read the tasks of a category."""
        self.asked: dict[Item, Markup] = {}
        self.given: dict[Item, dict[str, Markup]] = {}
        for task in tasks:
            for _, row in read_rows(task.samples, _Row, "an object doc"):
                item = tuple(str(row.doc.get(field, "")) for field in category.item)
                stored = read_stored(row.filtered_resps)
                is_reply = bool(stored and row.doc.get("reply"))
                if item not in self.asked:
                    self.asked[item] = _show_query(row.doc, f"Query {show_item(item)}" if is_reply else "")
                text = stored.answer if stored else str(first_of(row.filtered_resps))
                shown = _show_reply(row, text, f"Reply to {show_item(item)}") if is_reply else _show(text)
                self.given.setdefault(item, {})[task.system] = shown


def show_response(score: float, response: Markup, judged: Judged | None) -> Markup:
    """Return a response with its score in shown units, marks, and what the judge wrote."""
    shown = Markup("<b>{}</b> {}").format("\N{EM DASH}" if math.isnan(score) else f"{score:.2f}", response)
    if judged is None:
        return shown
    marks = {
        "unjudged": judged.unjudged,
        "refusal": judged.refusal > 0,
        "empty": judged.empty > 0,
        "differs": abs(judged.judge - judged.rule) >= DIFFERS,
    }
    for mark in (mark for mark, holds in marks.items() if holds):
        shown += Markup(' <span class="badge" data-mark="{}">{}</span>').format(mark, MARKS[mark])
    scores = ["no score" if math.isnan(score) else f"{score:g}" for score in judged.scores]
    lines = zip_longest(scores, judged.texts[: len(scores)], fillvalue="")
    texts = Markup().join(Markup('<p class="reply"><b>{}</b> <bdi>{}</bdi></p>').format(*line) for line in lines)
    details = Markup("<details><summary>judge: {}</summary>{}</details>")
    return shown + details.format(", ".join(scores), texts) if scores else shown


def _show(text: str) -> Markup:
    return Markup("<bdi>{}</bdi>").format(text)


def _show_query(doc: Mapping[str, Any], spoken: str) -> Markup:
    """Return what was asked; `spoken` names the player of a spoken query."""
    parts = (doc.get(key) for key in ("question", "text", "answer"))
    shown = _show(" | ".join(dict.fromkeys(str(part) for part in parts if part not in (None, ""))))
    if spoken:
        shown += _player(find_source(doc.get("audio")), spoken)
        if checklist := doc.get("checklist"):
            shown += Markup('<p class="reply">Checklist: <bdi>{}</bdi></p>').format(checklist)
    return shown


def _show_reply(row: _Row, text: str, label: str) -> Markup:
    """Return a reply to a spoken query with its audio and what `metrics.reply` left in the row."""
    item = read_item(row.filtered_resps)
    audio, quality, points = item.get("audio"), item.get("speech_quality"), item.get("scores_written")
    scores = [point for point in points if isinstance(point, int | float)] if isinstance(points, list) else []
    player = find_source(audio)
    lines = []
    if not isinstance(audio, Mapping):
        lines.append("written only")
    elif not math.isnan(seconds := number(audio.get("duration"))):
        lines.append(f"{seconds:.1f} s of speech")
    if not math.isnan(errors := number(row.speech_text_wer)):
        lines.append(f"WER of the transcript against the written text {100 * errors:.1f} %")
    if isinstance(quality, int | float):
        lines.append(f"speech quality {quality:.2f}")
    if scores and audio:
        lines.append(f"written: {sum(scores) / len(scores):.2f} points")
    if audio and not player:
        lines.append("its audio is not on this machine")
    shown = "Transcript: " * bool(audio) + _show(text) + _player(player, label)
    shown += Markup('<p class="reply">{}</p>').format(", ".join(lines))
    if audio:
        shown += Markup('<p class="reply">Written: <bdi>{}</bdi></p>').format(item.get("written", ""))
    return shown


def _player(source: str, label: str) -> Markup:
    player = Markup(' <audio controls preload="none" aria-label="{}" src="{}"></audio>')
    return player.format(label, source) if source else Markup()
