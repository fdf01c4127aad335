"""Make the two models of the demo's cascade in their architectures, tiny and untrained, with the demo's processors.

`python -m tests.engines.tiny_cascade FOLDER` makes both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import torch
import transformers

from speechiq.core.checkpoints.names import resolve

ASR, LLM = "demo:whisper-tiny.en", "demo:SmolLM2-135M-Instruct"
#: Tokens of a transcript at most; untrained models rarely end by themselves.
LONGEST = 12


class Cascade(NamedTuple):
    """The folders of a recognizer and of a language model."""

    asr: str
    llm: str

    @property
    def spec(self) -> str:
        """Return the system spec."""
        return f"{self.asr}+{self.llm}"

    def ask(self, *tasks: str, **metadata: str) -> tuple[str, ...]:
        """Return arguments of lm-eval that run the tasks with these models alone, with this metadata."""
        about = ",".join(f"{name}={value}" for name, value in ({"embedder": self.llm} | metadata).items())
        return (
            "--model", "hf-audio", "--model_args", f"pretrained={self.spec},llm_answer=likelihood",
            "--tasks", ",".join(tasks), "--metadata", about, "--log_samples",
        )  # fmt: skip


def save(folder: Path) -> Cascade:
    """Save both models below a folder."""
    names = Cascade(save_recognizer(folder / "tiny-whisper"), str(folder / "tiny-llm"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(resolve(LLM))
    llama = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, initializer_range=0.3, bos_token_id=1, eos_token_id=2, pad_token_id=2,
    )  # fmt: skip
    transformers.LlamaForCausalLM(llama).save_pretrained(names.llm)
    tokenizer.save_pretrained(names.llm)
    return names


def save_recognizer(folder: Path, like: str = ASR, seed: int = 0) -> str:
    """Save a recognizer with the processor and the languages of another Whisper; return its folder."""
    torch.manual_seed(seed)
    config = transformers.WhisperConfig.from_pretrained(
        resolve(like), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, init_std=0.3,
    )  # fmt: skip
    recognizer = transformers.WhisperForConditionalGeneration(config)
    recognizer.generation_config = transformers.GenerationConfig.from_pretrained(resolve(like), max_length=LONGEST)
    recognizer.save_pretrained(folder)
    transformers.WhisperProcessor.from_pretrained(resolve(like)).save_pretrained(folder)
    return str(folder)


if __name__ == "__main__":
    print(save(Path(sys.argv[1])).spec)
