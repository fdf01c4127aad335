"""Make a tiny voice of a real architecture, VITS, randomly initialized, with a tokenizer of letters."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import VitsConfig, VitsModel, VitsTokenizer

LETTERS = "_abcdefghijklmnopqrstuvwxyz'-0123456789 "


def make_voice(folder: Path) -> str:
    """Save the checkpoint; return its folder as text."""
    torch.manual_seed(0)
    config = VitsConfig(
        vocab_size=len(LETTERS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=32, flow_size=16,
        spectrogram_bins=9, prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2,
        posterior_encoder_num_wavenet_layers=2, duration_predictor_filter_channels=16, duration_predictor_num_flows=2,
        upsample_initial_channel=32, upsample_rates=[8, 8, 2, 2], upsample_kernel_sizes=[16, 16, 4, 4],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
    )  # fmt: skip
    VitsModel(config).save_pretrained(folder)
    letters = folder / "letters.json"
    letters.write_text(json.dumps({letter: number for number, letter in enumerate(LETTERS)}))
    VitsTokenizer(str(letters), phonemize=False, is_uroman=False, normalize=True).save_pretrained(folder)
    return str(folder)
