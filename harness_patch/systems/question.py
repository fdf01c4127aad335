"""Define what a system is asked about clips."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from speechiq.core.prompt import Prompt

#: `Question.purpose` of what asks for a transcript, and of what is answered aloud.
TRANSCRIBE, REPLY = "transcribe", "reply"


@dataclass(frozen=True, slots=True)
class Question:
    """Describe a question about clips.

    Attributes:
        prompt: The task's text and clips.
        settings: The task's generation settings (`do_sample`, `max_gen_toks`, `until`, ...).
        text: The question alone, if the task gives it; else empty.
        options: Texts to choose from, for multiple choice; or the one continuation to score.
        purpose: `transcribe`, `answer`, `reply` (aloud), or empty if the task does not have it.
    """

    prompt: Prompt
    settings: Mapping[str, Any]
    text: str = ""
    options: tuple[str, ...] = ()
    purpose: str = ""

    def seeds(self, seed: int, n: int) -> list[int]:
        """Return one seed per answer, which depends on prompt and audio, never on the batch or the process."""
        text, *clips = self.prompt.key
        key = seed, *clips, text
        return [int.from_bytes(hashlib.sha256(repr((*key, i)).encode()).digest()[:8]) for i in range(n)]
