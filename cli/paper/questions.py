"""Define `siq paper questions`: join released questions, which name no clips, to the clips of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.data.clips import list_clips
from speechiq.cli.options import EXPERT, Metadata, output_option
from speechiq.core.console import count_of, say, show
from speechiq.core.errors import SpeechIQError

if TYPE_CHECKING:
    from speechiq.siq_tasks.questions.released import Import

#: How many references without a clip are printed.
SHOWN = 3


@examples(
    "siq paper questions earning22-gpt-4o-qa.json --dataset paper_earnings22",
    "siq paper questions voxpopuli-gpt-4o-qa.json --dataset paper_voxpopuli --near --output questions.jsonl",
)
def questions(
    file: Annotated[Path, typer.Argument(help="Released questions: a JSON list of objects with gold and qa.")],
    dataset: Annotated[str, typer.Option(help="Data set whose clips the questions are about.")],
    output: Annotated[Path | None, output_option("File to write; by default the one that the tasks read.")] = None,
    writer: Annotated[
        str, typer.Option(help="Record who wrote the questions, ENGINE:MODEL.", rich_help_panel=EXPERT)
    ] = "openai:gpt-4o",
    near: Annotated[
        bool, typer.Option("--near", help="Join near matches of references too.", rich_help_panel=EXPERT)
    ] = False,
    metadata: Metadata = None,
) -> None:
    """Join released questions to the clips of a data set.

    The released questions name no clips. Exit code 1 if fewer than 90 % of them are joined.
    """
    from speechiq.siq_tasks.questions import file as question_file
    from speechiq.siq_tasks.questions import released
    from speechiq.siq_tasks.questions.location import questions_folder
    from speechiq.siq_tasks.questions.write import count_letters

    given = released.read_released(file)
    output = output or questions_folder() / f"{dataset}.jsonl"
    question_file.refuse_special(output)
    outcome = released.join_released(given, list_clips(dataset, metadata), writer, near)
    show(*_describe_import(outcome, near), f"right letters: {_show_counts(count_letters(outcome.rows))}")
    if not outcome.is_enough:
        raise SpeechIQError(
            f"{str(file)!r}: {outcome.joined} of {outcome.entries} entries are about clips of {dataset}, fewer than "
            f"{released.ENOUGH:.0%}; give the questions of this data set, or its source with --metadata"
        )
    question_file.write_questions(output, outcome.rows)
    say(f"wrote {output} from {file} (sha256 {given.sha256[:12]})")


def _describe_import(outcome: Import, taken: bool) -> Iterator[str]:
    """Yield the lines that say which entries have a clip, and which questions are left out."""
    yield (
        f"{count_of(outcome.entries, 'entry')}: {outcome.joined} joined, {len(outcome.near)} near matches, "
        f"{count_of(len(outcome.strangers), 'stranger')}; {count_of(len(outcome.without), 'clip')} without questions"
    )
    for match in outcome.near:
        state = "joined" if taken else "not joined, see --near"
        yield f"near ({match.similarity:.1f}, {state}): {match.gold[:60]!r} and {match.clip} {match.text[:60]!r}"
    for gold in outcome.strangers[:SHOWN]:
        yield f"stranger: {gold[:80]!r}"
    for reason, count in outcome.left_out.most_common():
        yield f"left out: {count} x {reason}"


def _show_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{letter} {count}" for letter, count in counts.items())
