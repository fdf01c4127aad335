"""Define most commands of `siq study`, and the analyses of `siq paper`."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Runs, Seed, choose_file, output_option, say_warnings, split_names
from speechiq.cli.scoring import TABLES, Call, study
from speechiq.core.console import count_of, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, write_whole
from speechiq.reducer.output.publish import list_outputs, publish
from speechiq.reducer.runs.signs import read_signs
from speechiq.reducer.runs.texts import Answers
from speechiq.reducer.scores import suites
from speechiq.reducer.scores.levels import SUITE, choose_levels
from speechiq.reducer.scores.ranking import rank
from speechiq.reducer.scores.scale import Weighting
from speechiq.reducer.scores.suites import read_answers, read_systems
from speechiq.reducer.studies import correlated, people_ranks
from speechiq.reducer.studies import unanswerable as unanswerable_sets
from speechiq.reducer.studies.architecture import study_architecture
from speechiq.reducer.studies.groups import study_entities
from speechiq.reducer.studies.listening import study_listening
from speechiq.reducer.studies.references import LEVEL, compare_references
from speechiq.reducer.studies.result import StudyResult
from speechiq.reducer.studies.robustness import study_robustness
from speechiq.reducer.studies.sample_size import Aim, plan_sizes
from speechiq.reducer.studies.size import KINDS, PARAMETERS, check_kind, read_sizes, study_size


@study(
    "levels metrics explain bootstrap",
    formats=TABLES,
    output="File to write: .json, .csv, or the tables as .md or .tex.",
    examples=("siq study listen runs", "siq study listen runs --output listen.csv --output listen.json"),
)
def listen(call: Call) -> StudyResult:
    """Show whether systems answer from the audio.

    RUNS have the same tasks with their audio and with `--metadata listen=text`, `muted` or `swapped`. The report of
    `siq score` has the same tables.
    """
    found, _ = call.find(with_variants=True)
    return study_listening(found, call.draws)


@study(
    "levels metrics explain bootstrap",
    formats=TABLES,
    output="File to write: .json, .csv, or the tables as .md or .tex.",
    examples=(
        "siq study architecture runs --base Qwen/Qwen2-Audio-7B-Instruct=Qwen/Qwen2-7B-Instruct",
        "siq study architecture runs --output pairs.json",
    ),
)
def architecture(
    call: Call,
    base: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AUDIO_MODEL=LLM",
            help="Compare an audio model with cascades of the language model that it was trained from, named as in "
            "systems. Give it once per audio model.",
        ),
    ] = None,
    recognizer: Annotated[
        str | None, typer.Option(help="Recognizer of the cascade, if several ran with the language model.")
    ] = None,
) -> StudyResult:
    """Show whether a cascade or an end-to-end model is better, and why.

    RUNS have the audio model alone, and its base language model with the audio model, a recognizer and `gold` before
    it; `siq eval --architecture` runs these four. Recognizers are compared with language models for all cascades.
    """
    bases = [read_base(pair) for pair in base or ()]
    if recognizer and not bases:
        raise SpeechIQError(f"--recognizer {recognizer}", "there is no --base", "add --base AUDIO_MODEL=LLM")
    found, _ = call.find()
    return study_architecture(found, bases, recognizer, call.runs, call.draws)


def read_base(pair: str) -> tuple[str, str]:
    """Return an audio model and its base language model.

    >>> read_base("org/audio=org/text")
    ('org/audio', 'org/text')
    """
    audio_model, _, model = pair.partition("=")
    if not audio_model or not model or "=" in model:
        raise SpeechIQError(f"--base {pair}", "not two models", "write AUDIO_MODEL=LLM")
    return audio_model, model


@study(
    "norms_file levels explain bootstrap",
    formats=TABLES,
    output="File to write: .json, .csv, or a table .md or .tex.",
    examples=(
        "siq study power runs --difference 2",
        "siq study power runs --difference 2 --levels apply --pair whisper-base whisper-tiny.en",
        "siq study power runs --norms demo --output power.json",
    ),
)
def power(
    call: Call,
    difference: Annotated[
        float | None,
        typer.Option(
            help="Smallest difference that matters, in the unit of each score: points of a percentage or SIQ."
        ),
    ] = None,
    power: Annotated[float, typer.Option(help="Set how probable it is that the difference is shown.")] = 0.8,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Plan for two systems, by parts of their names, not for all pairs."),
    ] = None,
) -> StudyResult:
    """Plan how many clips show a difference between two systems.

    RUNS are a pilot run of two or more systems on clips of the same kind. Without --difference, only the smallest
    difference that their clips show is printed.
    """
    found, options = call.find()
    suites.refuse_options_of_siq(found, norms=call.norms_file)
    return plan_sizes(found, Aim(difference, power), options, pair)


@study(
    "norms_file levels metrics explain bootstrap",
    formats=("json", "csv", "page"),
    output="File to write: curves as a page .html, or numbers as .json or .csv.",
    examples=(
        "siq study robustness runs",
        "siq study robustness runs --levels remember --output robustness.html --output robustness.csv",
        "siq study robustness runs --norms demo",
    ),
)
def robustness(call: Call) -> StudyResult:
    """Show how scores change with a condition.

    RUNS have the same tasks with and without `--metadata condition=...`. Losses, slopes and the strength at which a
    system falls below another have 95 % intervals from bootstrap samples of the same clips.
    """
    found, options = call.find()
    return study_robustness(found, call.draws, norms=options.norms)


@study(
    "norms_file metrics explain weights clip_weights bootstrap",
    formats=(*TABLES, "page"),
    output="File to write: a page .html with a chart, .json, .csv, or the tables as .md or .tex.",
    examples=(
        "siq study size runs --sizes sizes.csv",
        "siq study size runs --norms demo --output size.html --output size.csv",
        "siq study size runs --sizes sizes.csv --by training_flops",
    ),
)
def size(
    call: Call,
    sizes: Annotated[
        Path | None,
        typer.Option(
            help="Table (.csv, .tsv or .jsonl) of sizes that runs did not count: the column system, and parameters, "
            "active_parameters (of a mixture of experts) or training_flops."
        ),
    ] = None,
    by: Annotated[str, typer.Option(help=f"Choose the size: {', '.join(KINDS)}.")] = PARAMETERS,
) -> StudyResult:
    """Score systems given their size, as norms by age do.

    SIQ is regressed on the logarithm of the size, and each system is scored by its distance from that line.
    """
    declared = read_sizes(sizes) if sizes else {}
    check_kind(by, declared)
    found, options = call.find()
    if SUITE not in found.levels:
        only = ", ".join(found.levels)
        raise SpeechIQError("no SIQ in these runs", f"they have only suite {only}", "give runs of all three levels")
    systems = found.read(SUITE)
    scoreboard = rank(
        systems, rule=options.rule, norms=options.norms, allow_mismatch=options.allow_mismatch, draws=options.draws
    )
    return study_size(scoreboard, by, declared)


@study(
    "",
    formats=TABLES,
    output="File to write: .json, .csv, or the table as .md or .tex.",
    examples=("siq study entities runs", "siq study entities runs --output entities.csv --output entities.json"),
)
def entities(call: Call) -> StudyResult:
    """Show error rates by class of entity, such as MONEY.

    RUNS transcribe a set with a column entities. Of the words of each class, the share is shown that a system gets
    wrong (substituted or deleted), with a 95 % interval.
    """
    systems = read_systems(call.runs, call.allow_mismatch, levels=choose_levels([], LEVEL))
    say_warnings(systems.warnings)
    return study_entities(systems)


@examples(
    "siq study unanswerable runs --output review.jsonl",
    "siq study unanswerable runs --review review.jsonl --output set.json",
    "siq study unanswerable runs --set set.json --output counts.csv",
    "siq study unanswerable runs --signs",
)
def unanswerable(
    runs: Runs,
    output: Annotated[
        list[Path] | None,
        output_option(
            "File to write: the review of candidates (.jsonl); with --review the set (.json); with --set and --signs "
            "the counts (.json or .csv)."
        ),
    ] = None,
    review: Annotated[
        Path | None, typer.Option(help="Store the confirmed questions of a review with a verdict on every line.")
    ] = None,
    confirmed: Annotated[Path | None, typer.Option("--set", help="Count on a set, a file that --review made.")] = None,
    signs: Annotated[
        bool,
        typer.Option(
            "--signs",
            help="Count signs of hallucination in the answers to all questions: right answers whose words are not in "
            "the system's own transcript, and options that were not offered.",
        ),
    ] = False,
    share: Annotated[
        float, typer.Option(min=0, max=1, help="Set the least share of systems that fail a candidate.")
    ] = 0.5,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
) -> None:
    """Find unanswerable questions, and count the systems that answer them.

    First write the questions that most systems fail to a review, in which a person fills in the verdicts; then store
    the confirmed ones as a set; then count how often the majority of a system is another than "None of the above".
    """
    if confirmed and review:
        raise SpeechIQError(
            f"--review {review} and --set {confirmed}", "one makes a set, one counts on it", "leave one out"
        )
    for option, value in {"review": review, "set": confirmed}.items():
        if signs and value:
            raise SpeechIQError(f"--{option} {value} and --signs", "signs need no set", "leave one out")
    if signs:
        outputs = list_outputs(output, ("json", "csv"), force)
        answers = suites.read_all_answers(runs, allow_mismatch)
        say_warnings(answers.warnings)
        tasks, _ = suites.find_levels(runs, allow_mismatch)
        return publish(unanswerable_sets.count_signs(read_signs(tasks), answers), outputs, runs)
    if confirmed:
        outputs = list_outputs(output, ("json", "csv"), force)
        questions = unanswerable_sets.read_confirmed(confirmed)
        counts = unanswerable_sets.count_hallucinations(_read(runs, allow_mismatch), questions)
        return publish(counts, outputs, runs)
    written, ending = "the candidates", ".jsonl"
    if review:
        written, ending = "the confirmed questions", ".json"
    file = choose_file(output, [ending], force, f"{written} are written to one file", f"name one that ends in {ending}")
    if review:
        content = unanswerable_sets.confirm(review)
        unanswerable_sets.write_set(content, file)
        verdicts = [row["verdict"] for row in content["questions"]]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in unanswerable_sets.CONFIRMED)
        return say(f"wrote {file}: {counted} of {content['reviewed']} reviewed")
    answers = _read(runs, allow_mismatch)
    rows = unanswerable_sets.find_unanswerable(answers, share)
    found = f"{len(rows)} of {len(answers.questions)} questions fail in at least {100 * share:g} % of the systems"
    if not rows:
        return say(f"{found}: nothing to review, nothing written")
    unanswerable_sets.write_review(rows, file)
    return say(f"{found}; wrote {file}: fill in each verdict ({' or '.join(unanswerable_sets.VERDICTS)})")


def _read(runs: list[Path], allow_mismatch: bool) -> Answers:
    answers = read_answers(runs, allow_mismatch)
    say_warnings(answers.warnings)
    return answers


@examples(
    "siq paper rank runs --output rank.html",
    "siq paper rank runs --clips 20 --seed 1 --output rank.html",
)
def write_ranking(
    runs: Runs,
    output: Annotated[list[Path] | None, output_option("Page to write, .html.")] = None,
    clips: Annotated[int, typer.Option(min=1, help="Set the number of clips, chosen at random.")] = 9,
    seed: Seed = 0,
    allow_mismatch: AllowMismatch = False,
    force: Force = False,
) -> None:
    """Write a page on which people rank the transcripts of systems.

    The page works offline and names no system; equal transcripts are one card. Clips are chosen at random among those
    on which transcripts differ. Each person saves a file for `siq paper correlate RUNS --ranks FILE`.
    """
    from speechiq.reducer.output.page.review import render_ranking

    page = choose_file(output, (".html", ".htm"), force, "the page is one file", "name one, such as rank.html")
    systems = read_systems(runs, allow_mismatch)
    say_warnings(systems.warnings)
    cards = people_ranks.read_cards(systems)
    chosen = people_ranks.draw_clips(cards, clips, seed)
    write_whole(page, render_ranking(chosen).encode(errors="replace"), OWN_FILE)
    texts = sum(len(clip.texts) for clip in chosen)
    say(
        f"wrote {page}: {count_of(texts, 'transcript')} of {count_of(len(chosen[0].cards), 'system')} on "
        f"{count_of(len(chosen), 'clip')} of {len(cards)}; open it in a browser"
    )


@study(
    "metrics weights clip_weights bootstrap",
    formats=("json", "csv"),
    output="File to write: the coefficients as .json or .csv.",
    examples=(
        "siq paper correlate runs --ranks people.csv",
        "siq paper correlate runs --ranks ranks-ana.jsonl --ranks ranks-ben.jsonl",
        "siq paper correlate runs --ranks people.csv --weights inverse-variance --output correlation.json",
    ),
)
def correlate_with_people(
    call: Call,
    ranks: Annotated[
        list[Path],
        typer.Option(
            help="File that a person saved from the page of `siq paper rank`; give it once per person. Or one table "
            "(.csv, .tsv or .jsonl) with the column system and columns of ranks, 1 for the best; the first is "
            "correlated with SIQ, with each level and with the other columns."
        ),
    ],
) -> StudyResult:
    """Correlate SIQ and metrics with ranks by people.

    Each plain metric of the systems in RUNS is correlated as well, BLEU and chrF too (Table 3 of the paper). Of files
    of the page, the ranks are averaged and the agreement of people is shown.
    """
    rule = Weighting.read(call.weights, call.clip_weights)
    of_page = [people_ranks.is_saved_page(file) for file in ranks]
    if not all(of_page) and len(ranks) > 1:
        table = ranks[of_page.index(False)]
        raise SpeechIQError(
            f"--ranks {table}", "not a file of `siq paper rank`", "give files of the page, or one table of ranks"
        )
    systems = read_systems(call.runs, call.allow_mismatch, levels=choose_levels(split_names(call.metrics), None))
    say_warnings(systems.warnings)
    if all(of_page):
        cards = people_ranks.read_cards(systems)
        given = people_ranks.read_people(ranks, cards)
    else:
        columns = correlated.read_ranks(ranks[0], [system.name for system in systems])
    scoreboard = rank(systems, rule=rule, allow_mismatch=call.allow_mismatch)
    say_warnings([scoreboard.remarks.no_siq] if scoreboard.remarks.no_siq else [])
    if all(of_page):
        return people_ranks.correlate_people(scoreboard, given, cards, rule=rule, draws=call.draws)
    return correlated.correlate_ranks(correlated.list_scores(scoreboard), columns)


@study(
    "metrics bootstrap",
    formats=("json",),
    output="File to write: the error rates as .json.",
    examples=("siq paper references runs/voxpopuli", "siq paper references runs/voxpopuli --output references.json"),
)
def references(
    call: Call,
    *,
    clean: Annotated[
        str | None,
        typer.Option(help="Systems that never saw the references; the others' rate of original errors minus theirs."),
    ] = None,
) -> StudyResult:
    """Compare error rates on original and cleaned references.

    RUNS have a set and its cleaned version, such as voxpopuli and voxpopuli_cleaned. Also counts how often a system
    writes the original's words where both differ, a sign that it learned the references.
    """
    levels = choose_levels(split_names(call.metrics), LEVEL)
    systems = read_systems(call.runs, call.allow_mismatch, levels=levels)
    say_warnings(systems.warnings)
    return compare_references(systems, levels[LEVEL].unit, split_names(clean), draws=call.draws)
