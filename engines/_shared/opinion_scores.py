"""Define the networks of DistillMOS and UTMOS, which predict how people rate speech (mean opinion score, 1 to 5).

Both are written here, since the published code imports torchaudio; the weights are the published ones.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional
from transformers import Wav2Vec2Config, Wav2Vec2Model

from speechiq.core.console import list_some
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import open_plain

#: Samples of a window (7.68 s at 16 kHz), and the most between the starts of two windows.
WINDOW, HOP = 122_880, 16_000
FRAME, STRIDE = 320, 160
CHANNELS = (2, 64, 64, 128, 256, 256, 256)
FEATURES, WIDTH, HEADS, LAYERS, FRAMES = 1024, 200, 8, 7, 384
COMPRESSION = 0.3
SLOPE = 0.1
#: Windows of a sound that are computed at once.
BATCH = 8
#: Names of weights in the published file of DistillMOS -> names here.
DISTILLMOS_NAMES = {
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
    """Predict the opinion score of windows of speech: convolutions over the spectrum, a transformer, pooling.

    Stahl and Gamper, "Distillation and Pruning for Scalable Self-Supervised Representation-Based Speech Quality
    Assessment", 2025. The weights are taken from its package, as data.
    """

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


def load_distillmos(file: Path) -> DistillMOS:
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
        before, after = next((before, after) for before, after in DISTILLMOS_NAMES.items() if name.startswith(before))
        renamed[after + name.removeprefix(before)] = weight
    return renamed


#: Size of the embeddings of the listening test and of the listener, of an LSTM's state, and of the projection.
EMBEDDING, STATE, HIDDEN = 128, 512, 2048
#: Parts of names of weights here -> in the published file of UTMOS.
UTMOS_NAMES = {
    r"\.conv\.": ".0.",
    r"conv_layers\.0\.layer_norm": "conv_layers.0.2",
    r"feature_projection\.layer_norm": "layer_norm",
    r"feature_projection\.projection": "post_extract_proj",
    r"masked_spec_embed": "mask_emb",
    r"pos_conv_embed": "pos_conv",
    r"parametrizations\.weight\.original0": "weight_g",
    r"parametrizations\.weight\.original1": "weight_v",
    r"\.attention\.": ".self_attn.",
    r"(encoder\.layers\.\d+)\.layer_norm": r"\1.self_attn_layer_norm",
    r"feed_forward\.intermediate_dense": "fc1",
    r"feed_forward\.output_dense": "fc2",
}


class UTMOS(nn.Module):
    """Predict the opinion score of speech: wav2vec 2.0, one listening test and listener, LSTMs in both directions.

    Saeki et al., "UTMOS: UTokyo-SaruLab System for VoiceMOS Challenge 2022", the strong learner without phonemes, as
    torch.hub has it (`tarepan/SpeechMOS:v1.2.0`, `utmos22_strong`), whose file the user gives.
    """

    def __init__(self) -> None:
        super().__init__()
        config = Wav2Vec2Config(apply_spec_augment=False)  # its defaults are wav2vec2-base, on which UTMOS was trained
        self.wav2vec2 = Wav2Vec2Model(config)
        self.domain_emb = nn.Parameter(torch.zeros(1, EMBEDDING))
        self.judge_emb = nn.Parameter(torch.zeros(1, EMBEDDING))
        self.blstm = nn.LSTM(config.hidden_size + 2 * EMBEDDING, STATE, batch_first=True, bidirectional=True)
        self.projection = nn.Sequential(nn.Linear(2 * STATE, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        """Return the score of each sound, shape (sounds,), from samples of shape (sounds, samples), 16 kHz."""
        states = self.wav2vec2(samples).last_hidden_state
        given = torch.cat([self.domain_emb, self.judge_emb], dim=1).expand(*states.shape[:2], -1)
        scores = self.projection(self.blstm(torch.cat([states, given], dim=2))[0])
        return scores.mean(dim=(1, 2)) * 2 + 3

    @torch.inference_mode()
    def rate(self, samples: np.ndarray) -> float:
        """Return the score of a sound: float32, shape (samples,), 16 kHz."""
        return float(self(torch.from_numpy(samples)[None])[0])


def load_utmos(file: Path) -> UTMOS:
    """Return the network with the weights of the published file, on the CPU."""
    return _fill(file, "cpu").float().eval()


def check_utmos(file: Path) -> None:
    """Refuse a file that does not have the weights of this network, by their names and shapes."""
    _fill(file, "meta")


def _fill(file: Path, device: str) -> UTMOS:
    with torch.device("meta"):
        network = UTMOS()
    wanted = network.state_dict()
    published = {name: publish_name(name) for name in wanted}
    found = _read(file, device)
    _refuse(file, "misses", published.values() - found.keys())
    _refuse(file, "has the unknown", found.keys() - {*published.values()})
    shapes = {published[name]: weight.shape for name, weight in wanted.items()}
    reshaped = {name for name, shape in shapes.items() if getattr(found[name], "shape", None) != shape}
    _refuse(file, "has another shape of", reshaped)
    network.load_state_dict({name: found[published[name]] for name in wanted}, assign=True)
    return network


def _read(file: Path, device: str) -> dict[str, Any]:
    try:
        with open_plain(file) as opened:
            found = torch.load(opened, map_location=device, weights_only=True)
    except OSError as error:
        raise SpeechIQError(
            f"UTMOS weights {file}", f"cannot be read ({error.strerror})", "correct the path"
        ) from error
    except Exception as error:
        raise SpeechIQError(
            f"UTMOS weights {file}",
            "is damaged, or contains more than weights; it was not executed",
            "download it again",
        ) from error
    return found if isinstance(found, dict) else {}


def publish_name(name: str) -> str:
    """Return the name of a weight in the published file.

    >>> publish_name("wav2vec2.encoder.layers.3.feed_forward.output_dense.bias")
    'wav2vec2.encoder.layers.3.fc2.bias'
    """
    for pattern, published in UTMOS_NAMES.items():
        name = re.sub(pattern, published, name)
    return name


def _refuse(file: Path, how: str, names: Iterable[Any]) -> None:
    if names := sorted(map(str, names)):
        raise SpeechIQError(
            f"UTMOS weights {file}",
            f"the weights of another network: it {how} {list_some(names, 1)}",
            "give the published file of utmos22_strong",
        )
