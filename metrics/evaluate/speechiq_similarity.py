"""Compute the similarity of transcripts to references as a module of `evaluate`; see `speechiq.metrics.similarity`."""

from collections.abc import Sequence

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.distance.embedder import DEFAULT_EMBEDDER, read_embedding
from speechiq.metrics.evaluate import module
from speechiq.metrics.similarity import PROMPTS, compute_cosines
from speechiq.metrics.words.pairs import pair_texts


class SpeechiqSimilarity(module.Module):
    """Compute cosines of a language model's hidden states of transcript and reference under two one-word prompts.

    The measure of the level Understand of SpeechIQ.
    """

    def _compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        embedder: str = DEFAULT_EMBEDDER,
        embedder_template: str = "plain",
        embedder_text: str = "raw",
        embedder_dtype: str = "float32",
    ) -> dict[str, float]:
        """Return the similarity of all clips.

        Args:
            predictions (list of str): The transcripts.
            references (list of str): The words that were spoken.
            embedder (str): A causal language model: hub id, folder, or demo:NAME; by default the paper's,
                meta-llama/Llama-3.1-8B-Instruct.
            embedder_template (str): plain (the default) or chat.
            embedder_text (str): raw (the default), or the normalizer that is applied to both texts.
            embedder_dtype (str): float32 (the default), bfloat16 or float16.

        Returns:
            similarity: The mean over the clips of the lower of their two cosines.
            similarity_background, similarity_summary: The mean cosine under each prompt.
        """
        options = {"template": embedder_template, "text": embedder_text, "dtype": embedder_dtype}
        settings = {"embedder": embedder} | {f"embedder_{name}": value for name, value in options.items()}
        embedding = read_embedding(settings)
        if not references:
            raise SpeechIQError("predictions", "empty", "give at least one transcript and its reference")
        cosines = compute_cosines(pair_texts(references, predictions), embedding)
        means = cosines.mean(axis=0).tolist()
        return {
            "similarity": float(cosines.min(axis=1).mean()),
            **{f"similarity_{name}": mean for name, mean in zip(PROMPTS, means, strict=True)},
        }
