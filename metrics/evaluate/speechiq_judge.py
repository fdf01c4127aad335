"""Judge free answers as a module of `evaluate`; see `speechiq.metrics.judge.free_answers`."""

from collections.abc import Sequence
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.columns import mean
from speechiq.metrics.evaluate import module
from speechiq.metrics.judge.free_answers import Judge, score
from speechiq.metrics.judge.settings import read_settings

SCORES = (
    "judge",
    "judge_points",
    "judge_agreement",
    "unjudged",
    "refusal",
    "empty_answer",
    "exact_match",
    "contains_answer",
    "f1",
)


class SpeechiqJudge(module.Module):
    """Score free answers by the rule exact_match, or by a language model that grades each answer by a rubric.

    The measure of judged tasks of SpeechIQ; the scores by rule are computed in both cases.
    """

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        questions: Sequence[str] | None = None,
        checklists: Sequence[str] | None = None,
        judge: str = "exact_match",
        **options: Any,
    ) -> dict[str, float]:
        """Return the scores of all answers.

        Args:
            predictions (list of str): The answers.
            references (list of str): The right answers; empty texts for a rubric without a reference.
            questions (list of str): What was asked; by default nothing.
            checklists (list of str): What a good answer has; by default nothing.
            judge (str): exact_match (default), or ENGINE:MODEL with a text engine.
            **options: rubric (name or YAML file; by default grade_0_5), draws, seed, by, and options of the engine, as
                the keys judge_* of --metadata.

        Returns:
            judge: The mean score as a share of the scale, from 0 to 1; judge_points on the scale itself. Unjudged
                answers are left out; NaN if all are.
            judge_agreement, unjudged, refusal, empty_answer, exact_match, contains_answer, f1: Means over the answers
                for which they are defined.
        """
        empty = [""] * len(predictions)
        columns = {"question": questions or empty, "answer": references, "checklist": checklists or empty}
        if wrong := [name for name, texts in columns.items() if len(texts) != len(predictions)]:
            raise SpeechIQError(
                f"{wrong[0]}s", f"{len(columns[wrong[0]])} texts for {len(predictions)} answers", "give one each"
            )
        settings = read_settings({"judge": judge} | {f"judge_{name}": value for name, value in options.items()})
        docs = [dict(zip(columns, row, strict=True)) | settings for row in zip(*columns.values(), strict=True)]
        rows = [score(doc, [item]) for doc, item in zip(docs, Judge().apply(predictions, docs), strict=True)]
        return {name: mean(row[name] for row in rows) for name in SCORES}
