"""Define the prompts for writers and checkers of questions (paper, appendix A, where its own text is only a picture).

The texts are in `_prompts.yaml`. A changed text makes other questions: raise `PROMPT_VERSION`, which every written
question contains.
"""

from collections.abc import Sequence
from pathlib import Path

from speechiq.siq_tasks.catalog.task_files import read_mapping

PROMPT_VERSION = 1

#: Name of a prompt, or of a part of one -> its text.
TEXTS: dict[str, str] = read_mapping(Path(__file__).with_name("_prompts.yaml"))


def to_write(reference: str, count: int, asked: Sequence[str] = ()) -> str:
    """Return the prompt for `count` questions about `reference` that differ from those `asked` before."""
    avoid = TEXTS["avoid"].format(asked="\n".join(f"- {question}" for question in asked)) if asked else ""
    return TEXTS["writing"].format(
        count="one question" if count == 1 else f"{count} questions", avoid=avoid, reference=reference
    )


def to_answer(question: str, options: Sequence[str], reference: str | None = None) -> str:
    """Return the prompt for the letter of the right option, with (E); without a reference, for a guess (the floor).

    >>> print(to_answer("Who won?", ["Ann", "Dan"]).split("about it?")[1].strip())
    Question: Who won?
    (A) Ann
    (B) Dan
    Reply with the letter of one option, nothing else.
    """
    listed = "\n".join(f"({letter}) {option}" for letter, option in zip("ABCDE", options, strict=False))
    template = TEXTS["guessing" if reference is None else "checking"]
    return template.format(reference=reference, question=question, options=listed)
