"""Build the page from folders of runs, and write it to a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.console import count_of
from speechiq.core.files.checksummed import content_sha256
from speechiq.core.files.plain import OWN_FILE, refuse_to_overwrite, write_whole
from speechiq.reducer.report import compare, data, items, page, provenance, sets, suspects, systems
from speechiq.reducer.report.study import Study, gather, read_study, weights_by_rule
from speechiq.reducer.report.suite import SuitePage
from speechiq.reducer.report.suite import gather as gather_suite
from speechiq.reducer.runs.choice import others_than_usual
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.remarks import MEANINGS
from speechiq.reducer.scores.scoring import Options
from speechiq.reducer.scores.suites import Found
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.tables.scoreboard_table import FLAGS, TITLE, TITLE_WITHOUT

#: Sections of the page in their order: id, which names the template too -> heading.
SECTIONS = {
    "leaderboard": "Leaderboard",
    "datasets": "Data sets",
    "curve": "Scale",
    "levels": "Level profiles",
    "understanding": "Errors and understanding",
    "firmness": "Stability",
    "systems": "Systems",
    "compare": "Compare",
    "deciding": "Deciding clips",
    "suspects": "Suspect items",
    "review": "Review",
    "clips": "Clips",
    "about": "About",
}


def build(runs: Iterable[Path], **options: Any) -> str:
    """Return the report of some runs as an HTML page.

    Args:
        runs: Folders (any depth) or results files.
        **options: As for `gather`: `rule`, `norms`, `allow_mismatch`, `exclude`, `bootstrap`, `levels`.

    Raises:
        SpeechIQError: The runs cannot be read, aligned or scored.
    """
    return render(gather(runs, **options))


def compose(found: Found, options: Options, command: str = "") -> tuple[str, list[str]]:
    """Return the page of all suites in runs, and warnings: SIQ is the page if it was run, other suites are sections.

    Args:
        found: The tasks of the runs.
        options: How to score.
        command: As for `render`.

    Raises:
        SpeechIQError: The runs cannot be read or scored.
    """
    others = [gather_suite(found, suite, options) for suite in found.others]
    if SIQ not in found.levels:
        return render_suites(others, command), found.warnings
    study = read_study(found.tasks[SIQ], found.levels[SIQ], options, found.warnings)
    return render(study, command, others), [*study.warnings, *study.ranking.context.remarks.warnings()]


def render(study: Study, command: str = "", suites: Sequence[SuitePage] = ()) -> str:
    """Return the page of a study.

    Args:
        study: As `gather` returns it.
        command: The command that makes the page; "" leaves it out.
        suites: Further suites; each has a section.
    """
    shown = content(study)
    charts = shown["charts"] | _charts(suites)
    return page.render(
        "page.html.j2", **shown | {"charts": charts}, suites=suites, made=provenance.made(study, command)
    )


def render_suites(suites: Sequence[SuitePage], command: str = "") -> str:
    """Return the page of suites without SIQ.

    Args:
        suites: As `suite.gather` returns them.
        command: As for `render`.
    """
    names = ", ".join(of.suite for of in suites)
    return page.render(
        "suites.html.j2",
        page.FEW_SCRIPTS,
        title=f"{'Suite' if len(suites) == 1 else 'Suites'} {names}",
        suites=suites,
        charts=_charts(suites),
        made=provenance.made_of(
            provenance.tasks_of(system for of in suites for system in of.scoreboard.systems), command
        ),
    )


def _charts(suites: Sequence[SuitePage]) -> dict[str, Any]:
    return {id: chart for of in suites for id, chart in of.charts().items()}


def content(study: Study) -> dict[str, Any]:
    """Return the values of the template's variables."""
    rows, pool = data.standings(study), study.ranking.pool
    listening = {study.names[row] for row in study.listening}
    encoders = {
        name: identity.encoder or name
        for name, identity in zip(study.names, study.identities, strict=True)
        if not identity.control
    }
    charts, set_tables = data.charts(study, rows), sets.tables(study)
    sections = {id: title for id, title in SECTIONS.items() if _has(id, study, charts)}
    return {
        "title": TITLE if study.has_siq else TITLE_WITHOUT,
        "systems_counted": count_of(len(rows), "system"),
        "questions_asked": [MEANINGS[level] for level in study.levels],
        "level_names": [level.title() for level in study.levels],
        "no_siq": study.ranking.context.remarks.no_siq,
        "sections": sections,
        "left_out": [title for id, title in SECTIONS.items() if id not in sections and id != "datasets"],
        "rows": rows,
        "context": study.ranking.context,
        "measures": others_than_usual(study.ranking.context.levels),
        "scale": study.ranking.scores.scale,
        "warnings": study.warnings,
        "flags": {flag: of for flag, of in FLAGS.items() if any(row.flags[flag] is not None for row in rows)},
        "range": data.siq_range(rows),
        "chance": data.chance(study.ranking.context.levels),
        "labels": dict(zip(study.names, study.labels, strict=True)),
        "charts": charts,
        "weights": weights_by_rule(study.ranking),
        "firm": data.firmness(study, rows),
        "set_tables": set_tables,
        "system_pages": systems.pages(study, rows, set_tables),
        "comparisons": compare.browser_data(study, rows) if "compare" in sections else {},
        "set_cautions": sets.cautions(study),
        "deciding": items.deciding(pool, study.ranking.scores.scale if study.has_z else None, study.listening),
        "rank_gaps": items.rank_gaps(pool, study.listening),
        "disagreements": suspects.disagreements(study.clips, encoders),
        "failed": suspects.failed_with_reference(study.answers, listening),
        "has_gold": any(identity.control == "gold" for identity in study.identities),
        "has_questions": bool(study.answers.questions),
        "review": unanswerable.find(study.answers) if study.answers.questions and encoders else [],
        "clip_count": len(study.clips),
        "clip_columns": data.clip_columns(study),
        "clips": data.browser_data(study, rows),
        "sounds": data.sounds(study),
        "asked": provenance.tasks(study.ranking.context.systems),
        "key": content_sha256([(*item, question.asked) for item, question in study.answers.questions.items()])[:16],
    }


def _has(section: str, study: Study, charts: Mapping[str, Any]) -> bool:
    """Return whether a section has something to show."""
    return {
        "datasets": bool(study.sets),
        "curve": "bell" in charts,
        "levels": "profiles" in charts,
        "understanding": "clips-wer" in charts,
        "firmness": study.has_siq,
        "compare": len(study.names) > 1,
        "suspects": not {"remember", "apply"}.isdisjoint(study.levels),
        "review": "apply" in study.levels,
    }.get(section, True)


def write(text: str, path: Path, *, force: bool = False) -> None:
    """Write a page to a file, complete or not at all.

    Args:
        text: As `build` returns it.
        path: Path of the file.
        force: Whether to replace an existing file.

    Raises:
        SpeechIQError: The file exists, or cannot be written.
    """
    refuse_to_overwrite(path, force)
    write_whole(path, text.encode(errors="replace"), OWN_FILE)
