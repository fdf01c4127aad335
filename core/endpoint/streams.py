"""Read a chat completion that a server streams as events, and mark when its text and its audio begin."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from speechiq.core.usage import Clock

if TYPE_CHECKING:
    import httpx2
    import openai

EVENTS = "text/event-stream"


class StreamedChat:
    """Collect the parts of a chat completion."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._parts: dict[int, dict[str, list[str]]] = {}
        self._ends: dict[int, Any] = {}
        self._tool_calls: dict[int, Any] = {}

    def add(self, chunk: Any) -> None:
        """Take the data of an event; `ValueError`, `TypeError`, `LookupError` or `AttributeError` for any other."""
        for choice in chunk["choices"]:
            place, delta = choice.get("index", 0), choice.get("delta") or {}
            audio = delta.get("audio") or {}
            texts = {"content": delta.get("content"), "refusal": delta.get("refusal")}
            texts["transcript"] = audio.get("transcript")
            if any(texts.values()):
                self._clock.mark_token()
            if audio.get("data"):
                self._clock.mark_audio()
            parts = self._parts.setdefault(place, defaultdict(list))
            for name, text in {**texts, "data": audio.get("data")}.items():
                if text is not None:
                    parts[name].append(text)
            self._tool_calls[place] = self._tool_calls.get(place) or delta.get("tool_calls")
            self._ends[place] = choice.get("finish_reason") or self._ends.get(place)

    def join(self) -> dict[str, Any]:
        """Return the completion as a server sends it that does not stream; `ValueError` if an answer has no end."""
        if any(end is None for end in self._ends.values()):
            raise ValueError("its stream stopped before the answer ended")
        return {"choices": [self._join_choice(place) for place in sorted(self._parts)]}

    def _join_choice(self, place: int) -> dict[str, Any]:
        parts = self._parts[place]
        message: dict[str, Any] = {name: "".join(parts[name]) for name in ("content", "refusal") if name in parts}
        if "data" in parts or "transcript" in parts:
            message["audio"] = {"transcript": "".join(parts["transcript"]), "data": _join_base64(parts["data"])}
        message["tool_calls"] = self._tool_calls[place]
        return {"index": place, "message": message, "finish_reason": self._ends[place]}


def _join_base64(parts: Sequence[str]) -> str:
    """Return data that was cut into parts before or after it was written in Base64.

    >>> _join_base64(["YQ==", "Yg=="]), _join_base64(["YW", "I="])
    ('YWI=', 'YWI=')
    """
    if all(len(part) % 4 == 0 for part in parts):
        return b64encode(b"".join(b64decode(part) for part in parts)).decode()
    return "".join(parts)


async def post_streamed(
    client: openai.AsyncOpenAI, path: str, body: Mapping[str, Any], options: Mapping[str, Any], clock: Clock
) -> httpx2.Response:
    """Post a chat request that asks for a stream, and return its reply as if it had not been streamed.

    The reply of a server that does not stream is returned as it is, without a mark.
    """
    import httpx2
    from openai import AsyncStream

    clock.start()
    arguments: dict[str, Any] = {**options, "cast_to": object, "stream": True, "stream_cls": AsyncStream[Any]}
    stream = await client.post(path, body={**body, "stream": True}, **arguments)
    async with stream:
        response: httpx2.Response = stream.response
        if response.headers.get("content-type", "").partition(";")[0].strip() != EVENTS:
            await response.aread()
            return response
        chat = StreamedChat(clock)
        async for chunk in stream:
            chat.add(chunk)
    return httpx2.Response(response.status_code, content=json.dumps(chat.join()))
