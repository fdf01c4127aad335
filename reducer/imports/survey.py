"""Read outputs once before they are scored: count them, and refuse rows that contradict each other.

Of each row only two numbers of 8 bytes are kept: the digest of its name, and that of its content.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from speechiq.core.console import count_of, list_some, printable
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.metrics.words.normalizer import refuse_lost_marks
from speechiq.metrics.words.units import refuse_unspaced, warn_other_language
from speechiq.reducer.imports.items import (
    NO_SCORE,
    WORDS,
    ImportSettings,
    OutputItem,
    is_of_apply,
    list_kinds,
    make_item,
)
from speechiq.reducer.imports.rows import OutputRow
from speechiq.siq_tasks.loaders.content import describe_content
from speechiq.siq_tasks.loaders.odd_rows import OddRows

#: References by which a language is checked, and ids that a warning names as examples.
CHECKED, MOST_EXAMPLES = 1000, 3
#: Systems that warnings name one by one.
MOST_NAMED = 5


class Key(NamedTuple):
    """Name what becomes one task of one system."""

    system: str
    dataset: str
    kind: str


@dataclass
class Outputs:
    """Count the rows of one system, data set and kind.

    Attributes:
        clips: Digest of the clip of each item.
        names: Digest of the name of each item.
        contents: Digest of the content of each doc, in the same order.
        repeated: Digest of the name -> that of the output, for transcripts that stand beside several questions.
        majority: Right letter -> number of questions.
        is_apply: Whether each question can be one of the level Apply.
    """

    key: Key
    category: str | None
    odd: OddRows
    clips: array[int] = field(default_factory=lambda: array("Q"))
    names: array[int] = field(default_factory=lambda: array("Q"))
    contents: array[int] = field(default_factory=lambda: array("Q"))
    repeated: dict[int, int] = field(default_factory=dict)
    majority: Counter[str] = field(default_factory=Counter)
    is_apply: bool = True

    @property
    def has_no_score(self) -> bool:
        """Tell whether each row wants the score of a judge and has none."""
        return not self.names and [*self.odd.left_out] == [NO_SCORE]

    def add(self, item: OutputItem, *, is_shared: bool) -> None:
        """Count an item; `is_shared` says that its transcript stands beside a question, and may do so several times."""
        name = digest(*item.name)
        if is_shared:
            output = digest(item.output)
            if self.repeated.get(name) == output:
                return
            self.repeated[name] = output
        self.clips.append(digest(item.doc["id"]))
        self.names.append(name)
        self.contents.append(digest(describe_content(item.doc)))
        if "gold" in item.doc:
            self.majority[item.doc["gold"][0]] += 1
            self.is_apply &= is_of_apply(item.doc)


@dataclass
class Survey:
    """Hold what a first reading of outputs found."""

    settings: ImportSettings
    outputs: dict[Key, Outputs] = field(default_factory=dict)
    files: dict[str, set[Path]] = field(default_factory=dict)
    rows: int = 0
    warnings: list[str] = field(default_factory=list)

    def count_clips(self) -> int:
        """Count the different clips of all systems."""
        return int(np.unique(np.concatenate([_as_numbers(each.clips) for each in self.outputs.values()])).size)

    def group(self) -> list[list[Outputs]]:
        """Return the outputs of all systems for each data set and kind."""
        groups: dict[tuple[str, str], list[Outputs]] = {}
        for key, each in self.outputs.items():
            groups.setdefault((key.dataset, key.kind), []).append(each)
        return list(groups.values())


def digest(*texts: str) -> int:
    """Return a number of 8 bytes for texts."""
    return int.from_bytes(blake2b("\0".join(texts).encode(errors="replace"), digest_size=8).digest(), "big")


def _as_numbers(digests: array[int]) -> np.ndarray:
    return np.frombuffer(digests, np.uint64)


def survey(settings: ImportSettings) -> Survey:
    """Read all rows once, and refuse what contradicts itself, before anything is scored."""
    found = Survey(settings)
    named: set[str] = set()
    groups: set[str] = set()
    references: dict[str, list[str]] = {}
    for row in settings.form.read(settings.paths):
        found.rows += 1
        named.add(row.system)
        groups.update(row.groups)
        _count_row(found, row, references)
    if not found.rows:
        raise SpeechIQError(", ".join(map(str, settings.paths)), "no rows", "give files with outputs")
    if settings.system is not None and len(named - {""}) > 1:
        shown = list_some(sorted(named - {""}))
        raise SpeechIQError(
            f"--system {settings.system}", f"the rows name {len(named - {''})} systems ({shown})", "leave it out"
        )
    for name in settings.group_by:
        if name not in groups:
            has = ", ".join(sorted(groups)) or "none"
            raise SpeechIQError(f"--group-by {name}", "no row has it", f"the groups of these rows are {has}")
    _leave_out_unscored(found)
    for each in found.outputs.values():
        each.odd.check()
        _refuse_twice(found, each)
    _refuse_contradictions(found)
    for texts in references.values():
        _check_language(texts, settings)
    found.warnings += _compare_ids(found)
    return found


def name_system(row: OutputRow, settings: ImportSettings) -> str:
    """Return the name of the system of a row: as the user, the row or the file says."""
    name = settings.system or row.system.strip() or (find_file(row, settings.paths) or settings.paths[0]).stem
    if not name.isprintable():
        raise SpeechIQError(row.where, f"system {printable(name)!r:.80} does not print", "rename it")
    return name


def find_file(row: OutputRow, paths: Iterable[Path]) -> Path | None:
    """Return the file of a row, or the folder that has it, by the place that the row names."""
    where = row.where.lstrip("'\"")
    return max((path for path in paths if where.startswith(str(path))), key=lambda path: len(str(path)), default=None)


def find_key(row: OutputRow, kind: str, settings: ImportSettings) -> Key:
    """Return the key of a row for one kind."""
    return Key(name_system(row, settings), settings.name_dataset(row), kind)


def _count_row(found: Survey, row: OutputRow, references: dict[str, list[str]]) -> None:
    settings, kinds = found.settings, list_kinds(row)
    for kind in kinds:
        key = find_key(row, kind, settings)
        if key not in found.outputs:
            source = f"{key.kind} of {key.system!r}, data set {key.dataset!r}"
            odd = OddRows(source, advice="correct the rows, or leave them out of the file")
            category = key.dataset if row.category else None
            found.outputs[key] = Outputs(key, category, odd)
        each = found.outputs[key]
        each.odd.rows += 1
        if file := find_file(row, settings.paths):
            found.files.setdefault(key.system, set()).add(file)
        with each.odd.reading(row.where, row.clip) as repairs:
            item = make_item(row, kind, key.dataset, settings, repairs)
            each.add(item, is_shared=kind == WORDS and len(kinds) > 1)
            sample = references.setdefault(key.dataset, [])
            if kind == WORDS and len(sample) < CHECKED:
                sample.append(item.doc["text"])


def _leave_out_unscored(found: Survey) -> None:
    """Leave out, with a warning each, the data sets of which no row has a score, unless these are all data sets."""
    datasets: dict[str, list[Outputs]] = {}
    for key, each in found.outputs.items():
        datasets.setdefault(key.dataset, []).append(each)
    unscored = {name: same for name, same in datasets.items() if all(each.has_no_score for each in same)}
    if len(unscored) == len(datasets):
        return
    for name, same in unscored.items():
        rows = count_of(sum(each.odd.rows for each in same), "row")
        found.warnings.append(f"data set {name!r} is left out: none of its {rows} has a score")
        for each in same:
            del found.outputs[each.key]


def _refuse_twice(found: Survey, each: Outputs) -> None:
    """Refuse an item that a system has twice, and name both places."""
    names, counts = np.unique(_as_numbers(each.names), return_counts=True)
    for name in names[counts > 1].tolist():
        places = list(_locate(found, each.key, name))
        first = places[0]
        later = (place for place in places[1:] if place[1].name == first[1].name)
        second = next((place for place in later if not each.repeated or place[1].output != first[1].output), None)
        if second:
            clip, question = first[1].name
            shown = f"clip {clip!r}" + (f", question {question!r}" if question not in ("", clip) else "")
            fault = f"{shown} of system {each.key.system!r} is in {first[0].where} already"
            fix = "leave one of the two out; different clips need different ids, in a table by a column id"
            more = ", and several questions about a clip need a column question_id" if question else ""
            raise SpeechIQError(second[0].where, fault, fix + more)


def _refuse_contradictions(found: Survey) -> None:
    """Refuse an item that has another reference, question or right answer for another system, and name both places."""
    for same in found.group():
        names = np.concatenate([_as_numbers(each.names) for each in same])
        contents = np.concatenate([_as_numbers(each.contents) for each in same])
        order = np.lexsort((contents, names))
        names, contents = names[order], contents[order]
        differ = (names[1:] == names[:-1]) & (contents[1:] != contents[:-1])
        for name in names[1:][differ].tolist():
            _refuse_contradiction(found, same[0].key, name)


def _refuse_contradiction(found: Survey, key: Key, name: int) -> None:
    first: tuple[OutputRow, OutputItem] | None = None
    for row, item in _locate(found, key._replace(system=""), name):
        first = first or (row, item)
        here, there = (describe_content(each.doc) for each in (item, first[1]))
        if item.name == first[1].name and here != there:
            part = next(part for part in item.doc if item.doc[part] != first[1].doc.get(part))
            part_name = "reference" if part == "text" else part
            raise SpeechIQError(
                row.where,
                f"the {part_name} of {row.clip!r:.80} is {item.doc[part]!r:.60}, and in {first[0].where} "
                f"{first[1].doc.get(part)!r:.60}",
                "correct one of the two, or name data sets that differ with --dataset",
            )


def _locate(found: Survey, key: Key, name: int) -> Iterator[tuple[OutputRow, OutputItem]]:
    """Read all rows again, and yield those with the digest of a name; an empty system is any."""
    for row, other, item in read_items(found.settings):
        if key in (other, other._replace(system="")) and digest(*item.name) == name:
            yield row, item


def read_items(settings: ImportSettings) -> Iterator[tuple[OutputRow, Key, OutputItem]]:
    """Yield each row that can be scored, with the key of each of its kinds and the item."""
    for row in settings.form.read(settings.paths):
        for kind in list_kinds(row):
            key = find_key(row, kind, settings)
            try:
                item = make_item(row, kind, key.dataset, settings, [])
            except RowError:
                continue
            yield row, key, item


def _check_language(texts: list[str], settings: ImportSettings) -> None:
    """Refuse references that the rules of the language cannot score, by the first ones."""
    refuse_unspaced([{"text": text, **settings.words} for text in texts], "--language")
    refuse_lost_marks(texts, settings.words["normalizer"])
    if settings.language:
        warn_other_language(texts, settings.language)


def _compare_ids(found: Survey) -> Iterator[str]:
    """Yield a warning per system that misses items that other systems have, with a few of their names."""
    missing: dict[Key, set[int]] = {}
    totals: dict[Key, int] = {}
    for same in found.group():
        every = np.unique(np.concatenate([_as_numbers(each.names) for each in same]))
        for each in same:
            missed = np.setdiff1d(every, _as_numbers(each.names))
            if missed.size:
                missing[each.key], totals[each.key] = set(missed.tolist()), every.size
    yield from _describe_missing(missing, totals, _find_examples(found, missing))


def _describe_missing(
    missing: Mapping[Key, set[int]], totals: Mapping[Key, int], examples: Mapping[Key, list[str]]
) -> Iterator[str]:
    for key in list(missing)[:MOST_NAMED]:
        noun = "clip" if key.kind == WORDS else "item"
        yield (
            f"system {key.system!r} has no {key.kind} output for {len(missing[key])} of "
            f"{count_of(totals[key], noun)} of {key.dataset!r} that others have, such as {', '.join(examples[key])}"
        )
    if len(missing) > MOST_NAMED:
        yield f"{count_of(len(missing) - MOST_NAMED, 'more system')} or levels lack outputs that others have"


def _find_examples(found: Survey, missing: Mapping[Key, set[int]]) -> dict[Key, list[str]]:
    examples: dict[Key, list[str]] = {key: [] for key in missing}
    open_keys = list(missing)[:MOST_NAMED]
    for row, other, item in read_items(found.settings) if missing else ():
        name = digest(*item.name)
        for key in open_keys:
            is_same = (key.dataset, key.kind) == (other.dataset, other.kind)
            shown = repr(row.question_id or row.clip)
            if is_same and name in missing[key] and len(examples[key]) < MOST_EXAMPLES and shown not in examples[key]:
                examples[key].append(shown)
        open_keys = [key for key in open_keys if len(examples[key]) < MOST_EXAMPLES]
        if not open_keys:
            break
    return examples
