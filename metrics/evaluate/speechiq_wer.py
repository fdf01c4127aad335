"""Compute word and character error rates as a module of `evaluate`; see `speechiq.metrics.words.wer`."""

from collections.abc import Sequence

from speechiq.metrics.columns import mean
from speechiq.metrics.evaluate import module
from speechiq.metrics.words.normalizer import DEFAULT
from speechiq.metrics.words.pairs import pair_texts
from speechiq.metrics.words.wer import score, wer

MEANS = ("wer", "cer", "substitutions", "deletions", "insertions", "repetition")


class SpeechiqWer(module.Module):
    """Compute word and character error rates of transcripts, after both texts are normalized.

    The measure of the level Remember of SpeechIQ.
    """

    def _compute(
        self, predictions: Sequence[str], references: Sequence[str], normalizer: str = DEFAULT
    ) -> dict[str, float]:
        """Return the rates of all clips.

        Args:
            predictions (list of str): The transcripts.
            references (list of str): The words that were spoken.
            normalizer (str): english (default), whisper, basic or multilingual.

        Returns:
            wer, cer, substitutions, deletions, insertions: The means over the clips. Substitutions, deletions and
                insertions are per reference word, and add up to wer. Clips whose reference has no words after
                normalization have no rate and are left out; NaN if all are left out.
            wer_corpus: All errors over all reference words, of all clips.
            repetition: The share of all clips whose transcript repeats one phrase many times more than the reference.
        """
        pairs = pair_texts(references, predictions)
        rows = [score({"text": reference, "normalizer": normalizer}, [hypothesis]) for reference, hypothesis in pairs]
        means = {name: mean(row[name] for row in rows) for name in MEANS}
        return means | {"wer_corpus": wer(references, predictions, normalizer)}
