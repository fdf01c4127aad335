"""Count expensive work in this process, which makes work done twice visible."""

from __future__ import annotations

from collections import Counter

#: Clips transcribed by a recognizer (`asr_clips`) or encoded by an audio encoder (`encoded_clips`), prompts prefilled
#: (`prefills`), tokens generated (`generated_tokens`), texts embedded (`embeddings`), calls to endpoints (`calls`).
usage: Counter[str] = Counter()
