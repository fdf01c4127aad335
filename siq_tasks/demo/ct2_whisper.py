"""Convert a Whisper checkpoint in CTranslate2's format into a `transformers` folder.

The file `model.bin` (binary version 6, little endian) contains a header, then named tensors, then aliases: see
`ctranslate2/specs/model_spec.py` of that project. Its linear layers fuse the query, key and value projections;
`transformers` has separate ones.
"""

from __future__ import annotations

import io
import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedTokenizerFast

BINARY_VERSION = 6
TYPES = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2"}  # ids of CTranslate2's DataType

LAYER_PARTS = {
    "self_attention/linear_0": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention/linear_1": ("self_attn.out_proj",),
    "self_attention/layer_norm": ("self_attn_layer_norm",),
    "attention/linear_0": ("encoder_attn.q_proj",),
    "attention/linear_1": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "attention/linear_2": ("encoder_attn.out_proj",),
    "attention/layer_norm": ("encoder_attn_layer_norm",),
    "ffn/linear_0": ("fc1",),
    "ffn/linear_1": ("fc2",),
    "ffn/layer_norm": ("final_layer_norm",),
}
TOP_PARTS = {
    "conv1": "conv1",
    "conv2": "conv2",
    "layer_norm": "layer_norm",
    "position_encodings": "embed_positions",
    "embeddings": "embed_tokens",
}
LEAVES = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "encodings": "weight"}
NAME = re.compile(r"(?P<side>encoder|decoder)/(?:layer_(?P<layer>\d+)/)?(?P<part>.+)/(?P<leaf>\w+)")


def read_tensors(stream: BinaryIO) -> dict[str, np.ndarray]:
    """Return the named tensors of a CTranslate2 Whisper file; aliases are left out."""

    def number(kind: str) -> int:
        return int(struct.unpack("<" + kind, stream.read(struct.calcsize("<" + kind)))[0])

    def string() -> str:
        return stream.read(number("H")).rstrip(b"\0").decode()

    version, spec = number("I"), string()
    if version != BINARY_VERSION or spec != "WhisperSpec":
        raise ValueError(f"expected WhisperSpec in binary version {BINARY_VERSION}, found {spec} in {version}")
    number("I")
    tensors = {}
    for _ in range(number("I")):
        name = string()
        shape = [number("I") for _ in range(number("B"))]
        kind = TYPES[number("B")]
        tensors[name] = np.frombuffer(stream.read(number("I")), kind).reshape(shape)
    return tensors


def to_state_dict(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the weights under the names of `WhisperForConditionalGeneration`."""
    state = {}
    for name, tensor in tensors.items():
        match = NAME.fullmatch(name)
        if not match or tensor.dtype.kind != "f" or match["leaf"] not in LEAVES:
            continue
        base, leaf = f"model.{match['side']}", LEAVES[match["leaf"]]
        if match["layer"] is None:
            state[f"{base}.{TOP_PARTS[match['part']]}.{leaf}"] = tensor
            continue
        targets = LAYER_PARTS[match["part"]]
        for target, part in zip(targets, np.split(tensor, len(targets)), strict=True):
            if target.endswith("k_proj") and leaf == "bias":
                if part.any():
                    raise ValueError(f"{name}: Whisper's keys have no bias, but this bias is not zero")
                continue
            state[f"{base}.layers.{match['layer']}.{target}.{leaf}"] = part
    state["proj_out.weight"] = state["model.decoder.embed_tokens.weight"]
    return state


def build_tokenizer(file: Path, vocabulary: int) -> PreTrainedTokenizerFast:
    """Return the tokenizer of `tokenizer.json` with the timestamp tokens, which are not in the file."""
    from tokenizers import AddedToken
    from transformers import WhisperTokenizerFast

    end = "<|endoftext|>"
    ends = dict.fromkeys(("unk_token", "bos_token", "eos_token", "pad_token"), end)
    tokenizer = WhisperTokenizerFast(tokenizer_file=str(file), model_max_length=1024, **ends)
    times = [f"<|{0.02 * step:.2f}|>" for step in range(vocabulary - len(tokenizer))]
    tokenizer.add_tokens([AddedToken(time, normalized=False, special=False) for time in times])
    return tokenizer


def build_generation_config(tokenizer: PreTrainedTokenizerFast, settings: Mapping[str, Any]) -> GenerationConfig:
    """Return the decoding settings of OpenAI's checkpoint from CTranslate2's `config.json`."""
    from transformers import GenerationConfig

    def token(text: str) -> int:
        return int(tokenizer.convert_tokens_to_ids(text))

    end = token("<|endoftext|>")
    languages = {tokenizer.convert_ids_to_tokens(i): i for i in settings.get("lang_ids", [])}
    multilingual = "<|en|>" in languages
    own: dict[str, Any] = {"forced_decoder_ids": None}
    if multilingual:
        codes = {text: i for text, i in languages.items() if re.fullmatch(r"<\|[a-z]+\|>", text)}
        own = {"lang_to_id": codes, "task_to_id": {task: token(f"<|{task}|>") for task in ("transcribe", "translate")}}
    return GenerationConfig(
        alignment_heads=settings["alignment_heads"],
        suppress_tokens=settings["suppress_ids"],
        begin_suppress_tokens=settings["suppress_ids_begin"],
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        decoder_start_token_id=token("<|startoftranscript|>"),
        no_timestamps_token_id=token("<|notimestamps|>"),
        prev_sot_token_id=token("<|startofprev|>"),
        max_initial_timestamp_index=50,
        max_length=448,
        is_multilingual=multilingual,
        return_timestamps=False,
        **own,
    )


def convert(binary: bytes, folder: Path, target: Path) -> None:
    """Write the checkpoint (`model.bin`, and a folder with its config) in the form of `transformers`, in float16."""
    import torch
    from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperProcessor

    tensors = read_tensors(io.BytesIO(binary))
    state = to_state_dict(tensors)
    settings = json.loads(folder.joinpath("config.json").read_text())
    vocabulary, width = state["model.decoder.embed_tokens.weight"].shape
    mel_bins = state["model.encoder.conv1.weight"].shape[1]
    tokenizer = build_tokenizer(folder / "tokenizer.json", vocabulary)
    generation = build_generation_config(tokenizer, settings)

    def count_layers(side: str) -> int:
        return len({name for name in state if re.fullmatch(rf"model\.{side}\.layers\.\d+\.fc1\.weight", name)})

    config = WhisperConfig(
        vocab_size=vocabulary,
        d_model=width,
        num_mel_bins=mel_bins,
        encoder_layers=count_layers("encoder"),
        decoder_layers=count_layers("decoder"),
        encoder_attention_heads=int(tensors["encoder/num_heads"]),
        decoder_attention_heads=int(tensors["decoder/num_heads"]),
        encoder_ffn_dim=state["model.encoder.layers.0.fc1.weight"].shape[0],
        decoder_ffn_dim=state["model.decoder.layers.0.fc1.weight"].shape[0],
        max_source_positions=len(state["model.encoder.embed_positions.weight"]),
        max_target_positions=len(state["model.decoder.embed_positions.weight"]),
        bos_token_id=generation.bos_token_id,
        eos_token_id=generation.eos_token_id,
        pad_token_id=generation.pad_token_id,
        decoder_start_token_id=generation.decoder_start_token_id,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    model = WhisperForConditionalGeneration(config)
    model.load_state_dict({name: torch.tensor(value) for name, value in state.items()})
    model.generation_config = generation
    model.half().save_pretrained(target)
    WhisperProcessor(WhisperFeatureExtractor(feature_size=mel_bins), tokenizer).save_pretrained(target)
