"""Folders of checkpoints, opened as a run opens them before it computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import transformers

from speechiq.core.checkpoints.names import identity, resolve
from speechiq.engines.base import Setup
from speechiq.engines.registry import build_engine
from tests.engines import tiny, tiny_recognizers
from tests.fuzz.judge import judge
from tests.fuzz.targets.target import Target


def save_writer(folder: Path) -> None:
    """Save a tiny language model that reads."""
    tokenizer = tiny.read_tokenizer()
    config = transformers.LlamaConfig(**tiny.text(tokenizer, "llama", {}))
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_target(kind: str, save: Callable[[Path], Any], cases: int) -> Target:
    """Return a target that saves a checkpoint, builds its engine, and reads what its rows in the store are known by."""

    def prepare(folder: Path) -> list[Path]:
        save(folder)
        return sorted(folder.iterdir())

    def open_engine(model: str) -> None:
        build_engine(kind, model, {}, Setup(engine="hf")).describe()
        identity.__wrapped__(resolve(model))

    return Target(prepare, lambda folder, rng: judge(lambda: open_engine(str(folder))), cases)


RECOGNISER = make_target("asr", partial(tiny_recognizers.save, "wav2vec2"), cases=60)
HEARER = make_target("audio", partial(tiny.make, "qwen2_audio"), cases=6)
WRITER = make_target("text", save_writer, cases=8)
