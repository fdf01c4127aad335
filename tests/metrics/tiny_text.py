"""Make tiny checkpoints that read texts, randomly initialized, with a tokenizer of whole words."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = """who what where is was the a of in to invented calculus cactus jeans genes five boroughs burgers fried
new york amazon rainforest located this sentence means one word you are helpful human assistant if question
: " ? . , ' s"""
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
SIZES = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
    "initializer_range": 0.3, "max_position_embeddings": 400, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3,
}  # fmt: skip
LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def save(model, folder: Path, *, marks: bool = False, **special) -> str:
    """Save a model and its tokenizer; `marks` puts a beginning and an end around each text."""
    vocab = {word: i for i, word in enumerate([*SPECIAL, *dict.fromkeys(WORDS.split())])}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if marks:
        tokenizer.post_processor = processors.TemplateProcessing(
            "<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"} | special
    tf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    model.save_pretrained(folder)
    return str(folder)


def size() -> int:
    return len(SPECIAL) + len(dict.fromkeys(WORDS.split()))


def language_model(kind: str, folder: Path, **changes) -> str:
    """Save a causal language model; `kind` is the beginning of its class's name, such as `Llama`."""
    torch.manual_seed(0)
    config = getattr(tf, f"{kind}Config")(**SIZES | {"vocab_size": size(), "tie_word_embeddings": False} | changes)
    model = getattr(tf, f"{kind}ForCausalLM")(config)
    if (bias := model.get_output_embeddings().bias) is not None:
        torch.nn.init.normal_(bias)
    return save(model, folder)


def encoder(folder: Path) -> str:
    torch.manual_seed(0)
    return save(tf.RobertaModel(tf.RobertaConfig(vocab_size=size(), **SIZES)), folder, marks=True)


def tagger(folder: Path, labels=LABELS) -> str:
    torch.manual_seed(1)
    names = dict(enumerate(labels))
    config = tf.BertConfig(vocab_size=size(), id2label=names, label2id={v: k for k, v in names.items()}, **SIZES)
    return save(tf.BertForTokenClassification(config), folder, marks=True)
