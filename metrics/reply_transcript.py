"""Transcribe spoken replies by a recognizer of the user's choice, once per reply, cached by its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from speechiq.core.batches import OnResult
from speechiq.core.checkpoints import DEMO
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.core.stage_cache import StageCache, cached
from speechiq.core.store import store_folder
from speechiq.engines.asr.controls import NeedsReferences
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.registry import build, list_backends

KEY, PREFIX = "reply_asr", "reply_asr_"
#: The paper's recognizer (section 4).
DEFAULT = "openai/whisper-large-v3"


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


def open_reply_asr(name: Any, options: Mapping[str, Any]) -> ASREngine:
    """Return a recognizer whose model is not yet loaded.

    Raises:
        SpeechIQError: The recognizer or an option cannot be used.
    """
    if not isinstance(name, str) or not name:
        raise SpeechIQError(f"{KEY}={name!r:.80}: not a recognizer; write a hub id, demo:NAME or ENGINE:MODEL")
    known = list_backends("asr")
    engine, colon, model = name.partition(":")
    if not colon or name.startswith(DEMO):
        engine, model = "hf", name
    if engine not in known:
        raise SpeechIQError(f"{KEY}={name}: no recognizer engine {engine!r}; known are {', '.join(sorted(known))}")
    from accelerate import PartialState

    found = build("asr", model, options, Setup(engine=engine, prefix=PREFIX, device=PartialState().device))
    if isinstance(found, NeedsReferences):
        raise SpeechIQError(f"{KEY}={name}: does not listen to audio; name a recognizer")
    return cast(ASREngine, found)


def transcribe_replies(clips: Sequence[Clip], name: str, options: Mapping[str, Any]) -> list[str]:
    """Return the transcript of each reply; the model is loaded only for new replies.

    Digital silence has no words: recognizers may make some up.

    Args:
        clips: Spoken replies.
        name: See `read_reply_asr`.
        options: Options of the engine, without a prefix.

    Raises:
        SpeechIQError: The recognizer cannot be used.
    """
    engine = open_reply_asr(name, options)

    def compute(new: list[Clip], on_result: OnResult) -> None:
        def store(places: Sequence[int], found: Sequence[Response]) -> None:
            on_result(places, [response.text for response in found])

        engine.transcribe(new, on_result=store)

    identity = engine.identity() or {"stage": "asr", **engine.describe()}
    stage_cache = _stage_cache(repr(sorted(identity.items())), store_folder())
    audible = [place for place, clip in enumerate(clips) if clip.samples.any()]
    rows = cached(stage_cache, [clips[place] for place in audible], _key, compute, str)
    transcripts = dict(zip(audible, map(str, rows), strict=True))
    return [transcripts.get(place, "") for place in range(len(clips))]


def _key(clip: Clip) -> list[str]:
    return ["reply", clip.key]


@cache
def _stage_cache(identity: str, folder: Path | None) -> StageCache:
    return StageCache({"stage": "reply transcript", "recognizer": identity}, folder)
