"""Prepare the clips of a test from a data set's rows: choose, check, store and record them."""

import hashlib
import json
import logging
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from speechiq.core.console import progress_bar
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.folders import cache_dir
from speechiq.core.files.plain import write_whole
from speechiq.core.files.tables import is_table, read_field, read_id, read_number
from speechiq.core.ids import check_plain, complete_ids, drop_dataset
from speechiq.core.recordings.audio_file import CLIPS, OTHER_DISK, AudioFile, read_length, save_audio
from speechiq.engines.options import Options
from speechiq.metrics.settings import Subject, Text, read_record
from speechiq.metrics.words.normalizer import read_normalizer
from speechiq.siq_tasks.index import is_published, read_tasks
from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.loaders.entities import ENTITIES, read_entity_fields
from speechiq.siq_tasks.loaders.odd_rows import OddRows, Repairs, describe_odd_rows
from speechiq.siq_tasks.loaders.question_columns import AnswerSettings, Columns
from speechiq.siq_tasks.loaders.row_choice import (
    CLUSTER,
    GROUPS,
    QUESTIONS,
    ChoiceSettings,
    check_groups,
    check_reference,
    choose_longest,
    choose_rows,
    ids_sha256,
    matches,
    read_groups,
)
from speechiq.siq_tasks.loaders.row_questions import RowQuestions, read_row_questions
from speechiq.siq_tasks.loaders.rows import Rows, RowSource, open_rows, read_source
from speechiq.siq_tasks.questions.file import find_questions, join_questions, read_questions, refuse_unknown_clips
from speechiq.siq_tasks.settings import read_task_type, takes

log = logging.getLogger(__name__)
#: Version of the prepared form of a data set; raise it if data sets must be prepared again, as after stricter checks.
LAYOUT = 6
OWN_FIX = "correct the row, or leave it out with --metadata leave_out=ID"


class QuestionFile(Options, frozen=True, kw_only=True):
    """Define where the questions of a task are."""

    questions: Annotated[
        Text | None,
        Meta(description="File with the questions of Apply; by default the one that `siq data questions` makes."),
    ] = None


#: What the metadata of tasks set that are prepared from rows.
SUBJECTS = (
    Subject(RowSource),
    Subject(Columns),
    Subject(AnswerSettings),
    Subject(ChoiceSettings),
    Subject(QuestionFile),
)


class Prepared(NamedTuple):
    """Hold the clips of one test, and how they were chosen.

    Attributes:
        clips: `id`, `text`, maybe `entities`, `entity_classes`, `groups`, `cluster` and `questions`, the items of a
            clip and its `warnings`, longest first. If the task asks rows: one entry per row, with its id as
            `question_id` and the values of its columns as `row`; `id` and `cluster` are those of the first row with the
            same audio.
        record: Additions to the task's metadata: `subset_ids`, `subset_sha256`, `rows`, `repaired` and `left_out`
            (reason -> number of rows), and `dataset_commit` for a data set from the Hub.
        known: Ids of all rows that can be scored, chosen or not.
    """

    clips: list[dict[str, Any]]
    record: dict[str, Any]
    known: list[str]


class PassageRule(Protocol):
    """Define how passages are made of the rows of a set; see `passages.SentenceRule`."""

    def open(self, source: RowSource, unwanted: Collection[str], odd: OddRows) -> AbstractContextManager[Rows]:
        """Return one row per passage, to be read inside the block."""


class LoadingPlan(NamedTuple):
    """Hold how the clips of one test are chosen; `normalizer` leaves no word of a reference that cannot be scored."""

    source: RowSource
    row_questions: RowQuestions | None
    choice: ChoiceSettings
    passages: PassageRule | None
    normalizer: str

    def key(self, dataset: str) -> str:
        """Return a digest of all that decides the clips of a test."""
        asked = self.row_questions and self.row_questions.key
        choice = self.choice
        source = [msgspec.structs.astuple(self.source), self.source.state()]
        rules = [choice.patterns, choice.groups, choice.clusters, self.passages, self.normalizer]
        chosen = [sorted(choice.unwanted), choice.subset, choice.selection, choice.ties]
        content = [LAYOUT, dataset, source, asked, rules, chosen]
        return hashlib.sha256(json.dumps(content, default=repr).encode()).hexdigest()


def list_clips(**metadata: Any) -> list[dict[str, Any]]:
    """Return the clips of a test, from its metadata as for `prepare`."""
    return prepare(**metadata).clips


