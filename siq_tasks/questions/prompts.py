"""Define the prompts for writers and checkers of questions (paper, appendix A, where its own text is only a picture).

A changed text makes other questions: raise `PROMPT_VERSION`, which every written question contains.
"""

from collections.abc import Sequence

PROMPT_VERSION = 1

WRITING = """\
You write listening tests for learners of English. Below is the transcript of a recording that a learner hears once.
Write {count} about it.

What a question asks: either the core concept of the recording (its topic, its purpose, what the speaker concludes) or a
detail of information in it (a name, a number, a date, a place, a cause). Whoever heard the recording can answer it;
whoever did not hear it cannot, neither from general knowledge nor from the wording of the question or its options.

What its options are: one right answer and three wrong ones. Exactly one is right, beyond doubt. The wrong ones are
plausible, of the same kind and length as the right one, and where possible sound like it, so that a learner who
misheard would choose them. Options are short, and all four differ. The question does not contain its answer.

The transcript may hold tags such as <inaudible>, where nobody could write down what was said. A tag never occurs in
a question or an option, and no question asks about what a tag hides. No option is "None of the above".
{avoid}
Reply with JSON and nothing else, in this form:
{{"questions": [{{"question": "...", "answer": "the right answer", "distractors": ["...", "...", "..."]}}]}}

Transcript:
{reference}"""

AVOID = """
These questions were asked before; ask other things:
{asked}
"""

CHECKING = """\
Here is the transcript of a speech:
{reference}

Answer this question from the transcript: {question}
{options}
Reply with the letter of the right option, nothing else."""

GUESSING = """\
A speech was given, which you did not hear. Which of these options is the likely answer to a question about it?
Question: {question}
{options}
Reply with the letter of one option, nothing else."""


def to_write(reference: str, count: int, asked: Sequence[str] = ()) -> str:
    """Return the prompt for `count` questions about `reference` that differ from those `asked` before."""
    avoid = AVOID.format(asked="\n".join(f"- {question}" for question in asked)) if asked else ""
    return WRITING.format(
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
    template = GUESSING if reference is None else CHECKING
    return template.format(reference=reference, question=question, options=listed)
