"""Read a chat completion that a server streams as events, and mark when its text and its audio begin."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from speechiq.core.endpoint.replies import join_parts
from speechiq.core.usage import Clock

if TYPE_CHECKING:
    import httpx2
    import openai

EVENTS = "text/event-stream"
#: Parts of the text of an answer, in its own message or in that of its audio.
TEXTS = "content", "refusal", "transcript"


class StreamedChat:
    """Collect the parts of a chat completion."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._choices: dict[int, dict[str, Any]] = defaultdict(lambda: defaultdict(list))

    def add(self, chunk: Any) -> None:
        """Take the data of an event; `ValueError`, `TypeError`, `LookupError` or `AttributeError` for any other."""
        for part in chunk["choices"]:
            choice, delta = self._choices[part.get("index", 0)], part.get("delta") or {}
            found = {**(delta.get("audio") or {}), **delta, "end": part.get("finish_reason")}
            found["content"] = join_parts(found.get("content"))
            if any(found.get(name) for name in TEXTS):
                self._clock.mark("first_token")
            if found.get("data"):
                self._clock.mark("first_audio")
            for name in (*TEXTS, "data", "tool_calls", "end"):
                if found.get(name) is not None:
                    choice[name].append(found[name])

    def join(self) -> dict[str, Any]:
        """Return the completion as a server sends it that does not stream; `ValueError` if an answer has no end."""
        choices = []
        for _, parts in sorted(self._choices.items()):
            if "end" not in parts:
                raise ValueError("its stream stopped before the answer ended")
            message: dict[str, Any] = {name: "".join(parts[name]) for name in TEXTS[:2] if name in parts}
            if "data" in parts or "transcript" in parts:
                message["audio"] = {"transcript": "".join(parts["transcript"]), "data": _join_base64(parts["data"])}
            message["tool_calls"] = parts.get("tool_calls")
            choices.append({"message": message, "finish_reason": parts["end"][-1]})
        return {"choices": choices}


def _join_base64(parts: Sequence[str]) -> str:
    """Return data that was cut into parts before or after it was written in Base64; `ValueError` for any other.

    >>> _join_base64(["YQ==", "Yg=="]), _join_base64(["YW", "I="])
    ('YWI=', 'YWI=')
    """
    if all(len(part) % 4 == 0 for part in parts):
        return b64encode(b"".join(b64decode(part, validate=True) for part in parts)).decode()
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
