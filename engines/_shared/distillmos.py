"""Define the network of DistillMOS, which predicts how people rate the quality of speech (mean opinion score, 1 to 5).

Stahl and Gamper, "Distillation and Pruning for Scalable Self-Supervised Representation-Based Speech Quality
Assessment", 2025. Only the weights are taken from its package, as data; the network is written here, since the package
imports torchaudio.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

#: Samples of a window (7.68 s at 16 kHz), and the most between the starts of two windows.
WINDOW, HOP = 122_880, 16_000
FRAME, STRIDE = 320, 160
CHANNELS = (2, 64, 64, 128, 256, 256, 256)
FEATURES, WIDTH, HEADS, LAYERS, FRAMES = 1024, 200, 8, 7, 384
COMPRESSION = 0.3
SLOPE = 0.1
#: Windows of a sound that are computed at once.
BATCH = 8
#: Names of weights in the published file -> names here.
NAMES = {
    "cnn.cnn.": "convolutions.",
    "transformer_pool_attn.norm_input.": "input_norm.",
    "transformer_pool_attn.transformer.norm.": "feature_norm.",
    "transformer_pool_attn.transformer.linear_proj.": "projection.",
    "transformer_pool_attn.transformer.position_encoding.pe": "positions",
    "transformer_pool_attn.transformer.transformer_encoder.": "encoder.",
    "transformer_pool_attn.norm_trans.": "output_norm.",
    "transformer_pool_attn.pool.linear1.": "attention.0.",
    "transformer_pool_attn.pool.linear2.": "attention.2.",
    "transformer_pool_attn.pool.linear3.": "score.",
}


class DistillMOS(nn.Module):
    """Predict the opinion score of windows of speech: convolutions over the spectrum, a transformer, pooling."""

    positions: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number, (before, after) in enumerate(pairwise(CHANNELS)):
            stride = (1 if number == 0 else 2, 2 if number == len(CHANNELS) - 2 else 1)
            layers += [nn.Conv2d(before, after, 3, stride=stride, padding=(0, 1)), nn.LeakyReLU(SLOPE)]
        self.convolutions = nn.Sequential(*layers)
        self.input_norm, self.feature_norm = nn.BatchNorm1d(FEATURES), nn.BatchNorm1d(FEATURES)
        self.projection = nn.Linear(FEATURES, WIDTH)
        self.register_buffer("positions", torch.zeros(1, FRAMES, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.output_norm = nn.BatchNorm1d(WIDTH)
        self.attention = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, 1))
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        """Return the score of each window, shape (windows,), from samples of shape (windows, `WINDOW`)."""
        peaks = windows.abs().amax(dim=1, keepdim=True)
        features = self.convolutions(_compress(windows / (peaks + 1e-8))).flatten(1, 2)
        features = self.feature_norm(self.input_norm(features)).transpose(1, 2)
        states = self.encoder(self.projection(features) + self.positions)
        states = self.output_norm(states.transpose(1, 2)).transpose(1, 2)
        pooled = (self.attention(states).softmax(dim=1) * states).sum(dim=1)
        return 1 + 4 * torch.sigmoid(self.score(pooled)).squeeze(-1)

    @torch.inference_mode()
    def rate(self, samples: np.ndarray) -> float:
        """Return the mean score of the windows of a sound: float32, shape (samples,), 16 kHz."""
        scores = [self(windows) for windows in torch.split(cut_windows(samples), BATCH)]
        return float(torch.cat(scores).mean())


def load(file: Path) -> DistillMOS:
    """Return the network with the weights of a file that `siq demo fetch distillmos` made, on the CPU."""
    network = DistillMOS()
    network.load_state_dict(load_file(file))
    return network.eval()


def _compress(samples: torch.Tensor) -> torch.Tensor:
    """Return the spectrum with compressed magnitudes: (windows, samples) to (windows, 2, bins, frames)."""
    edge = (FRAME - STRIDE) // 2
    spectrum = torch.stft(
        functional.pad(samples, (edge, edge), mode="reflect"),
        n_fft=FRAME,
        hop_length=STRIDE,
        window=torch.hann_window(FRAME, device=samples.device),
        center=False,
        return_complex=True,
    )
    magnitude = spectrum.abs().clamp(min=1e-12)
    compressed = torch.view_as_real(spectrum * magnitude ** (COMPRESSION - 1))
    return compressed.permute(0, 3, 1, 2)


def cut_windows(samples: np.ndarray) -> torch.Tensor:
    """Return the windows of a sound, shape (windows, `WINDOW`), evenly spaced and at most `HOP` apart."""
    rest = max(len(samples) - WINDOW, 0)
    padded = np.pad(samples, (0, max(WINDOW - len(samples), 0)))
    starts = (np.linspace(0, 1, -(-rest // HOP) + 1) * rest).astype(int)
    return torch.from_numpy(np.stack([padded[start : start + WINDOW] for start in starts]))


def rename_weights(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the published weights under the names of this module."""
    renamed = {}
    for name, weight in weights.items():
        before, after = next((before, after) for before, after in NAMES.items() if name.startswith(before))
        renamed[after + name.removeprefix(before)] = weight
    return renamed
