"""Define the network of UTMOS, which predicts how people rate the naturalness of speech (mean opinion score, 1 to 5).

Saeki et al., "UTMOS: UTokyo-SaruLab System for VoiceMOS Challenge 2022", the strong learner without phonemes, as
torch.hub has it (`tarepan/SpeechMOS:v1.2.0`, `utmos22_strong`). The network is written here, since the published code
imports torchaudio; its weights are the published file, which the user gives.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import Wav2Vec2Config, Wav2Vec2Model

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import open_plain

#: Size of the embeddings of the listening test and of the listener, of an LSTM's state, and of the projection.
EMBEDDING, STATE, HIDDEN = 128, 512, 2048
#: Parts of names of weights here -> in the published file.
NAMES = {
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
    """Predict the opinion score of speech: wav2vec 2.0, one listening test and listener, LSTMs in both directions."""

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


def load(file: Path) -> UTMOS:
    """Return the network with the weights of the published file, on the CPU."""
    return _fill(file, "cpu").float().eval()


def check(file: Path) -> None:
    """Refuse a file that does not have the weights of this network, by their names and shapes."""
    _fill(file, "meta")


def _fill(file: Path, device: str) -> UTMOS:
    with torch.device("meta"):
        network = UTMOS()
    wanted = network.state_dict()
    published = {name: publish(name) for name in wanted}
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


def publish(name: str) -> str:
    """Return the name of a weight in the published file.

    >>> publish("wav2vec2.encoder.layers.3.feed_forward.output_dense.bias")
    'wav2vec2.encoder.layers.3.fc2.bias'
    """
    for pattern, published in NAMES.items():
        name = re.sub(pattern, published, name)
    return name


def _refuse(file: Path, how: str, names: Iterable[Any]) -> None:
    if names := sorted(map(str, names)):
        raise SpeechIQError(
            f"UTMOS weights {file}",
            f"the weights of another network: it {how} {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}",
            "give the published file of utmos22_strong",
        )
