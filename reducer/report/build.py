"""Build the page from folders of runs, and write it to a file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.checksummed import content_sha256, shorten
from speechiq.core.files.page import Page, write_page
from speechiq.core.files.plain import refuse_to_overwrite
from speechiq.reducer.report import browser, figures, items, leaderboard, page, systems, texts
from speechiq.reducer.report.clips import find_sounds
from speechiq.reducer.report.leaderboard import scores_by_set
from speechiq.reducer.report.review import review_questions
from speechiq.reducer.report.studies import HEIGHT, Section, list_languages, list_latencies, list_listening
from speechiq.reducer.report.study import Study, gather, read_study
from speechiq.reducer.report.suite import SuitePage, group_grids
from speechiq.reducer.report.suite import gather as gather_suite
from speechiq.reducer.runs.measure import others_than_usual
from speechiq.reducer.scores.levels import SUITE as SIQ
from speechiq.reducer.scores.remarks import MEANINGS
from speechiq.reducer.scores.suites import Found, ScoringOptions
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.tables.scoreboard_records import rows_of
from speechiq.reducer.tables.scoreboard_table import TITLE, TITLE_WITHOUT
from speechiq.reducer.tables.suite_scores import SuiteScores

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
#: Sections that most runs do not have, and that a page without them does not name.
OPTIONAL = ("datasets", "groups")


def build(runs: Iterable[Path], **options: Any) -> Page:
    """Return the report of some runs.

    Args:
        runs: Folders (any depth) or results files.
        **options: As for `gather`: `rule`, `norms`, `allow_mismatch`, `exclude`, `bootstrap`, `levels`.

    Raises:
        SpeechIQError: The runs cannot be read, aligned or scored.
    """
    return render(gather(runs, **options))


def compose(
    found: Found, scored: Mapping[str, SuiteScores], options: ScoringOptions, command: str = ""
) -> tuple[Page, list[str]]:
    """Return the page of all suites in runs, and warnings: SIQ is the page if it was run, other suites are sections.

    Args:
        found: The tasks of the runs, whose texts are read.
        scored: Suite -> its scores.

    Raises:
        SpeechIQError: A sample file cannot be read.
    """
    others = [gather_suite(found, scored[suite]) for suite in found.others]
    try:
        sections, warnings = list_listening(found, options), []
    except SpeechIQError as error:
        sections, warnings = [], [f"the report does not show whether systems listened: {error}"]
    sections = [*list_languages(found, scored), *sections, *list_latencies(found, options.draws)]
    if SIQ not in scored:
        return render_suites(others, command, sections), warnings
    study = read_study(found.tasks[SIQ], scored[SIQ], options, found.warnings)
    return render(study, command, others, sections), [*study.warnings, *warnings]


def render(study: Study, command: str = "", suites: Sequence[SuitePage] = (), sections: Sequence[Section] = ()) -> Page:
    """Return the page of a study.

    Args:
        command: The command that makes the page; "" leaves it out.
        suites: Other suites; each has a section.
        sections: Further sections, below those of suites.
    """
    clips = Counter(clip.dataset or "unnamed" for clip in study.clips)
    tasks = systems.list_tasks(study.scoreboard.systems)
    shown = content(study)
    made = page.describe_origin(tasks, command, clips)
    return _render(shown, suites, sections, made, page.SCRIPTS, pack_clips(study, shown))


def pack_clips(study: Study, shown: Mapping[str, Any]) -> dict[str, Markup]:
    """Return what the page reads when it shows clips: `clips`, the comparisons, and parts of texts, `texts-0` ..."""
    names = [system["name"] for system in shown["clips"]["systems"]]
    packed, starts = {}, [0]
    for number, part in enumerate(texts.divide_texts(study, names)):
        packed[f"texts-{number}"] = page.pack_json(b"[" + b",".join(part) + b"]")
        starts.append(starts[-1] + len(part))
    clips = shown["clips"] | {"starts": starts}
    return {"compare": page.pack(shown["pairs"]), "clips": page.pack(clips), **packed}


def render_suites(suites: Sequence[SuitePage], command: str = "", sections: Sequence[Section] = ()) -> Page:
    """Return the page of suites without SIQ."""
    names = ", ".join(suite.suite for suite in suites)
    tasks = systems.list_tasks(system for suite in suites for system in suite.scoreboard.systems)
    shown = {"title": f"{'Suite' if len(suites) == 1 else 'Suites'} {names}", "sections": {}, "data": {"charts": {}}}
    return _render(shown, suites, sections, page.describe_origin(tasks, command), page.FEW_SCRIPTS)


def _render(
    shown: Mapping[str, Any],
    suites: Sequence[SuitePage],
    sections: Sequence[Section],
    made: Mapping[str, str],
    scripts: Sequence[str],
    packed: Mapping[str, Markup] = {},
) -> Page:
    """Return a page; above `texts.LARGEST` what is packed lies beside it, in files that its scripts load."""
    charts = shown["data"]["charts"] | {id: chart for suite in suites for id, chart in suite.charts().items()}
    charts |= {id: figures.as_json(figure) for section in sections for id, figure in section.figures.items()}
    links = shown["sections"] | {suite.id: f"Suite {suite.suite}" for suite in suites}
    links |= {section.id: section.title for section in sections}
    beside = packed if sum(map(len, packed.values())) > texts.LARGEST else {}
    digest = shorten(content_sha256(beside))
    data = shown["data"] | {"charts": charts} | ({} if beside else packed)
    values = {
        **shown,
        "data": data,
        "links": links,
        "made": made,
        "suites": suites,
        "studies": sections,
        "height": HEIGHT,
    }
    text = page.render("report.html.j2", scripts, digest=digest if beside else "", **values)
    return Page(text, {f"{digest}-{id}.js": page.write_part(id, coded) for id, coded in beside.items()})


def content(study: Study) -> dict[str, Any]:
    """Return the values of the template's variables; `data`, `clips` and `pairs` are for the scripts."""
    scoreboard = study.scoreboard
    rows, scores = rows_of(scoreboard), scores_by_set(study)
    encoders = {
        name: identity.encoder or name
        for name, identity in zip(study.names, study.identities, strict=True)
        if not identity.control
    }
    charts = browser.charts(study, rows)
    sections = {id: title for id, title in SECTIONS.items() if _has(id, study, charts)}
    candidates = unanswerable.find(study.answers) if study.answers.questions and encoders else []
    review = review_questions(candidates)
    title = TITLE if study.has_siq else TITLE_WITHOUT
    return {
        "title": f"{title} of {count_of(len(rows), 'system')}",
        "heading": title,
        "lead": _lead(study),
        "data": {
            "charts": charts,
            "sounds": find_sounds({clip.id: clip.audio for clip in study.clips}),
            "review": review.data,
        },
        "clips": browser.list_clips(study, rows),
        "pairs": browser.compare_pairs(study, rows) if "compare" in sections else {},
        "levels": study.levels,
        "no_siq": scoreboard.remarks.no_siq,
        "has_z": study.has_z,
        "has_controls": any(identity.control for identity in study.identities),
        "sections": sections,
        "left_out": [title for id, title in SECTIONS.items() if id not in sections and id not in OPTIONAL],
        "scoreboard": scoreboard,
        "measures": others_than_usual(scoreboard.levels),
        "warnings": study.warnings,
        "charts": charts,
        "leaderboard": leaderboard.leaderboard(study, rows),
        "profiles": leaderboard.profiles(study, rows) if "levels" in sections else None,
        "stability": leaderboard.stability(study) if "firmness" in sections else None,
        "set_tables": leaderboard.set_tables(study, scores),
        "set_cautions": _set_cautions(study),
        "group_tables": group_grids("groups", study.groups),
        "system_pages": systems.pages(study, rows, scores),
        "deciding": items.deciding(scoreboard.pool, study.scale if study.has_z else None, study.listening),
        "rank_gaps": items.rank_gaps(scoreboard.pool, study.listening, study.labels),
        "disagreements": items.disagreements(study.clips, encoders),
        "more_errors": items.more_errors_than_words(scoreboard.pool, study.listening, study.labels),
        "failed": items.failed_with_reference(study.answers, [study.names[row] for row in study.listening]),
        "has_gold": any(identity.control == "gold" for identity in study.identities),
        "has_questions": bool(study.answers.questions),
        "review": review,
        "clip_count": len(study.clips),
        "clip_table": browser.clip_table(study),
        "tasks": systems.task_table(scoreboard.systems),
    }