def list_columns(**metadata: Any) -> dict[str, str]:
    """Return the columns that a task reads, each with the setting that names it.

    That of the audio is first. The settings of its score are not read.
    """
    more = read_record(Columns, metadata).names | read_record(ChoiceSettings, metadata).columns
    source = read_source(metadata)
    return source.audio_columns | source.list_columns(more)


@takes(*chain.from_iterable(subject.keys for subject in SUBJECTS))
def load(dataset: str | None = None, questions: str | None = None, **metadata: Any) -> Loaded:
    """Load the docs of one task; the `custom_dataset` of every set that is prepared from rows.

    `questions` is a question file, by default the file that `siq data questions` makes; for the rest see `prepare`.
    """
    task_type = read_task_type(metadata)
    read_record(QuestionFile, {"questions": questions})
    settings = task_type.read_settings(metadata)
    dataset = check_plain(dataset, "metadata.dataset")
    row_questions = read_row_questions(metadata)
    file = find_questions(dataset, questions) if task_type.has_questions and row_questions is None else None
    test = prepare(dataset=dataset, **metadata)
    if fields := read_record(ChoiceSettings, metadata).groups:
        test.record["group_by"] = [*dict.fromkeys([*metadata.get("group_by", []), *fields])]
    if row_questions is not None:
        record = test.record | settings | row_questions.describe()
        return Loaded(build_docs(dataset, test.clips, row_questions.ask(test.clips), metadata), record)
    rows = _questions_for(test, dataset, file) if file is not None else []
    record = test.record | settings
    if imported := sorted({row["source_sha256"] for row in rows if "source_sha256" in row}):
        record["questions_sha256"] = imported
    return Loaded(build_docs(dataset, test.clips, rows, metadata), record)


def _questions_for(test: Prepared, dataset: str, file: Path) -> list[dict[str, Any]]:
    written = complete_ids(read_questions(file), test.known)
    refuse_unknown_clips(written, test.known, dataset)
    chosen = [clip["id"] for clip in test.clips]
    wanted = set(chosen)
    return join_questions([row for row in written if row["id"] in wanted], chosen, dataset)


def _read_plan(metadata: Mapping[str, Any], passages: PassageRule | None) -> LoadingPlan:
    source, choice = read_source(metadata), read_record(ChoiceSettings, metadata)
    if passages:
        source = replace(source, id_column="id", length_column="seconds")
        choice = replace(choice, cluster_column="id")
    return LoadingPlan(source, read_row_questions(metadata), choice, passages, read_normalizer(metadata)["normalizer"])


def prepare(dataset: str | None = None, passages: PassageRule | None = None, **metadata: Any) -> Prepared:
    """Return the clips of a test, from the clip folder if they were prepared before.

    `dataset` is the first part of every id. With a rule by which `passages` are made of the rows, the columns are those
    of `PassageRule.open`. The metadata are the fields of `RowSource`, for a task that asks rows those of `Columns`, and
    those of `ChoiceSettings`; other keys that lm-eval passes are ignored. Rows, a subset or audio that cannot make a
    test are refused, and nothing is recorded then.
    """
    dataset = check_plain(dataset, "metadata.dataset")
    plan = _read_plan(metadata, passages)
    manifest = cache_dir(CLIPS, f"{dataset}-{plan.key(dataset)[:16]}.json")
    test = _read_manifest(manifest, has_audio=plan.source.audio_column is not None)
    if test is None:
        commit = plan.source.find_commit()
        source = plan.source if commit is None else replace(plan.source, dataset_revision=commit)
        test = _prepare(dataset, plan._replace(source=source))
        if commit is not None:
            test.record["dataset_commit"] = commit
        write_whole(manifest, json.dumps(test._asdict(), indent=1).encode(), OTHER_DISK, make_folders=True)
    elif news := plan.source.describe_new_version(dataset, test.record.get("dataset_commit")):
        log.warning("%s", news)
    for warning in filter(None, [describe_odd_rows(test.record), *list_warnings(test.clips)]):
        log.warning("%s: %s", dataset, warning)
    return test


