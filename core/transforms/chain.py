"""Write the transforms of a clip as JSON and read them."""

from collections.abc import Sequence

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.transforms.channel import Band, Clipping, Codec, Gain, Mute, Reverb, Speed
from speechiq.core.transforms.noise import Noise, Recordings

AnyTransform = Noise | Recordings | Band | Reverb | Codec | Gain | Clipping | Speed | Mute
_DECODER = msgspec.json.Decoder(tuple[AnyTransform, ...])


def write_transforms(transforms: Sequence[AnyTransform]) -> str:
    """Return transforms as the JSON text that the docs of a task contain.

    >>> write_transforms([Gain(-20.0)])
    '[{"kind":"gain","decibels":-20.0}]'
    """
    return msgspec.json.encode(transforms).decode()


def read_transforms(text: str) -> tuple[AnyTransform, ...]:
    """Return the transforms in a doc.

    >>> read_transforms('[{"kind":"gain","decibels":-20.0}]')
    (Gain(decibels=-20.0),)
    """
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, TypeError) as error:
        raise SpeechIQError(
            "transforms of a clip", f"{text!r:.80} cannot be read ({error})", "prepare the task again"
        ) from error
