"""Check one published result: its folder, digests and form, and every score, computed again from its rows."""

import json
import math
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import may_be_extreme, refuse_extremes
from speechiq.core.suggestions import suggest
from speechiq.reducer.output.published.folder import AGAIN, find_missing, folder_of_system, name_date, read_result
from speechiq.reducer.output.published.record import ENDING, LARGEST, ResultDraft, draft, unpack_rows
from speechiq.reducer.output.published.schema import FILE, ROWS, Result, TaskRecord
from speechiq.reducer.runs.results_file import IMPORTED, name_under
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.suites import ScoringOptions

#: Bytes of the largest file of a submission, and of all its rows without compression.
LARGEST_FILE, LARGEST_ROWS = 2**24, 4 * LARGEST
#: Entries of the largest folder, and seconds by which the clock of a submitter may be fast.
MOST_ENTRIES, FAST = 10_000, 86_400
#: What a name on a page or in a table never needs.
UNSAFE = re.compile("[<>`]|[^\\S ]")
#: Keys of a result that do not come from its rows.
FROM_ELSEWHERE = {"declaration", "commands", "environment", "speechiq"}
#: Columns that depend on more than published texts: what a system received, and its n-best list.
FROM_MORE = {"audio_coverage", "wer_first", "wer_oracle", "corrector_trimmed", "corrector_refused"}
#: Largest difference of two numbers that is rounding.
TOLERANCE = 1e-6
#: Characters of the longest text that is aligned again: time and memory grow with the square.
LONGEST = 50_000
Scorer = Callable[[Mapping[str, Any]], Mapping[str, float]]


class CheckedFolder(NamedTuple):
    """Hold a result and its systems by suite; its first fault, and then there may be no result and no systems."""

    folder: Path
    result: Result | None = None
    systems: Mapping[str, System] = {}
    fault: SpeechIQError | None = None

    @property
    def norms(self) -> str:
        """Return the label of the norms of SIQ; empty without them."""
        return self.result.norms.label if self.result and self.result.norms else ""

    @property
    def is_control(self) -> bool:
        """Return whether the system is a control."""
        return any(system.control for system in self.systems.values())


def check_registry(folder: Path, norms: Mapping[str, Norms]) -> CheckedFolder:
    """Check the result in a folder; `norms` has the known norms by label."""
    result = None
    try:
        files = _list_files(folder)
        result = read_result(folder)
        check_record(result)
        _check_place(folder, result)
        _check_files(result, files)
        contents = {task.task: unpack_rows(folder / ROWS / f"{task.task}{ENDING}", task.rows) for task in result.tasks}
        rows = {task: _read_strictly(content, f"rows of {task!r}") for task, content in contents.items()}
        again = _score_again(result, contents, _choose_norms(result, norms))
        compare_fields(result, again.result)
        for task in result.tasks:
            if task.rows.texts:
                _compare_texts(task, rows[task.task])
        if missing := find_missing(result.declaration):
            raise SpeechIQError("declaration", f"{' and '.join(missing)} not declared", "publish with --declare")
    except SpeechIQError as error:
        return CheckedFolder(folder, result, fault=error)
    return CheckedFolder(folder, result, again.systems)


def _list_files(folder: Path) -> set[str]:
    """Return what is below a folder; refuse links, devices and files that are too large, and follow nothing."""
    names: set[str] = set()
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            about = Path(parent, name).lstat()
            if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
                raise SpeechIQError(f"{name!r:.200}", "neither a file nor a folder, such as a link", "remove it")
            if about.st_size > LARGEST_FILE:
                raise SpeechIQError(f"{name!r:.200}", f"larger than {LARGEST_FILE} bytes", "publish fewer rows")
            names.add(Path(parent, name).relative_to(folder).as_posix())
        if len(names) > MOST_ENTRIES:
            raise SpeechIQError(f"{folder.name!r}", f"more than {MOST_ENTRIES} files", "remove what is not a result")
    return names


