"""Name the ways of scoring that published numbers used."""

from __future__ import annotations

from typing import NamedTuple


class Preset(NamedTuple):
    """One way of scoring.

    Attributes:
        weights: Rule of the level weights.
        measures: `LEVEL=COLUMN` each, for the levels that are not scored by their usual column.
    """

    weights: str
    measures: tuple[str, ...]


#: `paper`: the released numbers of the SpeechIQ paper. Its text says standard deviations, the majority of five answers
#: and no normalizer; its numbers follow variances, three right answers of five, and Whisper's basic normalizer.
PRESETS = {"paper": Preset("inverse-variance", ("remember=wer_basic", "apply=acc_strict"))}
