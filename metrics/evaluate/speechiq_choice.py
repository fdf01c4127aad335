"""Score answers to multiple-choice questions as a module of `evaluate`; see `speechiq.metrics.choice`."""

from collections.abc import Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.choice import score, vote
from speechiq.metrics.columns import mean
from speechiq.metrics.evaluate import module
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.letters.reading import parse_letter

SCORES = ("acc", "acc_strict", "agreement", "unparsed", "none_of_the_above")


class SpeechiqChoice(module.Module):
    """Score the vote over several answers to each multiple-choice question, and how far the answers agree.

    The measure of the level Apply of SpeechIQ.
    """

    forms = (module.SEVERAL_PREDICTIONS, *module.Module.forms)

    def _compute(
        self,
        predictions: Sequence[Sequence[str] | str],
        references: Sequence[str],
        options: Sequence[Sequence[str]] | None = None,
    ) -> dict[str, float]:
        """Return the scores of all questions.

        Args:
            predictions (list of lists of str, or list of str): The answers to each question, or one answer per
                question. An answer is a letter, or ? for an answer without one; with options, any text from which the
                letter is read.
            references (list of str): The letter of the right option of each question.
            options (list of lists of str): The texts of the options of each question, in the order of their letters.
                With them, letters are read from the answers.

        Returns:
            acc: The share of questions whose vote (the letter that most answers give) is right.
            acc_strict: The share of questions with at least three right answers; 0 if there are fewer than three.
            agreement: The mean share of the answers to a question that give the letter of the vote.
            unparsed: The mean share of the answers to a question from which no letter can be read.
            none_of_the_above: The share of questions whose vote is E.
        """
        if options is not None and len(options) != len(references):
            raise SpeechIQError(
                "options",
                f"those of {len(options)} questions, references: {len(references)}",
                "give the options of each question",
            )
        rows = []
        for number, (prediction, right) in enumerate(zip(predictions, references, strict=True)):
            answers = [prediction] if isinstance(prediction, str) else list(prediction)
            if not answers:
                raise SpeechIQError(
                    "predictions", f"question {number} has no answer", "give ? for an answer without a letter"
                )
            if options is None:
                letters = [_check_letter(answer, number) for answer in answers]
            else:
                letters = [parse_letter(answer, options[number]) for answer in answers]
            rows.append(score({"answer": right}, [[vote(letters), letters]]))
        return {name: mean(row[name] for row in rows) for name in SCORES}


def _check_letter(answer: str, number: int) -> str:
    if answer == UNPARSED or (len(answer) == 1 and answer in ALPHABET):
        return answer
    raise SpeechIQError(
        "predictions",
        f"question {number} has the answer {answer[:60]!r}, not a letter or {UNPARSED}",
        "give options=, the texts of the options, to read letters from answers",
    )