def check_record(result: Result) -> None:
    """Refuse a result for what its publisher can still correct, before its rows are read.

    Raises:
        SpeechIQError: A name has characters that pages do not need, something is withdrawn that is no category, or a
            task was not run as a whole.
    """
    groups = (
        name
        for suite in result.suites.values()
        for by in suite.groups.values()
        for each in by.values()
        for name in each
    )
    declared = (text for text in msgspec.structs.astuple(result.declaration) if isinstance(text, str))
    withdrawn = result.declaration.withdrawn
    for name in (result.system, *result.suites, *groups, *declared, *withdrawn, *withdrawn.values()):
        if UNSAFE.search(name) or not name.isprintable():
            raise SpeechIQError(f"name {name!r:.100}", "characters that no name needs", "write letters and digits")
    categories = {category: None for suite in result.suites.values() for category in suite.categories}
    if unknown := withdrawn.keys() - categories.keys():
        fix = suggest(min(unknown), categories)
        raise SpeechIQError(f"withdrawn {min(unknown)!r:.100}", "not a category of the result", fix)
    for task in result.tasks:
        count = task.rows.count
        if task.docs != (count, count):
            ran = "an unknown number of" if task.docs is None else "{} of {}".format(*task.docs)
            fault = f"{count} rows, and {ran} docs were run"
            raise SpeechIQError(f"task {task.task!r}", fault, "publish a run of the whole task")


def _check_place(folder: Path, result: Result) -> None:
    """Raise a `SpeechIQError` if the folder has another name than that of the system and date, or no date yet."""
    place, expected = (folder.parent.name, folder.name), (folder_of_system(result.system), name_date(result.date))
    if place != expected:
        raise SpeechIQError(
            f"folder {'/'.join(place)!r:.200}", "not that of its system and date", f"name it {'/'.join(expected)}"
        )
    if datetime.fromisoformat(result.date).timestamp() > time.time() + FAST:
        raise SpeechIQError(f"date {result.date}", "in the future", AGAIN)


def _check_files(result: Result, present: set[str]) -> None:
    """Raise a `SpeechIQError` if the folder does not have the rows of each task, or has other files."""
    names = [task.task for task in result.tasks]
    if not names or len(set(names)) < len(names):
        raise SpeechIQError("tasks", "two have the same name" if names else "there are none", AGAIN)
    if sum(task.rows.bytes for task in result.tasks) > LARGEST_ROWS:
        raise SpeechIQError("rows", f"more than {LARGEST_ROWS} bytes", "publish fewer rows")
    expected = {FILE, ROWS, *(f"{ROWS}/{name}{ENDING}" for name in names)}
    for name in sorted(expected ^ present):
        fault = "missing" if name in expected else "not a part of a result"
        raise SpeechIQError(f"file {name!r:.200}", fault, AGAIN)


def _choose_norms(result: Result, norms: Mapping[str, Norms]) -> Norms | None:
    if (named := result.norms) is None:
        return None
    if (known := norms.get(named.label)) is None:
        raise SpeechIQError(f"norms {named.label!r}", "not known here", "add their file to the folder norms")
    if known.sha256 != named.sha256:
        raise SpeechIQError(f"norms {named.label!r}", "another sha256 than the known norms", AGAIN)
    return known


def _score_again(result: Result, contents: Mapping[str, bytes], norms: Norms | None) -> ResultDraft:
    """Score the rows again; raise a `SpeechIQError` if they cannot be scored, or are those of several systems."""
    with tempfile.TemporaryDirectory() as temporary:
        restore(result, contents, Path(temporary))
        try:
            found = suites.find_suites([Path(temporary)], False, ScoringOptions(norms=norms))
            again, *others = draft(found, norms, {}, texts=any(task.rows.texts for task in result.tasks))
        except SpeechIQError as error:
            raise SpeechIQError("scores", str(error).replace(f"{temporary}{os.sep}", "")) from error
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise SpeechIQError("scores", f"cannot be computed ({error!r:.200})", AGAIN) from error
    if others:
        raise SpeechIQError("tasks", "runs of several systems or conditions", "publish each by itself")
    return again


def compare_fields(result: Result, again: Result) -> None:
    """Raise a `SpeechIQError` for the first field of a result that is not what its rows give again."""
    recorded, computed = (dict(_flatten(msgspec.to_builtins(each))) for each in (result, again))
    for key in sorted(recorded.keys() | computed.keys()):
        if key.split(".")[0] not in FROM_ELSEWHERE and not _is_close(recorded.get(key), computed.get(key)):
            there, here = (f"{each.get(key, 'missing')!r:.100}" for each in (recorded, computed))
            raise SpeechIQError(key[:200], f"{there}, and its rows give {here}", AGAIN)


