"""Read which network rates speech (`speech_quality`), and refuse one that cannot work before any system runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from speechiq.core.checkpoints.names import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, hash_file, is_file
from speechiq.core.suggestions import did_you_mean

KEY, SHA256 = "speech_quality", "speech_quality_sha256"
DEFAULT, OFF = "distillmos", "off"
#: What can be written, for errors.
KNOWN = "distillmos, utmos:FILE, off"
DISTILLMOS = "demo:distillmos"
UTMOS_FILE = "utmos22_strong_step7459_v1.pt"
UTMOS_PAGE = "https://github.com/tarepan/SpeechMOS/releases/tag/v1.0.0"


class Network(Protocol):
    """Define a network that rates speech."""

    def rate(self, samples: np.ndarray) -> float:
        """Return the opinion score of one sound: float32, shape (samples,), mono, 16 kHz."""


class Rater(NamedTuple):
    """Describe a network that rates speech, not yet loaded.

    Attributes:
        name: Its name in results and in the response cache.
        weights: The file of its weights.
        sha256: That of the file; scores depend on name and sha256, not on the place of the file.
        build: Makes the network from the file.
    """

    name: str
    weights: Path
    sha256: str
    build: Callable[[Path], Network]

    def load(self) -> Network:
        """Return the network on the CPU.

        Raises:
            SpeechIQError: The file has changed in such a way that it cannot be loaded.
        """
        return self.build(self.weights)


def read_rater(setting: Any) -> Rater | None:
    """Return what rates speech, None for `off`.

    Args:
        setting: `distillmos`, `utmos:FILE` or `off`.

    Raises:
        SpeechIQError: It is unknown, or its weights are missing, damaged or those of another network.
    """
    if setting == OFF:
        return None
    name, _, place = str(setting).partition(":")
    if name not in _KINDS:
        raise SpeechIQError(f"{KEY}={setting!s:.80}: unknown; {did_you_mean(name, [*_KINDS, OFF])}known are {KNOWN}")
    find, build = _KINDS[name]
    weights = find(place)
    state = weights.stat()
    return Rater(name, weights, _hash(weights, state.st_size, state.st_mtime_ns), build)


def rater_of(doc: Mapping[str, Any]) -> Rater | None:
    """Return what rates the reply to a doc; see `read_rater`.

    Args:
        doc: `reply` has the setting, `speech_quality_sha256` the digest of the weights.

    Raises:
        SpeechIQError: The weights changed since the doc was made.
    """
    rater = read_rater(doc["reply"][KEY])
    if rater is not None and rater.sha256 != doc[SHA256]:
        raise SpeechIQError(f"{KEY}={doc['reply'][KEY]}: the file was changed during the run; run it again")
    return rater


def describe_rater(rater: Rater | None) -> dict[str, str]:
    """Return what results record: the name and, except for `off`, the sha256 of the weights."""
    return {KEY: OFF} if rater is None else {KEY: rater.name, SHA256: rater.sha256}


@cache
def _hash(file: Path, size: int, changed: int) -> str:
    """Return the sha256 of a file; it is read again if its size or time of change differs."""
    return hash_file(file)


def _find_distillmos(place: str) -> Path:
    if place:
        raise SpeechIQError(f"{KEY}=distillmos:{place}: takes no file; write {KEY}=distillmos")
    file = Path(resolve(DISTILLMOS), "model.safetensors")
    if not is_file(file):
        raise SpeechIQError(f"{KEY}: {DISTILLMOS} was not fetched; run `siq demo fetch distillmos` (16 MB)")
    return file


def _build_distillmos(file: Path) -> Network:
    from speechiq.engines._shared.distillmos import load

    return load(file)


def _find_utmos(place: str) -> Path:
    if not place:
        raise SpeechIQError(
            f"{KEY}=utmos: names no weights; download {UTMOS_FILE} from {UTMOS_PAGE} and write "
            f"{KEY}=utmos:FOLDER/{UTMOS_FILE}"
        )
    from speechiq.engines._shared.utmos import check

    file = expand(place)
    check(file)
    return file


def _build_utmos(file: Path) -> Network:
    from speechiq.engines._shared.utmos import load

    return load(file)


#: Name of a network -> what finds and checks the file of its weights, and what builds it.
_KINDS: dict[str, tuple[Callable[[str], Path], Callable[[Path], Network]]] = {
    "distillmos": (_find_distillmos, _build_distillmos),
    "utmos": (_find_utmos, _build_utmos),
}
