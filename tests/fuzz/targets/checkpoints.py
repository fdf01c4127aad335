"""Folders of checkpoints, opened as a run opens them before it computes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import transformers

from speechiq.core.checkpoints.names import identity, resolve
from speechiq.engines.base import Setup
from speechiq.engines.registry import build_engine
from tests.engines import tiny, tiny_recognizers
from tests.fuzz.judge import judge
from tests.fuzz.targets.target import Target


def prepare_recognizer(folder: Path) -> list[Path]:
    """Save a tiny recognizer."""
    tiny_recognizers.save("wav2vec2", folder)
    return sorted(folder.iterdir())


def prepare_hearer(folder: Path) -> list[Path]:
    """Save a tiny language model that hears."""
    tiny.make("qwen2_audio", folder)
    return sorted(folder.iterdir())


def prepare_writer(folder: Path) -> list[Path]:
    """Save a tiny language model that reads."""
    tokenizer = tiny.read_tokenizer()
    config = transformers.LlamaConfig(**tiny.text(tokenizer, "llama", {}))
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sorted(folder.iterdir())


def _open_as(kind: str) -> Callable[[Path, random.Random], str | None]:
    """Return what builds the engine of a stage and reads what its rows in the store are known by."""

    def use(folder: Path, rng: random.Random) -> str | None:
        return judge(lambda: _open(kind, str(folder)))

    return use


def _open(kind: str, model: str) -> None:
    build_engine(kind, model, {}, Setup(engine="hf")).describe()
    identity.__wrapped__(resolve(model))


RECOGNISER = Target(prepare_recognizer, _open_as("asr"), cases=60)
HEARER = Target(prepare_hearer, _open_as("audio"), cases=6)
WRITER = Target(prepare_writer, _open_as("text"), cases=8)
