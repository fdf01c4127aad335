"""Read and write labels of task success (`labels.jsonl`): whether the system behind a transcript did its task."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_lines import as_lines, read_objects
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.core.ids import complete_ids
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.runs.samples import Item, show_item

ADVICE = 'each line is {"id": CLIP, "system": NAME, "success": true or false, "by": WHO}'


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


class Labels(NamedTuple):
    """Hold the labels of one source by its name in words: (system, item) -> whether the task succeeded."""

    name: str
    success: dict[tuple[str, Item], bool]


def read_labels(path: Path, systems: Mapping[str, Collection[Item]]) -> Labels:
    """Read a file of labels; refuse one that does not fit the runs (system -> the items that it ran).

    A label may name a clip without its data set.
    """
    clips = {item[0] for items in systems.values() for item in items}
    success: dict[tuple[str, Item], bool] = {}
    lines: dict[tuple[str, Item], int] = {}
    authors: dict[str, None] = {}
    for number, where, row in read_objects(path, ADVICE):
        try:
            label = msgspec.convert(row, Label)
        except ValueError as error:
            raise SpeechIQError(where, error, ADVICE) from error
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
        raise SpeechIQError(f"{where} has no labels", fix=ADVICE)
    if len(set(success)) == 1:
        outcome = "successes" if next(iter(success)) else "failures"
        raise SpeechIQError(
            where,
            f"all labels are {outcome} ({len(success)}), so nothing can be predicted",
            "use clips or systems of which some succeed and some fail",
        )


def write_labels(labels: Iterable[Label], path: Path) -> None:
    """Write labels, complete or not at all; a field with its default is left out."""
    rows = (msgspec.to_builtins(label) for label in labels)
    write_whole(path, as_lines({key: value for key, value in row.items() if value != ""} for row in rows), OWN_FILE)
