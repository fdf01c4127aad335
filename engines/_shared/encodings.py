"""Cache features and encodings of audio, so that each is computed once while it is needed."""

import copy
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from accelerate.utils import recursively_apply, send_to_device
from transformers import PreTrainedModel

#: Bytes of main memory for encodings.
MOST_BYTES = 4 * 2**30


class LastFeatures:
    """Wrap a feature extractor so that a repeated call with the same audio returns the same features.

    The questions about a clip follow one another, and each passes the processor; the spectrogram is the same.
    """

    def __init__(self, extractor: Callable[..., Any]) -> None:
        self._extractor = extractor
        self._key = b""
        self._features: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy of the features, computed only if the arguments differ from those of the last call."""
        key = arguments_digest((args, kwargs))
        if self._key != key:
            self._key, self._features = key, self._extractor(*args, **kwargs)
        return copy.copy(self._features)

    def clear(self) -> None:
        """Drop the features."""
        self._key, self._features = b"", None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extractor, name)


class EncodingCache:
    """Wrap a model's audio encoder so that each input is encoded once.

    An encoding that does not fit into `free_bytes` of main memory is not stored: clips come again in the same order, so
    that dropping old encodings would drop each one just before it is needed.
    """

    def __init__(self, encode: Callable[..., Any], free_bytes: int) -> None:
        self._encode, self.free_bytes, self.calls = encode, free_bytes, 0
        self._most_bytes = free_bytes
        self._stored: dict[bytes, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the encoder's output for these arguments, on the device where the encoder put it."""
        key = arguments_digest((args, kwargs))
        if key in self._stored:
            output, device = self._stored[key]
            return send_to_device(output, device)
        self.calls += 1
        output = self._encode(*args, **kwargs)
        tensors: list[torch.Tensor] = []
        recursively_apply(tensors.append, output)
        if (size := sum(tensor.nbytes for tensor in tensors)) <= self.free_bytes:
            self.free_bytes -= size
            self._stored[key] = send_to_device(output, "cpu"), tensors[0].device
        return output

    def clear(self) -> None:
        """Drop all encodings."""
        self.free_bytes = self._most_bytes
        self._stored.clear()


@contextmanager
def cache_encodings(model: PreTrainedModel, free_bytes: int = MOST_BYTES) -> Iterator[EncodingCache | None]:
    """Put the model's audio encoder behind an `EncodingCache` inside the block.

    The encoder is the innermost `get_audio_features`, or what the model names as its audio encoder. If it has
    neither, nothing is cached, calls of the encoder cannot be counted, and None is yielded.
    """
    module, name = _find_encoder(model)
    if module is None:
        yield None
        return
    encode = getattr(module, name)
    encodings = EncodingCache(encode, free_bytes)
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
    """Return a digest of nested arguments: of arrays and tensors by their bytes, of all else by its `repr`."""
    digest = hashlib.blake2b()

    def update(item: Any) -> None:
        if isinstance(item, dict):
            item = tuple(item.items())
        if isinstance(item, torch.Tensor):
            digest.update(repr((item.shape, item.dtype)).encode())
            digest.update(item.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        elif isinstance(item, np.ndarray):
            digest.update(repr((item.shape, item.dtype)).encode())
            digest.update(item.tobytes())
        elif isinstance(item, list | tuple):
            digest.update(repr(len(item)).encode())
            for part in item:
                update(part)
        else:
            digest.update(repr(item).encode())

    update(arguments)
    return digest.digest()
