"""Transcribe spoken replies by a recognizer of the user's choice, once per reply, cached by its content."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.core.checkpoints.names import DEMO
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.core.usage import counted_as
from speechiq.engines.asr.controls import Gold
from speechiq.engines.cached import CachedEngine
from speechiq.engines.registry import list_backends
from speechiq.metrics.models import open_engine

KEY, PREFIX = "reply_asr", "reply_asr_"
#: The paper's recognizer (section 4).
DEFAULT = "openai/whisper-large-v3"


class SpokenReply(NamedTuple):
    """Hold a reply with sound, in a form that can be sent between processes, and the recognizer that transcribes it."""

    clip: Clip
    recognizer: str
    options: Mapping[str, Any]

    def open(self) -> CachedEngine:
        """Return the recognizer; see `open_reply_asr`."""
        return open_reply_asr(self.recognizer, self.options)

    def keep(self, transcript: str) -> None:
        """Add a transcript that another process made to the response cache of this process, unless it is there."""
        self.open().keep("transcribe", self.clip, result=Response(transcript))


def read_reply_asr(name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options `reply_asr_*` of a recognizer, `[ENGINE:]MODEL`, in metadata, after checking both."""
    options = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
    open_reply_asr(name, options)
    return options


def open_reply_asr(name: str, options: Mapping[str, Any]) -> CachedEngine:
    """Return a recognizer whose model is not yet loaded, the same object for the same settings."""
    known = list_backends("asr")
    engine, colon, model = name.partition(":")
    if not colon or name.startswith(DEMO):
        engine, model = "hf", name
    if engine not in known:
        raise SpeechIQError(
            f"{KEY}={name}", f"no recognizer engine {engine!r}", f"known are {', '.join(sorted(known))}"
        )
    opened = open_engine("asr", engine, model, options, prefix=PREFIX, stage="reply transcript")
    if isinstance(opened.engine, Gold):
        raise SpeechIQError(f"{KEY}={name}", "does not listen to audio", "name a recognizer")
    return opened


def find_audible(docs: Sequence[Mapping[str, Any]], responses: Sequence[Response]) -> dict[int, SpokenReply]:
    """Return place -> spoken reply of the responses with sound, of docs whose `reply` names a recognizer.

    Digital silence is left out: it has no words, and recognizers may make some up.
    """
    return {
        place: SpokenReply(clip, doc["reply"][KEY], doc["reply"].get("options") or {})
        for place, (doc, response) in enumerate(zip(docs, responses, strict=True))
        if "reply" in doc and (clip := response.audio) is not None and clip.samples.any()
    }


def transcribe_replies(replies: Sequence[SpokenReply]) -> list[str]:
    """Return the transcript of each reply; a recognizer is loaded once, and only for new replies."""
    places: dict[CachedEngine, list[int]] = defaultdict(list)
    for place, reply in enumerate(replies):
        places[reply.open()].append(place)
    texts: dict[int, str] = {}
    for engine, own in places.items():
        with counted_as("transcribing replies"):
            responses = engine.transcribe([replies[place].clip for place in own])
        texts |= {place: response.text for place, response in zip(own, responses, strict=True)}
    return [texts[place] for place in range(len(replies))]
