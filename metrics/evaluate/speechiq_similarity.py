"""Compute the similarity of transcripts to references as a module of `evaluate`; see `speechiq.metrics.similarity`."""

from __future__ import annotations

from collections.abc import Sequence

import datasets
import evaluate

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.distance.embedder import DEFAULT_EMBEDDER, read_embedding
from speechiq.metrics.evaluate import CITATION, PAPER
from speechiq.metrics.similarity import PROMPTS, compute_cosines
from speechiq.metrics.words.pairs import pair_texts

DESCRIPTION = """\
Cosines of a language model's hidden states of transcript and reference under two one-word prompts: the measure of the
level Understand of SpeechIQ.
"""
INPUTS = f"""\
Args:
    predictions (list of str): The transcripts.
    references (list of str): The words that were spoken.
    embedder (str): A causal language model: hub id, folder, or demo:NAME; by default {DEFAULT_EMBEDDER}.
    embedder_template (str): plain (the default) or chat.
    embedder_text (str): raw (the default), or the normalizer that is applied to both texts.
    embedder_dtype (str): float32 (the default), bfloat16 or float16.
Returns:
    similarity: The mean over the clips of the lower of their two cosines.
    {", ".join(f"similarity_{name}" for name in PROMPTS)}: The mean cosine under each prompt.
"""


class SpeechiqSimilarity(evaluate.Metric):
    """Average the cosines of clips; see `speechiq.metrics.similarity.compute_cosines`."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features({name: datasets.Value("string") for name in ("predictions", "references")}),
            reference_urls=[PAPER],
        )

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        embedder: str = DEFAULT_EMBEDDER,
        embedder_template: str = "plain",
        embedder_text: str = "raw",
        embedder_dtype: str = "float32",
    ) -> dict[str, float]:
        embedding = read_embedding(
            {
                "embedder": embedder,
                "embedder_template": embedder_template,
                "embedder_text": embedder_text,
                "embedder_dtype": embedder_dtype,
            }
        )
        if not references:
            raise SpeechIQError("predictions: empty; give at least one transcript and its reference")
        cosines = compute_cosines(pair_texts(references, predictions), embedding)
        means = cosines.mean(axis=0).tolist()
        return {
            "similarity": float(cosines.min(axis=1).mean()),
            **{f"similarity_{name}": mean for name, mean in zip(PROMPTS, means, strict=True)},
        }
