"""Compute METEOR of captions as a module of `evaluate`, offline; see `speechiq.metrics.rules.meteor`."""

from __future__ import annotations

from collections.abc import Sequence

import datasets
import evaluate

from speechiq.metrics.evaluate import CITATION, PAPER
from speechiq.metrics.rules.meteor import meteor

DESCRIPTION = """\
METEOR of captions against one or several references, by NLTK's own function over a table of WordNet 3.0 that is part of
SpeechIQ, so that nothing is downloaded.
"""
INPUTS = """\
Args:
    predictions (list of str): The captions.
    references (list of str, or list of lists of str): One reference of each caption, or several, of which the best
        counts.
Returns:
    meteor: The mean over the captions; NaN if a caption has no reference with words.
"""


class SpeechiqMeteor(evaluate.Metric):
    """Average the scores of captions; see `speechiq.metrics.rules.meteor.meteor`."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=[
                datasets.Features({"predictions": text, "references": datasets.Sequence(text)}),
                datasets.Features({"predictions": text, "references": text}),
            ],
            reference_urls=[PAPER],
        )

    def _compute(self, predictions: Sequence[str], references: Sequence[str | Sequence[str]]) -> dict[str, float]:
        return {"meteor": meteor(references, predictions)}
