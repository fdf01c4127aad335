"""Compute word and character error rates as a module of `evaluate`; see `speechiq.metrics.words.wer`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import datasets
import evaluate

from speechiq.metrics.evaluate import CITATION, PAPER
from speechiq.metrics.words.normalizer import DEFAULT, RULES
from speechiq.metrics.words.pairs import pair_texts
from speechiq.metrics.words.wer import score, wer

DESCRIPTION = """\
Word and character error rates of transcripts, after the normalization of both texts by Whisper's rules: the measure of
the level Remember of SpeechIQ.
"""
INPUTS = f"""\
Args:
    predictions (list of str): The transcripts.
    references (list of str): The words that were spoken.
    normalizer (str): One of {", ".join(RULES)}; by default {DEFAULT}.
Returns:
    wer, cer, substitutions, deletions, insertions: The means over the clips. Substitutions, deletions and insertions
        are per reference word, and add up to wer. Clips whose reference has no words after normalization have no
        rate and are left out; NaN if all are left out.
    wer_corpus: All errors over all reference words, of all clips.
    repetition: The share of all clips whose transcript repeats one phrase many times and whose reference does not.
"""
RATES = ("wer", "cer", "substitutions", "deletions", "insertions")


class SpeechiqWer(evaluate.Metric):
    """Average the rates of clips; see `speechiq.metrics.words.wer.score`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features({name: datasets.Value("string") for name in ("predictions", "references")}),
            reference_urls=[PAPER],
        )

    def _compute(
        self, predictions: Sequence[str], references: Sequence[str], normalizer: str = DEFAULT
    ) -> dict[str, float]:
        pairs = pair_texts(references, predictions)
        rows = [score({"text": reference, "normalizer": normalizer}, [hypothesis]) for reference, hypothesis in pairs]
        defined = [row for row in rows if not math.isnan(row["wer"])]
        return {
            **{name: _mean([row[name] for row in defined]) for name in RATES},
            "wer_corpus": wer(references, predictions, normalizer),
            "repetition": _mean([row["repetition"] for row in rows]),
        }


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
