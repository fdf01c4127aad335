"""How much audio reaches a model, found by trying: many processors drop what is beyond their window in silence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.errors import SpeechIQError
from speechiq.engines._shared.windows import split
from speechiq.engines.audio.prompts import AudioPrompts

FIRST_TRIAL_S = 32
#: Of the model's context, tokens that are kept free for the words of a prompt and for the answer.
RESERVED = 1024


class Reach:
    """The longest piece of audio that a model takes whole, and the most that one prompt of it holds.

    Args:
        prompts: of the model.
        context: tokens that the model takes in all, where its config tells.
    """

    def __init__(self, prompts: AudioPrompts, context: int | None) -> None:
        self.prompts, self.room = prompts, (context or math.inf) - RESERVED
        self.tried, self.limit = 0, math.inf
        self._probe = cache(prompts.probe)

    def of_a_piece(self, seconds: float) -> float:
        """Of so long a piece of audio, the seconds that reach the model."""
        while self.limit == math.inf and self.tried < seconds:
            trial = max(2 * self.tried, FIRST_TRIAL_S)
            if not self._takes(trial):
                self.limit = self._search(self.tried, trial)
                self._check()
            self.tried = trial
        return min(seconds, self.limit)

    def of_a_prompt(self, clips: Sequence[Clip]) -> list[float]:
        """Of each clip in one prompt, the seconds that reach the model, in one piece or in several."""
        shares: list[float] = []
        for clip in clips:
            share = self.of_a_piece(clip.duration)
            if share < clip.duration and self.prompts.takes_several:
                share = clip.duration
            shares.append(max(0.0, min(share, self._longest_prompt() - sum(shares))))
        return shares

    def pieces(self, clip: Clip, seconds: float = math.inf) -> list[Clip]:
        """The beginning of a clip, in pieces that reach the model whole, parted where the speech pauses."""
        clip = clip if seconds >= clip.duration else clip.part(0.0, seconds)
        longest = self.of_a_piece(clip.duration)
        if longest == clip.duration:
            return [clip]
        return [
            clip.part(start / SAMPLING_RATE, (stop - start) / SAMPLING_RATE)
            for start, stop in split(clip.samples, longest)
        ]

    def describe(self) -> dict[str, Any]:
        """What was found so far."""
        if self.limit == math.inf:
            return {}
        return {"longest_piece_s": self.limit, "takes_pieces": self.prompts.takes_several}

    def _check(self) -> None:
        if self.limit < 1:
            raise SpeechIQError(
                f"{self.prompts.name}: takes not even a second of audio beside {RESERVED} tokens of text; "
                f"choose a model with a longer context"
            )

    def _takes(self, seconds: int) -> bool:
        heard, tokens = self._probe(seconds)
        return heard and tokens <= self.room

    def _search(self, taken: int, lost: int) -> int:
        while lost - taken > 1:
            middle = (taken + lost) // 2
            taken, lost = (middle, lost) if self._takes(middle) else (taken, middle)
        return taken

    def _longest_prompt(self) -> float:
        longest = min(self.limit, self.tried)
        return self.room * longest / self._probe(longest)[1]
