"""Shows scores: a table for the terminal, JSON with every digit, CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Container, Iterable, Sized
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from speechiq.core.files import write_whole
from speechiq.reducer.conditions import ASPECTS, summarise
from speechiq.reducer.flags import Flags
from speechiq.reducer.frozen import shorten
from speechiq.reducer.interval import CONFIDENCE, Interval
from speechiq.reducer.levels import LEVELS, per_cent
from speechiq.reducer.ranking import NO_CONTEXT, Context
from speechiq.reducer.siq import Scores

MEND = "name a file in a folder that exists and is yours"
FLAGS = {
    "unparsed": ("No letter", "answers without a letter"),
    "none_of_the_above": ("(E)", "questions answered with (E)"),
    "not_heard_in_full": ("Cut", "clips not heard in full"),
    "loops": ("Loops", "transcripts that go in circles"),
}
UNKNOWN = "\N{EM DASH}"
MISMATCH = "\N{NOT EQUAL TO}"


def as_table(scores: Scores, context: Context = NO_CONTEXT) -> Table:
    """The ranking as people read it: raw scores in per cent over Z in standard deviations, SIQ over its 95 % interval.

    The Remember column is the word error rate, so there less is better. A flag has a column unless all systems have 0,
    or no run recorded it; the caption tells those. Names are plain text, never markup.
    """
    rows = _rows(scores, context)
    clear = {flag for flag in FLAGS if all(row["flags"][flag] == 0 for row in rows)}
    unknown = {flag for flag in FLAGS if all(row["flags"][flag] is None for row in rows)}
    shown = [flag for flag in FLAGS if flag not in clear | unknown]
    table = Table(
        title="Speech IQ",
        caption=Text("\n".join(_caption(scores, context, shown, clear, unknown))),
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
    )
    table.add_column("Rank", justify="right", no_wrap=True)
    table.add_column("System", overflow="fold")
    for level in scores.levels:
        table.add_column(f"{level.title()}\n{LEVELS[level].unit}\nZ", justify="right", no_wrap=True)
    table.add_column("SIQ" + "\n95 % interval" * bool(context.bootstrap), justify="right", no_wrap=True, style="bold")
    for flag in shown:
        table.add_column(f"{FLAGS[flag][0]}\n%", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row["rank"]),
            Text("\n".join([row["system"], *[f"control: {row['control']}"] * bool(row["control"])])),
            *(f"{per_cent(level, of['raw']):z.2f}\n{of['z']:+z.2f}" for level, of in row["levels"].items()),
            "\n".join(_siq(row)),
            *(show_share(row["flags"][flag]) for flag in shown),
        )
    return table


def show_share(share: float | None) -> str:
    """A flag's cell, in per cent.

    >>> show_share(0.125), show_share(None)
    ('12.5', '—')
    """
    return UNKNOWN if share is None else f"{100 * share:.1f}"


def as_json(scores: Scores, context: Context = NO_CONTEXT) -> dict[str, Any]:
    """The ranking as plain data, unrounded, best system first; what is not known is None.

    Returns:
        `weights` (level -> w), `rule`, `clips` (level -> how many), `chance` (level -> raw score of guessing), `norms`
        (`name`, `sha256`, `systems`, `match`: aspect -> whether all systems match), `mismatches`, `excluded` (how many
        questions were left out of Apply), `excluded_set` (sha256 of their set), `bootstrap` (`draws`, `left_out`,
        `seed`, `confidence`, `caution`: what marks few clips), `leave_one_out` (who leaves -> system -> shift of its
        SIQ), and `systems`, each with `system`, `siq`, `siq_interval`, `siq_std`, `rank`, `rank_probabilities`,
        `control`, `flags`, `mismatches` and `levels` (level -> `raw`, `weighted`, `z`, `raw_interval`, `z_interval`).
        `raw` grows with ability: Remember's is -WER.
    """
    norms, bootstrap, shifts = context.norms, context.bootstrap, context.shifts
    mismatched = {of.aspect for of in context.mismatches}
    return {
        "weights": {level: of.weight for level, of in scores.scale.levels.items()},
        "rule": scores.scale.rule,
        "clips": {level: len(of.discrimination) for level, of in scores.scale.levels.items()},
        "chance": {level: of.chance for level, of in LEVELS.items() if of.chance is not None},
        "norms": norms
        and {
            "name": norms.name,
            "sha256": norms.sha256,
            "systems": norms.systems,
            "match": {aspect: aspect not in mismatched for aspect in ASPECTS},
        },
        "mismatches": [of.text for of in context.mismatches],
        "excluded": context.excluded,
        "excluded_set": context.excluded_set,
        "bootstrap": bootstrap
        and {
            "draws": bootstrap.draws,
            "left_out": bootstrap.left_out,
            "seed": bootstrap.seed,
            "confidence": CONFIDENCE,
            "caution": bootstrap.caution,
        },
        "leave_one_out": None if shifts is None else _name_shifts(scores.systems, shifts),
        "systems": _rows(scores, context),
    }


def as_csv(scores: Scores, context: Context = NO_CONTEXT) -> str:
    """The ranking as CSV, one row per system, unrounded; columns `<level>_raw` and so on. What is not known is empty.

    A text that a spreadsheet would take for a formula gets a quote in front.
    """
    rows = [_flatten(row) for row in _rows(scores, context)]
    common = {
        "interval_caution": (context.bootstrap and context.bootstrap.caution) or "",
        "excluded_set": shorten(context.excluded_set or ""),
        "norms": context.norms.title if context.norms else "",
    }
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0], *common], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = row | common
        writer.writerow({key: without_formula(cell) if isinstance(cell, str) else cell for key, cell in cells.items()})
    return text.getvalue()


def without_formula(name: str) -> str:
    """A name that no spreadsheet computes.

    >>> without_formula("=1+1"), without_formula("openai/whisper-base")
    ("'=1+1", 'openai/whisper-base')
    """
    return "'" * name.lstrip().startswith(("=", "+", "-", "@")) + name


def as_json_text(scores: Scores, context: Context = NO_CONTEXT) -> str:
    """`as_json` as the content of a file."""
    return json.dumps(as_json(scores, context), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(scores: Scores, path: Path, context: Context = NO_CONTEXT) -> None:
    """Writes `as_json` to a file, whole or not at all."""
    write_whole(path, as_json_text(scores, context).encode(), MEND)


def write_csv(scores: Scores, path: Path, context: Context = NO_CONTEXT) -> None:
    """Writes `as_csv` to a file, whole or not at all."""
    write_whole(path, as_csv(scores, context).encode(), MEND)


def _rows(scores: Scores, context: Context) -> list[dict[str, Any]]:
    """One dict per system, by rank and then by name."""
    bootstrap = context.bootstrap
    about = {system.name: system for system in context.systems}
    rows = []
    for j in np.lexsort((np.array(scores.systems), scores.ranks)):
        name = scores.systems[j]
        system = about.get(name)
        rows.append(
            {
                "system": name,
                "siq": float(scores.siq[j]),
                "siq_interval": bootstrap and _interval(bootstrap.siq, j),
                "siq_std": bootstrap and float(bootstrap.siq_std[j]),
                "rank": int(scores.ranks[j]),
                "rank_probabilities": bootstrap and bootstrap.ranks[j].tolist(),
                "control": system and (system.control or None),
                "flags": (system.flags if system else Flags())._asdict(),
                "mismatches": [of.text for of in context.mismatches if of.system == name],
                "levels": {
                    level: {part: float(values[j]) for part, values in of._asdict().items()}
                    | {
                        "raw_interval": bootstrap and _interval(bootstrap.raw[level], j),
                        "z_interval": bootstrap and _interval(bootstrap.z[level], j),
                    }
                    for level, of in scores.levels.items()
                },
            }
        )
    return rows


def _flatten(row: dict[str, Any]) -> dict[str, Any]:
    cells = {"rank": row["rank"], "system": row["system"], "siq": row["siq"]}
    for level, of in row["levels"].items():
        cells |= {f"{level}_{part}": of[part] for part in ("raw", "weighted", "z")}
    intervals = {"siq": row["siq_interval"]} | {
        f"{level}_{part}": of[f"{part}_interval"] for level, of in row["levels"].items() for part in ("raw", "z")
    }
    for name, interval in intervals.items():
        cells |= dict(zip((f"{name}_low", f"{name}_high"), interval or (None, None), strict=True))
    cells |= {"siq_std": row["siq_std"], "control": row["control"]} | row["flags"]
    return cells | {"mismatches": "; ".join(row["mismatches"])}


def _siq(row: dict[str, Any]) -> Iterable[str]:
    yield f"{row['siq']:.2f}" + f" {MISMATCH}" * bool(row["mismatches"])
    if row["siq_interval"]:
        yield "{:.1f} to {:.1f}".format(*row["siq_interval"])


def _caption(
    scores: Scores, context: Context, shown: Iterable[str], clear: Container[str], unknown: Container[str]
) -> Iterable[str]:
    weights = ", ".join(f"{level.title()} {of.weight:.3f}" for level, of in scores.scale.levels.items())
    yield f"{_count(scores.systems, 'system')}; level weights ({scores.scale.rule}): {weights}"
    if norms := context.norms:
        yield f"on the scale of norms {norms.title} of {_count(norms.systems, 'system')}: {_match(context)}"
    if context.mismatches:
        yield f"{MISMATCH} not asked the same, scored on what is shared: {summarise(context.mismatches)}"
    if context.excluded:
        which = shorten(context.excluded_set or "")
        yield f"left out of Apply: {context.excluded} questions of the unanswerable set {which}".rstrip()
    if context.bootstrap:
        yield f"intervals from {context.bootstrap.draws} draws of clips, seed {context.bootstrap.seed}"
        yield from filter(None, [context.bootstrap.caution])
    for level, of in LEVELS.items():
        if of.chance is not None:
            yield f"{level.title()} by chance: {per_cent(level, of.chance):.0f} %"
    for flag in shown:
        yield f"{FLAGS[flag][0]}: {FLAGS[flag][1]}"
    if context.systems:
        for flags, words in ((clear, "none"), (unknown, "not recorded")):
            if named := [meaning for flag, (_, meaning) in FLAGS.items() if flag in flags]:
                yield f"{words}: {', '.join(named)}"


def _match(context: Context) -> str:
    differ = {of.aspect for of in context.mismatches}
    parts = {"match": [of for of in ASPECTS if of not in differ], "DIFFER": [of for of in ASPECTS if of in differ]}
    return "; ".join(f"{', '.join(aspects)} {word}" for word, aspects in parts.items() if aspects)


def _interval(interval: Interval, j: int) -> list[float]:
    return [float(interval.low[j]), float(interval.high[j])]


def _name_shifts(systems: tuple[str, ...], shifts: np.ndarray) -> dict[str, dict[str, float | None]]:
    return {
        left: {name: float(shift) if np.isfinite(shift) else None for name, shift in zip(systems, row, strict=True)}
        for left, row in zip(systems, shifts, strict=True)
    }


def _count(things: Sized, noun: str) -> str:
    return f"{len(things)} {noun}{'s' * (len(things) != 1)}"
