"""Define `siq study unanswerable`: find unanswerable questions, and count the systems that answer them."""

from pathlib import Path
from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AllowMismatch, Force, Runs, output_option, say_warnings
from speechiq.core.console import say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import refuse_to_overwrite
from speechiq.reducer.output.publish import Publication, list_outputs, publish
from speechiq.reducer.runs.texts import Answers
from speechiq.reducer.scores.suites import read_answers
from speechiq.reducer.studies import unanswerable as study


@examples(
    "siq study unanswerable runs --output review.jsonl",
    "siq study unanswerable runs --review review.jsonl --output set.json",
    "siq study unanswerable runs --set set.json --output counts.csv",
)
def unanswerable(
    runs: Runs,
    output: Annotated[
        list[Path] | None,
        output_option(
            "File to write: the review of candidates (.jsonl); with --review the set (.json); with --set the counts "
            "(.json or .csv)."
        ),
    ] = None,
    review: Annotated[
        Path | None, typer.Option(help="Store the confirmed questions of a review with a verdict on every line.")
    ] = None,
    confirmed: Annotated[Path | None, typer.Option("--set", help="Count on a set, a file that --review made.")] = None,
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
    if confirmed:
        outputs = list_outputs(output, ("json", "csv"), force)
        questions = study.read(confirmed)
        counts = study.count_hallucinations(_read(runs, allow_mismatch), questions)
        grids = [study.hallucination_grid(counts)]
        return publish(Publication("speechiq-hallucination", grids, {"systems": counts}), outputs, runs)
    file = _name_file(output, ".json" if review else ".jsonl", force)
    if review:
        content = study.confirm(review)
        study.write_set(content, file)
        verdicts = [row["verdict"] for row in content["questions"]]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in study.CONFIRMED)
        return say(f"wrote {file}: {counted} of {content['reviewed']} reviewed")
    answers = _read(runs, allow_mismatch)
    rows = study.find(answers, share)
    found = f"{len(rows)} of {len(answers.questions)} questions fail in at least {100 * share:g} % of the systems"
    if not rows:
        return say(f"{found}: nothing to review, nothing written")
    study.write_review(rows, file)
    return say(f"{found}; wrote {file}: fill in each verdict ({' or '.join(study.VERDICTS)})")


def _read(runs: list[Path], allow_mismatch: bool) -> Answers:
    answers = read_answers(runs, allow_mismatch)
    say_warnings(answers.warnings)
    return answers


def _name_file(output: list[Path] | None, ending: str, force: bool) -> Path:
    """Return the one file to write; refuse any other number of files, another ending, and a file that exists."""
    if not output or len(output) > 1 or output[0].suffix != ending:
        named = " ".join(map(str, output or ())) or "nothing"
        content = "the candidates" if ending == ".jsonl" else "the confirmed questions"
        raise SpeechIQError(
            f"--output {named}", f"{content} are written to one file", f"name one that ends in {ending}"
        )
    refuse_to_overwrite(output[0], force)
    return output[0]