def _set_cautions(study: Study) -> list[str]:
    """Return a line for each small data set: its name, and the caution about its intervals."""
    cautions = {name: scoreboard.caution for name, scoreboard in study.sets.items() if study.has_siq}
    return [f"{name}: {caution}" for name, caution in cautions.items() if caution]


def _lead(study: Study) -> str:
    """Return what the page is about, in a sentence."""
    counts = f"{count_of(len(study.names), 'system')}, {count_of(len(study.clips), 'clip')}"
    asked = ", ".join(MEANINGS[level] for level in study.levels)
    if not study.has_siq:
        return f"{counts}: {asked}, each level on its own."
    norms = study.scoreboard.norms
    mean = f"the norms {norms.title}" if norms else "these systems"
    return f"{counts}: {asked}, on one scale where 100 is the mean of {mean}."


def _has(section: str, study: Study, charts: Mapping[str, Any]) -> bool:
    """Return whether a section has something to show."""
    return {
        "datasets": bool(study.sets),
        "groups": bool(study.groups),
        "curve": "bell" in charts,
        "levels": "profiles" in charts,
        "understanding": "clips-wer" in charts,
        "firmness": study.has_siq,
        "compare": len(study.names) > 1,
        "suspects": not {"remember", "apply"}.isdisjoint(study.levels),
        "review": "apply" in study.levels,
    }.get(section, True)


def write(report: Page, path: Path, *, force: bool = False) -> None:
    """Write a page to a file, and its parts, if it has any, to the folder beside it; complete or not at all.

    Args:
        report: As `build` returns it.
        path: Path of the file.
        force: Whether to replace an existing file.

    Raises:
        SpeechIQError: The file exists, or cannot be written.
    """
    refuse_to_overwrite(path, force)
    write_page(report, path)