def _flatten(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not parts:
        yield place, value
    for key, part in parts:
        yield from _flatten(part, f"{place}.{key}" if place else str(key))


def restore(result: Result, rows: Mapping[str, bytes], folder: Path) -> None:
    """Write a results file and a sample file per task into an empty folder.

    Args:
        result: A result.
        rows: Task -> its rows, as `unpack_rows` returns them.
        folder: The folder; names in a result lead nowhere else, since those of tasks are plain.
    """
    for number, task in enumerate(result.tasks):
        stamp = f"2000-01-01T00-00-{number:06d}"
        content = json.dumps(_results_of(result, task))
        folder.joinpath(f"results_{stamp}.json").write_text(content, encoding="utf-8")
        folder.joinpath(f"samples_{task.task}_{stamp}.jsonl").write_bytes(rows[task.task])


def _read_strictly(rows: bytes, where: str) -> list[dict[str, object]]:
    """Return rows that are standard JSON, an object per line.

    Raises:
        SpeechIQError: A line is not one: NaN, bytes that are not UTF-8, or values nested too deeply.
    """
    decoder = msgspec.json.Decoder(dict[str, object])
    decoded = []
    for number, line in enumerate(rows.splitlines(), 1):
        try:
            decoded.append(decoder.decode(line))
            if may_be_extreme(line):
                refuse_extremes(decoded[-1])
        except (ValueError, RecursionError) as error:
            raise SpeechIQError(f"{where} line {number}", f"not standard JSON ({error})", AGAIN) from error
    return decoded


def _results_of(result: Result, task: TaskRecord) -> dict[str, object]:
    """Return the content of the results file of one task."""
    ran, total = task.docs or (None, None)
    suffix = name_under("", task.metadata)
    return {
        "date": task.date,
        "configs": {task.task: {"metadata": task.metadata}},
        "config": {"siq": {"pretrained": result.system.removesuffix(suffix), "system": result.description}},
        "lm_eval_version": task.versions.get("lm-eval"),
        "transformers_version": task.versions.get("transformers"),
        "n-samples": {task.task: {"effective": ran, "original": total}},
        "higher_is_better": {task.task: {column: sign > 0 for column, sign in task.signs.items()}},
    }


def _compare_texts(task: TaskRecord, rows: Sequence[Mapping[str, Any]]) -> None:
    """Raise a `SpeechIQError` for the first difference between the texts of rows and their numbers and digest.

    The numbers are those of the levels of SIQ; of Understand, the similarities that the embedder returned.
    """
    from speechiq.siq_tasks.loaders.content import digest_content, digest_doc, join_digests

    try:
        docs = [row["doc"] for row in rows]
        digest = join_digests(map(digest_doc, docs)) if IMPORTED in task.metadata else digest_content(docs)
        if digest != task.metadata["content_sha256"]:
            raise SpeechIQError(f"task {task.task!r}", "its docs have another content_sha256 than recorded", AGAIN)
        scorer = _find_scorer(task)
        for row in rows:
            if scorer and max(map(len, (row["doc"]["text"], str(row["resps"])))) <= LONGEST:
                _compare_row(f"task {task.task!r}", row, scorer(row))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise SpeechIQError(f"task {task.task!r}", f"its texts cannot be scored ({error!r:.200})", AGAIN) from error


def _is_close(recorded: Any, computed: Any) -> bool:
    """Return whether two values are equal, numbers up to the rounding of other machines."""
    if isinstance(recorded, float) and isinstance(computed, float):
        return math.isclose(recorded, computed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(recorded == computed)


def _find_scorer(task: TaskRecord) -> Scorer | None:
    """Return the function that scores a row of a level of SIQ from its raw answers; None for tasks of other suites."""
    from speechiq.metrics import choice, similarity
    from speechiq.metrics.words import wer

    scorers: dict[object, Scorer] = {
        "remember": lambda row: wer.score(row["doc"], row["resps"][0]),
        # lm-eval writes the similarities as texts.
        "understand": lambda row: similarity.score(row["doc"], [[*map(float, row["filtered_resps"][0])]]),
        "apply": lambda row: choice.score(row["doc"], [_count_votes(row)]),
    }
    return scorers.get(task.metadata.get("category")) if task.metadata.get("suite") == SIQ else None


def _count_votes(row: Mapping[str, Any]) -> list[Any]:
    """Return the vote on the answers of a row, with the letters that a reader read when it was run."""
    from speechiq.metrics import choice

    _, _, *readings = row["filtered_resps"][0]
    return choice.count_votes(row["resps"][0], row["doc"], readings[1] if readings else None)


def _compare_row(where: str, row: Mapping[str, Any], scores: Mapping[str, float]) -> None:
    for column in scores.keys() - FROM_MORE:
        recorded, value = row.get(column), scores[column]
        if not _is_close(recorded, None if math.isnan(value) else value):
            item = row["doc"].get("question_id") or row["doc"]["id"]
            fault = f"{column} is {recorded!r}, and its texts give {value:g}"
            raise SpeechIQError(f"{where}, {item!r:.100}", fault, AGAIN)
