"""Compute METEOR of captions as a module of `evaluate`, offline; see `speechiq.metrics.rules.meteor`."""

from collections.abc import Sequence

from speechiq.metrics.evaluate import module
from speechiq.metrics.rules.meteor import meteor


class SpeechiqMeteor(module.Module):
    """Compute METEOR of captions against one or several references, for the caption tasks of SpeechIQ.

    NLTK's own function reads a table of WordNet 3.0 that is part of the package, so that nothing is downloaded.
    """

    forms = (module.SEVERAL_REFERENCES, *module.Module.forms)

    def _compute(self, predictions: Sequence[str], references: Sequence[str | Sequence[str]]) -> dict[str, float]:
        """Return the score of all captions.

        Args:
            predictions (list of str): The captions.
            references (list of str, or list of lists of str): One reference of each caption, or several, of which the
                best counts.

        Returns:
            meteor: The mean over the captions; NaN if a caption has no reference with words.
        """
        return {"meteor": meteor(references, predictions)}
