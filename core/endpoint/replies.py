"""Read replies of endpoints: JSON, chat completions, also streamed ones, and replies without an answer."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import load_json, replace_halves
from speechiq.core.usage import Clock

if TYPE_CHECKING:
    import httpx2
    import openai

CONTENT_FILTER = "content_filter"
#: The text of an answer that a content filter removed.
FILTERED = "[content filter]"
LENGTH = "length"
#: Types of parts of a message that are text of its answer.
TEXT_PARTS = ("text", "output_text")
EVENTS = "text/event-stream"
#: Parts of the text of an answer, in its own message or in that of its audio.
TEXTS = "content", "refusal", "transcript"


class NoAnswer(Exception):
    """Report a valid reply without an answer, a failed call; the message says what the server sent instead."""


class Choice(NamedTuple):
    """Hold one answer of a completion, and the server's name for the reason why it ended.

    Attributes:
        text: The text; for a refusal its text, for an answer that a content filter removed `FILTERED`.
        audio: What was spoken, a file as base64; the text is then what the server states that was spoken.
    """

    text: str
    end: str | None
    audio: str = ""


def read_json(reply: httpx2.Response) -> Any:
    """Return the JSON in the body of a reply, its texts without half surrogate pairs; else raise `ValueError`."""
    try:
        return load_json(reply.content.decode(), replace_halves)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except ValueError as error:
        kind = reply.headers.get("content-type", "json").partition(";")[0]
        raise ValueError(error if "json" in kind else f"{kind} instead of JSON") from None


def read_choices(reply: Any, name: str, length: str, may_be_empty: bool = True) -> list[Choice]:
    """Return the answers in a chat completion; `length` names the option that limits their tokens, for errors.

    Raise `NoAnswer` if there is none, if one has neither content nor refusal, or speech without its text, or is empty
    and may not be; raise `ValueError`, `TypeError` or `LookupError` for anything else than a chat completion.
    """
    choices = reply["choices"]
    if not choices:
        raise NoAnswer("sent no chat completion (no choices)")
    answers = [_read(choice, name, length) for choice in choices]
    if not may_be_empty and not all(answer.text for answer in answers):
        raise NoAnswer("sent an empty reply")
    return answers


def list_models(reply: httpx2.Response) -> list[str]:
    """Return the names in a list of models; none if the reply is something else."""
    try:
        return [model["id"] for model in load_json(reply.content.decode())["data"] if isinstance(model["id"], str)]
    except (ValueError, LookupError, TypeError):
        return []


def is_listed(model: str, models: Sequence[str]) -> bool:
    """Return whether a server lists a model, perhaps with another tag behind its name, or a folder before it.

    >>> is_listed("llama3", ["llama3:latest"]), is_listed("gemini-pro", ["models/gemini-pro"]), is_listed("m", ["m2"])
    (True, True, False)
    """
    names = {model, model.partition(":")[0]}
    return any(not names.isdisjoint([listed, listed.partition(":")[0], listed.rpartition("/")[2]]) for listed in models)


def join_parts(content: Any) -> Any:
    """Return the text in a list of parts, without that of reasoning, or None if there is none; other content as it is.

    >>> join_parts([{"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, {"type": "text", "text": "B"}])
    'B'
    """
    if not isinstance(content, list):
        return content
    return "".join(part["text"] for part in content if part.get("type", "text") in TEXT_PARTS) or None


def _read(choice: Any, name: str, length: str) -> Choice:
    message, end = choice["message"], choice.get("finish_reason")
    spoken = {} if message.get("audio") is None else message["audio"]
    texts = {
        "content": join_parts(message.get("content")),
        "transcript": spoken.get("transcript"),
        "refusal": message.get("refusal"),
    }
    audio = spoken.get("data")
    for part, value in {**texts, "audio": audio}.items():
        if not isinstance(value, str | None):
            raise TypeError(f"{part} is a {type(value).__name__}")
    text = next(filter(None, texts.values()), "")
    if not text and end == CONTENT_FILTER:
        text = FILTERED
    stated = end if isinstance(end, str) else None
    if audio:
        if not text.strip():
            raise NoAnswer("sent speech without its text (no content and no transcript)")
        return Choice(text, stated, audio)
    if not text and end == LENGTH:
        raise SpeechIQError(
            name,
            "a reply ended at the token limit before it had any text",
            f"a model that reasons first needs more tokens, {length}=4096",
        )
    if not text and texts["content"] is None:
        reason = "it calls a tool" if message.get("tool_calls") else f"it ended by {end}"
        raise NoAnswer(f"sent a reply without text ({reason})")
    return Choice(text, stated)


class StreamedChat:
    """Collect the parts of a chat completion."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._choices: dict[int, dict[str, Any]] = defaultdict(lambda: defaultdict(list))
        self._usage: Any = None

    def add(self, chunk: Any) -> None:
        """Take the data of an event; `ValueError`, `TypeError`, `LookupError` or `AttributeError` for any other."""
        if stated := chunk.get("usage"):
            self._usage = stated
            chunk.setdefault("choices", None)
        for part in chunk["choices"] or ():
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
        return {"choices": choices, "usage": self._usage}


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
