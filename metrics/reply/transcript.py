"""Transcribe spoken replies by a recognizer of the user's choice, once per reply, cached by its content."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.cache.store import store_folder
from speechiq.core.checkpoints.names import DEMO
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.core.usage import counted_as
from speechiq.engines.asr.controls import NeedsReferences
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.registry import build, list_backends

KEY, PREFIX = "reply_asr", "reply_asr_"
#: The paper's recognizer (section 4).
DEFAULT = "openai/whisper-large-v3"


class Opened(NamedTuple):
    """Hold the recognizer of replies.

    Attributes:
        engine: Transcribes; its weights are loaded when it works, and freed afterwards.
        cache: The transcripts of earlier replies; in memory only if the engine has no identity.
    """

    engine: ASREngine
    cache: StageCache


class SpokenReply(NamedTuple):
    """Hold a reply with sound, in a form that can be sent between processes.

    Attributes:
        clip: What was spoken.
        recognizer: Its recognizer, `[ENGINE:]MODEL`.
        options: Options of the recognizer.
    """

    clip: Clip
    recognizer: str
    options: Mapping[str, Any]

    def open(self) -> Opened:
        """Return the recognizer; see `open_reply_asr`."""
        return open_reply_asr(self.recognizer, self.options)

    def keep(self, transcript: str) -> None:
        """Add a transcript that another process made to the response cache of this process, unless it is there."""

        def add(_: list[Clip], on_result: OnResult) -> None:
            on_result([0], [transcript])

        cached(self.open().cache, [self.clip], _key, add, str)


def read_reply_asr(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recognizer of replies that a task's metadata name, and its options, after checking both.

    Args:
        metadata: `reply_asr` is `[ENGINE:]MODEL`; options of its engine have the prefix `reply_asr_`.

    Raises:
        SpeechIQError: The recognizer or an option cannot be used.
    """
    name = metadata.get(KEY, DEFAULT)
    options = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
    open_reply_asr(name, options)
    return {KEY: name, "reply_asr_options": options}


def open_reply_asr(name: Any, options: Mapping[str, Any]) -> Opened:
    """Return a recognizer whose model is not yet loaded, the same object for the same settings.

    Args:
        name: See `read_reply_asr`.
        options: Options of the engine, without a prefix.

    Raises:
        SpeechIQError: The recognizer or an option cannot be used.
    """
    if not isinstance(name, str) or not name:
        raise SpeechIQError(f"{KEY}={name!r:.80}: not a recognizer; write a hub id, demo:NAME or ENGINE:MODEL")
    return _open(name, json.dumps(options, sort_keys=True), store_folder())


@lru_cache(maxsize=8)
def _open(name: str, options_json: str, folder: Path | None) -> Opened:
    known = list_backends("asr")
    engine, colon, model = name.partition(":")
    if not colon or name.startswith(DEMO):
        engine, model = "hf", name
    if engine not in known:
        raise SpeechIQError(f"{KEY}={name}: no recognizer engine {engine!r}; known are {', '.join(sorted(known))}")
    from accelerate import PartialState

    setup = Setup(engine=engine, prefix=PREFIX, device=PartialState().device)
    found = build("asr", model, json.loads(options_json), setup)
    if isinstance(found, NeedsReferences):
        raise SpeechIQError(f"{KEY}={name}: does not listen to audio; name a recognizer")
    identity = found.identity()
    cache = StageCache({**(identity or {}), "stage": "reply transcript"}, folder if identity else None)
    return Opened(cast(ASREngine, found), cache)


def find_audible(docs: Sequence[Mapping[str, Any]], responses: Sequence[Response]) -> dict[int, SpokenReply]:
    """Return place -> spoken reply of the responses with sound.

    Digital silence is left out: it has no words, and recognizers may make some up.

    Args:
        docs: One per response, of one or several tasks; `reply` has the recognizer and its options. A response to a doc
            without it is left out.
        responses: What systems answered.
    """
    return {
        place: SpokenReply(clip, doc["reply"][KEY], doc["reply"].get("options") or {})
        for place, (doc, response) in enumerate(zip(docs, responses, strict=True))
        if "reply" in doc and (clip := response.audio) is not None and clip.samples.any()
    }


def transcribe_replies(replies: Sequence[SpokenReply]) -> list[str]:
    """Return the transcript of each reply; a recognizer is loaded once, and only for new replies.

    Raises:
        SpeechIQError: The recognizer cannot be used.
    """
    places: dict[Opened, list[int]] = defaultdict(list)
    for place, reply in enumerate(replies):
        places[reply.open()].append(place)
    found: dict[int, str] = {}
    for opened, these in places.items():
        found |= zip(these, _transcribe([replies[place].clip for place in these], opened), strict=True)
    return [found[place] for place in range(len(replies))]


def _transcribe(clips: Sequence[Clip], opened: Opened) -> list[str]:
    def compute(new: list[Clip], on_result: OnResult) -> None:
        def store(places: Sequence[int], found: Sequence[Response]) -> None:
            on_result(places, [response.text for response in found])

        with counted_as("transcribing replies"):
            opened.engine.transcribe(new, on_result=store)

    return cached(opened.cache, clips, _key, compute, str)


def _key(clip: Clip) -> str:
    return clip.key
