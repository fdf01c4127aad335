"""Read replies of endpoints: JSON, chat completions in it, and replies without an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import load

if TYPE_CHECKING:
    import httpx2

CONTENT_FILTER = "content_filter"
#: The text of an answer that a content filter removed.
FILTERED = "[content filter]"
LENGTH = "length"
#: Types of parts of a message that are text of its answer.
TEXT_PARTS = ("text", "output_text")


class Unusable(Exception):
    """Report a reply that is refused for any content; the message says what the server did."""


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


def read_json(reply: httpx2.Response, change: Callable[[str], str]) -> Any:
    """Return the JSON in the body of a reply, with each key and text in it changed; else raise `ValueError`."""
    try:
        return load(reply.content.decode(), change)
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
        return [model["id"] for model in load(reply.content.decode())["data"] if isinstance(model["id"], str)]
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
    text = next(filter(None, texts.values()), FILTERED if end == CONTENT_FILTER else "")
    if audio:
        if not text.strip():
            raise NoAnswer("sent speech without its text (no content and no transcript)")
        return Choice(text, end if isinstance(end, str) else None, audio)
    if not text and end == LENGTH:
        raise SpeechIQError(
            name,
            "a reply ended at the token limit before it had any text",
            f"a model that reasons first needs more tokens, {length}=4096",
        )
    if not text and texts["content"] is None:
        reason = "it calls a tool" if message.get("tool_calls") else f"it ended by {end}"
        raise NoAnswer(f"sent a reply without text ({reason})")
    return Choice(text, end if isinstance(end, str) else None)
