"""Build the page from folders of runs, and write it to a file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import content_sha256, shorten
from speechiq.core.files.page import Page, write_page
from speechiq.core.files.plain import refuse_to_overwrite
from speechiq.metrics.measure import others_than_usual
from speechiq.reducer.output.page import browser, items, page, tables
from speechiq.reducer.output.page.clips import find_sounds, list_texts
from speechiq.reducer.output.page.identity import name_encoder
from speechiq.reducer.output.page.kinds import kind_sections, tradeoff_sections
from speechiq.reducer.output.page.page import Section
from speechiq.reducer.output.page.review import Review, review_questions
from speechiq.reducer.output.page.studies import list_listening, side_sections
from speechiq.reducer.output.page.study import Study, gather_report, read_study
from speechiq.reducer.output.page.suite import gather_suite, group_grids
from speechiq.reducer.output.scoreboard_records import rows_of
from speechiq.reducer.output.scoreboard_table import TITLE, TITLE_WITHOUT
from speechiq.reducer.output.side_tables import SideTables
from speechiq.reducer.output.suite_scores import SuiteScores
from speechiq.reducer.runs.run_record import RunCost
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.remarks import MEANINGS
from speechiq.reducer.scores.suites import Found, ScoringOptions
from speechiq.reducer.studies import unanswerable

#: Sections of the page in their order: id, which names the template too -> heading.
SECTIONS = {
    "leaderboard": "Leaderboard",
    "datasets": "Data sets",
    "groups": "Groups",
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
#: Section -> the charts in it, as far as the scored levels allow them.
CHARTS = {
    "curve": ("bell",),
    "levels": ("profiles",),
    "understanding": ("similarity", "accuracy", "clips-wer"),
}
#: Sections that most runs do not have, and that a page without them does not name.
OPTIONAL = ("datasets", "groups")


def build_report(runs: Iterable[Path], **options: Any) -> Page:
    """Return the report of some runs.

    Args:
        runs: Folders (any depth) or results files.
        **options: As for `gather`: `rule`, `norms`, `allow_mismatch`, `exclude`, `bootstrap`, `levels`.

    Raises:
        SpeechIQError: The runs cannot be read, aligned or scored.
    """
    return render_report(gather_report(runs, **options))


def compose_report(
    found: Found,
    scored: Mapping[str, SuiteScores],
    beside: SideTables,
    options: ScoringOptions,
    command: str = "",
    costs: Sequence[RunCost] = (),
) -> tuple[Page, list[str]]:
    """Return the page of all suites in runs, and warnings: SIQ is the page if it was run, other suites are sections.

    Args:
        found: The tasks of the runs, whose texts are read.
        scored: Suite -> its scores.
        beside: The tables beside them.
        costs: What the systems cost, against which scores are drawn.

    Raises:
        SpeechIQError: A sample file cannot be read.
    """
    suites = [gather_suite(found, scored[suite]) for suite in found.others]
    sections = [suite.section for suite in suites] + side_sections(beside)
    warnings = []
    try:
        sections += list_listening(found, options)
    except SpeechIQError as error:
        warnings = [f"the report does not show whether systems listened: {error}"]
    if SIQ in scored:
        study = read_study(found.tasks[SIQ], scored[SIQ], options, found.warnings)
        sections = kind_sections(study) + tradeoff_sections(study, costs) + sections
        return render_report(study, command, sections), [*study.warnings, *warnings]
    word = "Suite" if len(suites) == 1 else "Suites"
    title = f"{word} {', '.join(suite.suite for suite in suites)}"
    tasks = tables.list_all_tasks(system for suite in suites for system in suite.scoreboard.systems)
    return Page(page.render(sections, title=title, made=page.describe_origin(tasks, command))), warnings


def render_report(study: Study, command: str = "", sections: Sequence[Section] = ()) -> Page:
    """Return the page of a study; above `page.LARGEST` clips and texts lie beside it, in files that its scripts load.

    Args:
        command: The command that makes the page; "" leaves it out.
        sections: Further sections, between those of SIQ and that about the runs.
    """
    rows, title = rows_of(study.scoreboard), TITLE if study.has_siq else TITLE_WITHOUT
    clips = Counter(clip.dataset or "unnamed" for clip in study.clips)
    packed = pack_clips(study, rows)
    inside: Mapping[str, Markup] = packed
    beside: Mapping[str, Markup] = {}
    digest = ""
    if sum(map(len, packed.values())) > page.LARGEST:
        inside, beside = {}, packed
        digest = shorten(content_sha256(packed))
    review = review_questions(find_candidates(study))
    *own, about = list_sections(study, rows, review)
    text = page.render(
        [*own, *sections, about],
        page.SCRIPTS,
        title=f"{title} of {count_of(len(rows), 'system')}",
        heading=title,
        lead=_lead(study),
        made=page.describe_origin(tables.list_all_tasks(study.scoreboard.systems), command, clips),
        data={"sounds": find_sounds({clip.id: clip.audio for clip in study.clips}), "review": review.data, **inside},
        digest=digest,
    )
    return Page(text, {f"{digest}-{id}.js": page.write_part(id, coded) for id, coded in beside.items()})


def pack_clips(study: Study, rows: Sequence[tables.Row]) -> dict[str, Markup]:
    """Return the data with which the page shows clips: `clips`, the comparisons, and parts of texts, `texts-0` ..."""
    names = [row["system"] for row in rows]
    parts, starts = page.pack_parts("texts", list_texts(study.clips, study.answers, study.signs, study.replies, names))
    clips = browser.describe_clips(study, rows) | {"starts": starts}
    pairs = browser.compare_pairs(study, rows) if len(names) > 1 else {}
    return {"compare": page.pack_data(pairs), "clips": page.pack_data(clips), **parts}


def find_candidates(study: Study) -> list[dict[str, Any]]:
    """Return the questions to review; none if only controls answered, or the questions are not in the runs."""
    has_systems = any(not system.control for system in study.scoreboard.systems)
    return unanswerable.find_unanswerable(study.answers) if study.answers.questions and has_systems else []


def list_sections(study: Study, rows: Sequence[tables.Row], review: Review) -> list[Section]:
    """Return the sections of SIQ that have something to show."""
    scoreboard, charts = study.scoreboard, browser.charts(study, rows)
    pool = scoreboard.pool
    scores = tables.scores_by_set(study)
    encoders = {
        name: name_encoder(system) or name
        for name, system in zip(study.names, scoreboard.systems, strict=True)
        if not system.control
    }
    common = {
        "scoreboard": scoreboard,
        "levels": study.levels,
        "charts": charts,
        "has_z": study.has_z,
        "has_controls": any(system.control for system in scoreboard.systems),
        "no_questions": "" if study.answers.questions else "; ".join(study.answers.warnings),
        "leaderboard": tables.leaderboard_table(study, rows),
    }
    values: dict[str, dict[str, Any]] = {
        "leaderboard": {"measures": others_than_usual(scoreboard.levels), "no_siq": scoreboard.remarks.no_siq},
        "systems": {"system_pages": tables.list_system_pages(study, rows, scores)},
        "deciding": {"deciding": items.deciding(pool, study.scale if study.has_z else None, study.listening)},
        "clips": {"clip_count": len(study.clips), "clip_table": browser.clip_table(study)},
        "about": {"warnings": study.warnings, "tasks": tables.task_table(scoreboard.systems)},
    }
    if study.sets:
        values["datasets"] = {"set_tables": tables.set_tables(study, scores), "set_cautions": _set_cautions(study)}
    if study.groups:
        values["groups"] = {"group_tables": group_grids("groups", study.groups)}
    if "bell" in charts:
        values["curve"] = {}
    if "profiles" in charts:
        values["levels"] = {"profiles": tables.profile_table(study, rows)}
    if "clips-wer" in charts:
        values["understanding"] = {"rank_gaps": items.rank_gaps(pool, study.listening, study.labels)}
    if study.has_siq:
        values["firmness"] = {"stability": tables.stability_table(study)}
    if len(study.names) > 1:
        values["compare"] = {}
    if not {"remember", "apply"}.isdisjoint(study.levels):
        values["suspects"] = {
            "disagreements": items.disagreements(study.clips, encoders),
            "more_errors": items.more_errors_than_words(pool, study.listening, study.labels),
            "failed": items.failed_with_reference(study.answers, [study.names[row] for row in study.listening]),
            "has_gold": any(system.control == "gold" for system in scoreboard.systems),
        }
    if "apply" in study.levels:
        values["review"] = {"review": review}
    left_out = [title for id, title in SECTIONS.items() if id not in values and id not in OPTIONAL]
    values["leaderboard"]["left_out"] = left_out
    sections = []
    for id, title in SECTIONS.items():
        if id in values:
            drawn = {chart: charts[chart] for chart in CHARTS.get(id, ()) if chart in charts}
            sections.append(Section(id, title, id, common | values[id], drawn))
    return sections


def _set_cautions(study: Study) -> list[str]:
    """Return a line for each small data set: its name, and the caution about its intervals."""
    cautions = {name: scoreboard.caution for name, scoreboard in study.sets.items() if study.has_siq}
    return [f"{name}: {caution}" for name, caution in cautions.items() if caution]


def _lead(study: Study) -> str:
    """Return the subject of the page in a sentence."""
    counts = f"{count_of(len(study.names), 'system')}, {count_of(len(study.clips), 'clip')}"
    asked = ", ".join(MEANINGS[level] for level in study.levels)
    if not study.has_siq:
        return f"{counts}: {asked}, each level on its own."
    norms = study.scoreboard.norms
    mean = f"the norms {norms.title}" if norms else "these systems"
    return f"{counts}: {asked}, on one scale where 100 is the mean of {mean}."


def write_report(report: Page, path: Path, *, force: bool = False) -> None:
    """Write a page to a file, and its parts, if it has any, to the folder beside it; complete or not at all.

    Args:
        report: As `build_report` returns it.
        path: Path of the file.
        force: Whether to replace an existing file.

    Raises:
        SpeechIQError: The file exists, or cannot be written.
    """
    refuse_to_overwrite(path, force)
    write_page(report, path)