def _read_manifest(manifest: Path, *, has_audio: bool) -> Prepared | None:
    """Return the test that was prepared before; None if its list or one of its clips is missing or damaged."""
    try:
        test = Prepared(**json.loads(manifest.read_bytes()))
        if not has_audio:
            return test if all({"id", "text"} <= clip.keys() for clip in test.clips) else None
        return test if all(AudioFile(clip["path"], clip["sha256"]).file.is_file() for clip in test.clips) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def list_warnings(clips: Sequence[Mapping[str, Any]]) -> list[str]:
    r"""Return one warning per kind of warning of the clips, and one per audio that has several references.

    >>> clip = {"id": "a", "text": "Yes.", "sha256": "0a", "warnings": ["it is digital silence"]}
    >>> print(*list_warnings([clip, clip | {"id": "b", "text": "No."}]), sep="\n")
    2 of 2 clips, 'a' among them: it is digital silence
    2 clips, 'a' and 'b', are the same audio with different references
    """
    warned, same = defaultdict(list), defaultdict(list)
    for clip in clips:
        same[clip.get("sha256") or clip["id"]].append(clip)
        for warning in clip["warnings"]:
            warned[warning].append(clip["id"])
    lines = [f"{len(ids)} of {len(clips)} clips, {ids[0]!r} among them: {warning}" for warning, ids in warned.items()]
    for group in same.values():
        if len({clip["text"] for clip in group}) > 1:
            ids = " and ".join(repr(clip["id"]) for clip in group[:2])
            lines.append(f"{len(group)} clips, {ids}, are the same audio with different references")
    return lines


def check_table(dataset: str | None = None, **metadata: Any) -> None:
    """Refuse odd rows of a table, as `prepare` does, without its audio."""
    dataset = check_plain(dataset, "metadata.dataset")
    with _open(dataset, _read_plan(metadata, None)) as (_, _, _, odd):
        odd.check()


@contextmanager
def _open(dataset: str, plan: LoadingPlan) -> Iterator[tuple[Rows, dict[str, int], dict[str, dict[str, Any]], OddRows]]:
    """Yield rows, places of rows by id, the clips that can be scored without their audio, and the odd rows."""
    source, choice = plan.source, plan.choice
    columns = plan.row_questions.columns.names if plan.row_questions else {}
    is_own = source.local is not None and is_table(source.local) and not is_published(dataset)
    odd = OddRows(source.dataset_path, OWN_FIX if is_own else None)
    opened: AbstractContextManager[Rows] = open_rows(source, columns | choice.columns)
    if plan.passages:
        opened = plan.passages.open(source, choice.unwanted, odd)
    with opened as rows:
        named = _name_rows(dataset, source, rows, choice.unwanted, odd)
        places = choose_rows(named, rows, choice.patterns, source.dataset_path)
        odd.untaken = _count_untaken(dataset, choice, map(rows.read, named.values()))
        odd.rows = odd.rows or len(places) + odd.count() + odd.untaken
        scored: dict[str, dict[str, Any]] = {}
        for key, i in progress_bar(places.items(), total=len(places), verb=f"{dataset} rows", unit="row"):
            with odd.reading(f"{source.dataset_path} row {i}", key) as repairs:
                scored[key] = _read_clip(key, rows.read(i), plan, repairs)
        yield rows, places, scored, odd


def _prepare(dataset: str, plan: LoadingPlan) -> Prepared:
    choice, subset, ties = plan.choice, plan.choice.subset, plan.choice.ties
    lengths: dict[str, float] = {}
    clips: list[dict[str, Any]] = []
    with _open(dataset, plan) as (rows, places, scored, odd):
        wheres = {key: f"{plan.source.dataset_path} row {i}" for key, i in places.items()}
        for key in progress_bar(scored, total=len(scored), verb=f"{dataset} lengths", unit="row"):
            with odd.reading(wheres[key], key) as repairs:
                lengths[key] = _measure(rows, places[key], scored[key], plan, repairs)
        odd.check()
        if choice.clusters:
            choice.clusters.refuse_one_for_all([scored[key][CLUSTER] for key in lengths])
        groups = [scored[key][GROUPS] for key in lengths if choice.groups]
        for warning in check_groups(groups, choice.groups, plan.source.dataset_path, is_own=odd.is_own):
            log.warning("%s: %s", dataset, warning)
        choose_longest(lengths, subset, ties)  # Refuse a wrong size before audio is copied.
        longest = choose_longest(lengths, "all", ties)
        for key in progress_bar(longest, total=len(longest), verb=f"{dataset} clips", unit="clip"):
            if len(clips) == subset:
                break
            with odd.reading(wheres[key], key):
                has_audio = plan.source.audio_column is not None
                saved = save_audio(rows.read_audio(places[key]), key) if has_audio else {"warnings": []}
                clips.append(scored[key] | saved)
    odd.check()
    chosen = choose_longest({clip["id"]: lengths[clip["id"]] for clip in clips}, subset, ties)
    if plan.row_questions:
        clips = _share_names(clips)
    record = {"subset_ids": chosen, "subset_sha256": ids_sha256(chosen)} | odd.record()
    return Prepared(clips, record, [*lengths])


