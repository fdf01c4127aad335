"""Name the five systems of the demo: two recognizers of one family, a classic one, and two controls."""

from __future__ import annotations

LLM = "demo:SmolLM2-135M-Instruct"
RECOGNIZERS = ("demo:whisper-base", "demo:whisper-tiny.en", "pocketsphinx:en-us", "gold", "silence")
SYSTEMS = tuple(f"{recognizer}+{LLM}" for recognizer in RECOGNIZERS)
#: Options of every system: the language model is too small to follow instructions.
OPTIONS = "llm_answer=likelihood"
TASKS = ("siq_demo",)
