"""What is made of audio, features and encodings, is made once and kept while it is needed."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from accelerate.utils import recursively_apply, send_to_device
from transformers import PreTrainedModel

from speechiq.engines._transformers import find_device

ROOM = 4 * 2**30


class LastFeatures:
    """A feature extractor that gives what it gave before when it is called again with the same audio.

    The questions about a clip follow one another, each through the processor; the spectrogram is one.
    """

    def __init__(self, extractor: Callable[..., Any]) -> None:
        self._extractor = extractor
        self._key = b""
        self._features: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = arguments_digest((args, kwargs))
        if self._key != key:
            self._key, self._features = key, self._extractor(*args, **kwargs)
        return copy.copy(self._features)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extractor, name)


class Encodings:
    """Behind a model's audio encoder: each input is encoded once.

    Args:
        encode: the encoder.
        room: bytes of encodings to keep, in main memory. What no longer fits is not kept: clips come round in the
            same order, so throwing out old ones would throw out each before its turn.

    Attributes:
        calls: how often audio was really encoded.
    """

    def __init__(self, encode: Callable[..., Any], room: int) -> None:
        self._encode, self.room, self.calls = encode, room, 0
        self._kept: dict[bytes, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = arguments_digest((args, kwargs))
        if key in self._kept:
            output, device = self._kept[key]
            return send_to_device(output, device)
        self.calls += 1
        output = self._encode(*args, **kwargs)
        if (size := _count_bytes(output)) <= self.room:
            self.room -= size
            self._kept[key] = send_to_device(output, "cpu"), find_device(output)
        return output


@contextmanager
def keep_encodings(model: PreTrainedModel, room: int = ROOM) -> Iterator[Encodings | None]:
    """Inside, the model's audio encoder is behind `Encodings`.

    The encoder is the innermost `get_audio_features`, or what the model calls its audio encoder. Where it has
    neither, nothing is kept and nobody can tell how often audio is encoded: `None`.
    """
    module, name = _find_encoder(model)
    if module is None:
        yield None
        return
    encode = getattr(module, name)
    encodings = Encodings(encode, room)
    setattr(module, name, encodings)
    try:
        yield encodings
    finally:
        setattr(module, name, encode)


def _find_encoder(model: PreTrainedModel) -> tuple[torch.nn.Module | None, str]:
    owners = [module for module in model.modules() if hasattr(module, "get_audio_features")]
    if owners:
        return owners[-1], "get_audio_features"
    encoder = model.get_encoder(modality="audio")
    is_the_model_itself = encoder is model or encoder is model.base_model
    return (None if is_the_model_itself else encoder), "forward"


def arguments_digest(arguments: Any) -> bytes:
    """What tells arguments from others: every array and tensor by its bytes, the rest by its `repr`."""
    told = hashlib.blake2b()

    def tell(item: Any) -> None:
        if isinstance(item, dict):
            item = tuple(item.items())
        if isinstance(item, torch.Tensor):
            told.update(repr((item.shape, item.dtype)).encode())
            told.update(item.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        elif isinstance(item, np.ndarray):
            told.update(repr((item.shape, item.dtype)).encode())
            told.update(item.tobytes())
        elif isinstance(item, list | tuple):
            told.update(repr(len(item)).encode())
            for part in item:
                tell(part)
        else:
            told.update(repr(item).encode())

    tell(arguments)
    return told.digest()


def _count_bytes(output: Any) -> int:
    sizes: list[int] = []
    recursively_apply(lambda tensor: sizes.append(tensor.numel() * tensor.element_size()), output)
    return sum(sizes)
