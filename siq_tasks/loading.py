"""From a data set's rows to the clips of its test: chosen, checked, kept, and recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tqdm import tqdm

from speechiq.core.cache import cache_dir
from speechiq.core.errors import SpeechIQError
from speechiq.core.files import write_whole
from speechiq.siq_tasks.audio import AudioClip
from speechiq.siq_tasks.docs import Loaded, build_docs, read_settings
from speechiq.siq_tasks.questions.file import join, locate, read_questions, refuse_strangers
from speechiq.siq_tasks.rows import Rows, Source, open_rows
from speechiq.siq_tasks.store import CLIPS, MEND, keep, read_length
from speechiq.siq_tasks.subset import SELECTIONS, choose, counts, digest

LAYOUT = 1


class Prepared(NamedTuple):
    """The clips of one test, and how they were chosen.

    Attributes:
        clips: `id`, `text` and the items of a clip, longest first.
        record: what joins the task's metadata: `subset_ids`, `subset_sha256`, `left_out` (rows that cannot
            be scored), `rows`.
        known: ids of all rows that can be scored, chosen or not.
    """

    clips: list[dict]
    record: dict[str, Any]
    known: list[str]


def list_clips(**told: Any) -> list[dict]:
    """The clips of a test; `told` is the task's metadata, as for `prepare`."""
    return prepare(**told).clips


def load(level: str, dataset: str, questions: str | None = None, **told: Any) -> Loaded:
    """`custom_dataset` of every set that is prepared from rows.

    Args:
        level, dataset: from the task's metadata.
        questions: a file of questions; by default the one that `siq questions write` makes.
        **told: see `prepare`, and `docs.read_settings`.
    """
    settings = read_settings(level, told)
    test = prepare(dataset=dataset, **told)
    asked: Sequence[Mapping] = ()
    if level == "apply":
        asked = _questions_for(test, dataset, questions)
    return Loaded(build_docs(level, dataset, test.clips, asked, told), test.record | settings)


def _questions_for(test: Prepared, dataset: str, file: str | None) -> list[dict]:
    written = read_questions(locate(dataset, file))
    refuse_strangers(written, test.known, dataset)
    chosen = [clip["id"] for clip in test.clips]
    wanted = set(chosen)
    return join([row for row in written if row["id"] in wanted], chosen, dataset)


def prepare(dataset: str, subset: int | str, selection: str = SELECTIONS[0], **told: Any) -> Prepared:
    """The clips of a test, from the clip folder where they were prepared before.

    Args:
        dataset: name of the set, the first part of every id.
        subset: how many clips, or `all`.
        selection: `longest-audio` (seconds; the paper's words) or `longest-text` (characters; what the
            released numbers used).
        **told: fields of `Source`; what else lm-eval passes is not for this function.

    Raises:
        SpeechIQError: rows, subset or audio that cannot make a test; nothing is recorded then.
    """
    if selection not in SELECTIONS:
        raise SpeechIQError(f"selection={selection}: unknown; known are {', '.join(SELECTIONS)}")
    source = Source(**{name: told[name] for name in Source._fields if name in told})
    asked = [LAYOUT, dataset, source, source.state(), subset, selection]
    name = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
    manifest = cache_dir(CLIPS, f"{dataset}-{name[:16]}.json")
    if manifest.is_file():
        test = Prepared(**json.loads(manifest.read_bytes()))
        if all(AudioClip(clip).file.is_file() for clip in test.clips):
            return test
    test = _prepare(dataset, source, subset, selection)
    write_whole(manifest, json.dumps(test._asdict(), indent=1).encode(), MEND, make_folders=True)
    return test


def _prepare(dataset: str, source: Source, subset: int | str, selection: str) -> Prepared:
    with open_rows(source) as rows:
        places = _name_rows(dataset, source, rows)
        texts = rows.columns[source.text_column]
        scored = {key: i for key, i in places.items() if counts(texts[i])}
        if not scored:
            raise SpeechIQError(
                f"{source.dataset_path}: none of {len(places)} rows has a reference with words; check text_column"
            )
        chosen = choose(_measure(scored, source, rows, selection), subset)
        clips = [
            {"id": key, "text": texts[scored[key]], **keep(rows.audio[scored[key]], key)}
            for key in tqdm(chosen, desc=f"{dataset} clips", unit="clip")
        ]
    record = {
        "subset_ids": chosen,
        "subset_sha256": digest(chosen),
        "left_out": len(places) - len(scored),
        "rows": len(places),
    }
    return Prepared(clips, record, list(scored))


def _name_rows(dataset: str, source: Source, rows: Rows) -> dict[str, int]:
    ids = rows.columns[source.id_column] if source.id_column else [f"{i:05}" for i in range(len(rows))]
    places: dict[str, int] = {}
    for i, (key, text) in enumerate(zip(ids, rows.columns[source.text_column], strict=True)):
        if key is None or text is None:
            missing = source.id_column if key is None else source.text_column
            raise SpeechIQError(f"{source.dataset_path} row {i}: {missing} is None; mend or leave out the row")
        if f"{dataset}/{key}" in places:
            first = places[f"{dataset}/{key}"]
            raise SpeechIQError(f"{source.dataset_path}: rows {first} and {i} have one id, {key!r}; make ids unique")
        places[f"{dataset}/{key}"] = i
    return places


def _measure(scored: Mapping[str, int], source: Source, rows: Rows, selection: str) -> dict[str, float]:
    if selection == "longest-text":
        texts = rows.columns[source.text_column]
        return {key: len(texts[i]) for key, i in scored.items()}
    if source.length_column:
        seconds = rows.columns[source.length_column]
        return {key: float(seconds[i]) for key, i in scored.items()}
    bar = tqdm(scored.items(), desc="lengths", unit="row")
    return {key: read_length(rows.audio[i], key) for key, i in bar}
