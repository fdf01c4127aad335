"""Identify a system: what `hf-audio` recorded of it, in the words of the paper's leaderboard."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from speechiq.reducer.runs.results_file import IMPORTED
from speechiq.reducer.runs.systems import System
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.stats.grid import Cell, Grid

LONGEST_LABEL = 34
#: Key of a row's control (`gold`, `silence`, ...), by which pages put the row into a body of its own.
APART = "apart"
ENCODERS_OF_CONTROLS = {"gold": "none (reads the reference)", "silence": "none (no audio)"}


def show_kind(system: System) -> str:
    """Return the kind of a system (`System.kind`) as pages show it; `Imported` for other programs' outputs without one.

    >>> show_kind(System("unknown"))
    ''
    """
    unknown = "Imported" if system.described.get("kind") == IMPORTED else ""
    return system.kind.capitalize() or unknown


def name_encoder(system: System) -> str:
    """Return the model that processes the audio, as the newest run describes it; empty if it does not.

    Any part of the description may be missing or of another shape.
    """
    described = system.described
    if system.control:
        return ENCODERS_OF_CONTROLS.get(system.control, "none")
    if asr := _part(described, "asr"):
        return _text(asr, "model") or _from_file(asr)
    if described.get("kind") == IMPORTED:
        return ""
    return _text(described, "audio_encoder") or _text(described, "model")


def _without_owner(stage: str) -> str:
    return stage.rpartition("/")[2] or stage


def short_names(names: Sequence[str]) -> list[str]:
    """Return short names of systems; different names stay different.

    Hub owners, and the last stage if all cascades share it, are left out. Long names lose what all of them share, then
    the middle of their longest stages; those that would be equal then show the part in which they differ.

    >>> short_names(["openai/whisper-base+Qwen/Qwen2-7B", "gold+Qwen/Qwen2-7B", "letter:B"])
    ['whisper-base', 'gold', 'letter:B']
    >>> short_names(["a/same", "b/same"])
    ['a/same', 'b/same']
    """
    stages = [[*map(_without_owner, name.split("+"))] for name in names]
    last = [parts[-1] for parts in stages if len(parts) > 1]
    end = -1 if len(last) > 1 and len(set(last)) == 1 else None
    bare = _keep_apart(names, ["+".join(parts[:end] or parts) for parts in stages])
    long = [name for name in dict.fromkeys(bare) if len(name) > LONGEST_LABEL]
    shorter = dict(zip(long, _drop_shared(long), strict=True))
    fitted = [_fit(shorter.get(name, name)) for name in bare]
    alike: dict[str, list[str]] = {}
    for name, short in zip(bare, fitted, strict=True):
        alike.setdefault(short, []).append(name)
    return _keep_apart(
        names, [_show_difference(name, alike[short]) or short for name, short in zip(bare, fitted, strict=True)]
    )


def _keep_apart(names: Sequence[str], shortened: Sequence[str]) -> list[str]:
    """Return the shortened names, and the full name in place of each that several have."""
    kept = list(shortened)
    for _ in names:
        count = Counter(kept)
        kept = [name if count[short] > 1 else short for name, short in zip(names, kept, strict=True)]
    return kept


def _drop_shared(names: Sequence[str]) -> list[str]:
    """Return names with an ellipsis in place of what each stage shares with that of all others, but its first word.

    >>> _drop_shared(["whisper-large-v3-part-1-of-9+Llama-1B-chat", "whisper-large-v3-part-2-of-9+Llama-3B-chat"])
    ['whisper-…1…+Llama-1B…', 'whisper-…2…+Llama-3B…']
    """
    stages = [name.split("+") for name in names]
    if len({len(parts) for parts in stages}) != 1:
        return list(names)
    return ["+".join(parts) for parts in zip(*map(_drop_ends, zip(*stages, strict=True)), strict=True)]


def _drop_ends(texts: Sequence[str]) -> list[str]:
    """Return texts without the words with which all begin or end; the first word stays."""
    start = len("".join(re.findall(r"[^-_.]*[-_.]", texts[0][: _count_shared(texts)])))
    backwards = [text[start:][::-1] for text in texts]
    end = len("".join(re.findall(r"[^-_.]*[-_.]", backwards[0][: _count_shared(backwards)])))
    first = (re.match(r"[^-_.]*[-_.]", texts[0][:start]) or [""])[0]
    if min(map(len, texts)) <= start + end or len(set(texts)) == 1:
        return list(texts)
    head = f"{first}…" if start > len(first) else first
    tail = "…" if end else ""
    return [f"{head}{text[start : len(text) - end]}{tail}" for text in texts]


def _count_shared(texts: Sequence[str]) -> int:
    """Return the number of characters with which all texts begin."""
    columns = enumerate(zip(*texts, strict=False))
    return next((place for place, letters in columns if len(set(letters)) > 1), min(map(len, texts)))


def _fit(name: str) -> str:
    """Return a name that fits a chart: the longest stages lose their middle.

    >>> _fit("demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct")
    'whisper-tiny.en+SmolLM2-…-Instruct'
    """
    if len(name) <= LONGEST_LABEL:
        return name
    parts = [part.rpartition(":")[2] or part for part in name.split("+")]
    room = LONGEST_LABEL - len(parts) + 1
    most = max(room, 3)
    while most > 3 and sum(min(len(part), most) for part in parts) > room:
        most -= 1
    return "+".join(
        part if len(part) <= most else f"{part[: (most - 1) // 2]}…{part[-(most // 2) :]}" for part in parts
    )


def _show_difference(name: str, alike: Sequence[str]) -> str:
    """Return the ends of a name and what follows the start that it shares with others; empty without others.

    >>> names = ["long-long-long-base-end-end-end", "long-long-long-tiny-end-end-end"]
    >>> [_show_difference(name, names) for name in names]
    ['long-long-…base-end-e…nd-end-end', 'long-long-…tiny-end-e…nd-end-end']
    """
    if len(alike) < 2:
        return ""
    start, third = _count_shared(alike), (LONGEST_LABEL - 2) // 3
    return f"{name[:third]}…{name[start : start + third]}…{name[-third:]}"


def _part(described: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = described.get(key)
    return part if isinstance(part, Mapping) else {}


def _text(part: Mapping[str, Any], key: str) -> str:
    return part[key] if isinstance(part.get(key), str) else ""


def _from_file(asr: Mapping[str, Any]) -> str:
    return f"transcripts of {_text(asr, 'transcripts')}" if _text(asr, "transcripts") else ""


def mark_control(scoreboard: Scoreboard, row: int) -> dict[str, Cell]:
    """Return the cell that sets the row of a control apart; none for a system, or if there are only controls."""
    control = scoreboard.systems[row].control
    return {APART: control} if control and row not in scoreboard.listening else {}


def set_apart(grid: Grid, scoreboard: Scoreboard) -> Grid:
    """Return the grid of a scoreboard with the rows of controls set apart."""
    marks = [mark_control(scoreboard, row) for row in scoreboard.order]
    return grid._replace(rows=[{**cells, **mark} for cells, mark in zip(grid.rows, marks, strict=True)])
