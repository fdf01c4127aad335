"""Make recognizers of real architectures, tiny and untrained, with real processors, by `save_pretrained`.

`python -m tests.engines.tiny_recognizers NAME FOLDER` makes one.
"""

from __future__ import annotations

import json
import string
import sys
from pathlib import Path

import tokenizers
import torch
import transformers

from speechiq.core.checkpoints.names import resolve

CANARY_PROMPT = (
    "{% for said in messages[0].content if said.type == 'text' %}"
    "<|startofcontext|><|{{ said.source_language }}|><|{{ said.target_language }}|>"
    "{% endfor %}"
)
WIDTH = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64, "num_hidden_layers": 2}
WAVES = {"conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2}
LOUD = 8
MELS = {**WIDTH, "subsampling_conv_channels": 16, "num_mel_bins": 80}


def save(kind: str, folder: Path) -> Path:
    """Save a seeded model of an architecture in `folder`; return the folder."""
    torch.manual_seed(3)
    model, processor = MAKERS[kind](folder)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(LOUD if weight.ndim > 1 else 1)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _letters(folder: Path):
    """Return a wav2vec2 tokenizer: blank first, then `|` between words, then letters."""
    symbols = ["<pad>", "<s>", "</s>", "<unk>", "|", *string.ascii_uppercase]
    file = folder / "vocab.json"
    file.write_text(json.dumps({symbol: i for i, symbol in enumerate(symbols)}))
    return transformers.Wav2Vec2CTCTokenizer(str(file))


def wav2vec2(folder: Path, norm="layer", masked=True, **config):
    tokenizer = _letters(folder)
    extractor = transformers.Wav2Vec2FeatureExtractor(return_attention_mask=masked, do_normalize=masked)
    architecture = transformers.Wav2Vec2Config(
        **{**WIDTH, **WAVES, "vocab_size": len(tokenizer), "feat_extract_norm": norm, "pad_token_id": 0, **config}
    )
    return transformers.Wav2Vec2ForCTC(architecture), transformers.Wav2Vec2Processor(extractor, tokenizer)


def _tokens(blank: str | None):
    """Return a parakeet tokenizer of single letters."""
    symbols = ["<unk>", "▁", *string.ascii_lowercase, "<pad>", *([blank] if blank else [])]
    inner = tokenizers.Tokenizer(tokenizers.models.Unigram([(symbol, -1.0) for symbol in symbols], unk_id=0))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    inner.decoder = tokenizers.decoders.Metaspace()
    special = {"additional_special_tokens": [blank]} if blank else {}
    return transformers.ParakeetTokenizer(tokenizer_object=inner, unk_token="<unk>", pad_token="<pad>", **special)


def parakeet(folder: Path, head: str):
    tokenizer = _tokens(None if head == "CTC" else "<blank>")
    ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    decoder = {} if head == "CTC" else {"decoder_hidden_size": 16, "num_decoder_layers": 1, "blank_token_id": 29}
    config = getattr(transformers, f"Parakeet{head}Config")(encoder_config=MELS, **ids, **decoder)
    processor = transformers.ParakeetProcessor(
        transformers.ParakeetFeatureExtractor(), tokenizer, decoder_type=head.lower()
    )
    model = getattr(transformers, f"ParakeetFor{head}")(config)
    if head != "CTC":
        model.generation_config.decoder_start_token_id = config.blank_token_id
        model.encoder_projector.weight.data.mul_(3)
        model.joint.head.bias.data[config.blank_token_id] += 0.5 if head == "TDT" else 2.5
    if head == "TDT":
        model.generation_config.suppress_tokens = [len(tokenizer) + i for i in range(len(config.durations))]
    return model, processor


def _words():
    return transformers.AutoTokenizer.from_pretrained(resolve("demo:SmolLM2-135M-Instruct"))


def moonshine(folder: Path):
    tokenizer = _words()
    config = transformers.MoonshineConfig(
        hidden_size=32, intermediate_size=64, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2,
        encoder_num_attention_heads=2, decoder_num_attention_heads=2, vocab_size=len(tokenizer),
        max_position_embeddings=64, tie_word_embeddings=False,
    )  # fmt: skip
    extractor = transformers.Wav2Vec2FeatureExtractor(return_attention_mask=True, do_normalize=False)
    model = transformers.MoonshineForConditionalGeneration(config)
    return model, transformers.Wav2Vec2Processor(extractor, tokenizer)


def canary(folder: Path):
    tokenizer = _words()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|startofcontext|>", "<|en|>", "<|de|>"]})
    decoder = {**WIDTH, "vocab_size": len(tokenizer), "num_key_value_heads": 2, "head_dim": 16}
    config = transformers.CanaryConfig(
        vocab_size=len(tokenizer), encoder_config=MELS, decoder_config={**decoder, "max_position_embeddings": 64},
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, tie_word_embeddings=False,
    )  # fmt: skip
    processor = transformers.CanaryProcessor(
        transformers.ParakeetFeatureExtractor(), tokenizer, chat_template=CANARY_PROMPT
    )
    return transformers.CanaryForConditionalGeneration(config), processor


MAKERS = {
    "wav2vec2": wav2vec2,
    "wav2vec2-base": lambda folder: wav2vec2(folder, norm="group", masked=False),
    "parakeet_ctc": lambda folder: parakeet(folder, "CTC"),
    "parakeet_tdt": lambda folder: parakeet(folder, "TDT"),
    "parakeet_rnnt": lambda folder: parakeet(folder, "RNNT"),
    "moonshine": moonshine,
    "canary": canary,
}

if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    save(sys.argv[1], Path(sys.argv[2]))