def _share_names(clips: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return clips, of which those with the same audio have the id and the cluster of the first one."""
    first: dict[str, dict[str, Any]] = {}
    shared = []
    for clip in clips:
        same = first.setdefault(clip.get("sha256") or clip["id"], clip)
        shared.append(clip | {key: same[key] for key in ("id", CLUSTER) if key in same})
    return shared


def _name_rows(dataset: str, source: RowSource, rows: Rows, unwanted: Collection[str], odd: OddRows) -> dict[str, int]:
    """Return the id of each row with its place, but for those that the user leaves out."""
    places: dict[str, int] = {}
    left = set(unwanted)
    for i in range(rows.count):
        with odd.reading(f"{source.dataset_path} row {i}", f"row {i}"):
            name = read_id(rows.read(i), source.id_column) if source.id_column else f"{i:05}"
            key = f"{dataset}/{name}"
            if key in places:
                fault = f"rows {places[key]} and {i} have the same id, {drop_dataset(key)!r}"
                raise RowError("the id of an earlier row", fault, "make ids unique")
            if name in unwanted:
                left.discard(name)
            else:
                places[key] = i
    if left:
        raise SpeechIQError(
            "metadata.leave_out", f"{sorted(left)[0]!r:.80} is the id of no row of {dataset}", "correct it"
        )
    return places


def _count_untaken(dataset: str, choice: ChoiceSettings, rows: Iterable[Mapping[str, Any]]) -> int:
    """Count the rows of a data set of the package that none of its tasks takes, which choose theirs by columns.

    One of the tasks counts them, the first that reads the columns of all; for any other it is 0.
    """
    tasks = [task["metadata"] for task in read_tasks().values() if task["metadata"].get("dataset") == dataset]
    patterns = [read_record(ChoiceSettings, metadata).patterns for metadata in tasks]
    columns = set(chain.from_iterable(patterns))
    counting = next((each for each in patterns if each.keys() == columns), None)
    if len(patterns) < 2 or not all(patterns) or choice.patterns != counting:
        return 0
    return sum(not any(matches(row, each) for each in patterns) for row in rows)


def _read_clip(key: str, row: Mapping[str, Any], plan: LoadingPlan, repairs: Repairs) -> dict[str, Any]:
    """Return the items of a clip besides its audio, if its row can be scored."""
    source, asked = plan.source, plan.row_questions
    columns = asked.columns if asked else Columns()
    clip: dict[str, Any] = {"id": key, "text": None}
    if asked:
        asked.read(row, repairs)
        clip |= {"question_id": key, "row": {name: row[name] for name in columns.names}}
    if source.text_column is not None:
        clip["text"] = read_field(row, source.text_column)
    if columns.question_column is None and columns.answer_column is None:
        if source.text_column is None:
            fault = "null, and the set has no answers"
            raise SpeechIQError("metadata.text_column", fault, "name the column of transcripts")
        check_reference(clip["text"], plan.normalizer)
    if ENTITIES in row:
        clip |= read_entity_fields(row[ENTITIES])
    if plan.choice.groups:
        clip[GROUPS] = read_groups(plan.choice.groups, row, repairs)
    if plan.passages:
        clip |= {item: row[item] for item in (GROUPS, QUESTIONS)}
    if plan.choice.clusters:
        dataset, _, name = key.partition("/")
        clip[CLUSTER] = f"{dataset}/{plan.choice.clusters.find(name, row)}"
    return clip


def _measure(rows: Rows, i: int, clip: Mapping[str, Any], plan: LoadingPlan, repairs: Repairs) -> float:
    """Return the length by which rows are chosen: seconds, or characters of the reference, as in sets without audio."""
    source = plan.source
    is_text = source.audio_column is None and source.length_column is None
    if is_text or plan.choice.selection == "longest-text":
        if source.text_column is None:
            raise SpeechIQError(
                f"selection={plan.choice.selection}", f"{source.dataset_path} has no transcripts", "leave it out"
            )
        return len(clip["text"])
    if source.length_column:
        value = rows.columns[source.length_column][i]
        if 0 <= (seconds := read_number(value)) < math.inf:
            return seconds
        fault = f"{source.length_column} is {value!r:.80}, not a number of seconds"
        repairs.append(RowError(f"no {source.length_column}", fault, "correct the row or leave out length_column"))
    return read_length(rows.read_audio(i), clip["id"])
