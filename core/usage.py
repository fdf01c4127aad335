"""How often the expensive things were done in this process, so that work done twice shows."""

from __future__ import annotations

from collections import Counter

#: Clips through a recognizer (`asr_clips`) or an audio encoder (`encoded_clips`), prompts read (`prefills`),
#: tokens written (`generated_tokens`), texts embedded (`embeddings`), calls to endpoints (`calls`).
usage: Counter[str] = Counter()
