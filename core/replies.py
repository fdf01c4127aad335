"""Read replies of endpoints: JSON, chat completions in it, and what is not an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import whole

if TYPE_CHECKING:
    import httpx2

CONTENT_FILTER = "content_filter"
#: What the system said where a content filter left nothing.
FILTERED = "[content filter]"
LENGTH = "length"


class Unusable(Exception):
    """A reply that is refused whatever it holds; the message says what the server did."""


class NoAnswer(Exception):
    """A valid reply without an answer in it, which counts as a failed call; the message says what came instead."""


class Choice(NamedTuple):
    """One answer of a completion.

    Attributes:
        text: what was said; of a refusal its words, of what a filter left nothing of `FILTERED`.
        end: why it ended, as the server names it.
    """

    text: str
    end: str | None


def read_json(reply: httpx2.Response) -> Any:
    """Return the body of a reply taken as JSON.

    Raises:
        ValueError: it is not JSON, not UTF-8, or nested too deep.
    """
    try:
        return json.loads(reply.content.decode())
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except RecursionError:
        raise ValueError("JSON that is nested too deep") from None
    except ValueError as error:
        kind = reply.headers.get("content-type", "json").partition(";")[0]
        raise ValueError(error if "json" in kind else f"{kind} instead of JSON") from None


def read_choices(reply: Any, name: str, length: str, may_be_empty: bool = True) -> list[Choice]:
    """Return the answers in a chat completion.

    Args:
        reply: the JSON of the completion.
        name: of the model, for errors.
        length: the option that sets the most tokens of an answer, for errors.
        may_be_empty: whether an answer without a word counts.

    Raises:
        NoAnswer: there are none, or one has neither content nor refusal, or one is empty and may not be.
        SpeechIQError: one ended at the token limit before it said anything.
        ValueError, TypeError, LookupError: it is no chat completion.
    """
    choices = reply["choices"]
    if not choices:
        raise NoAnswer("sent no chat completion (no choices)")
    answers = [_read(choice, name, length) for choice in choices]
    if not may_be_empty and not all(answer.text for answer in answers):
        raise NoAnswer("sent an empty reply")
    return answers


def _read(choice: Any, name: str, length: str) -> Choice:
    message, end = choice["message"], choice.get("finish_reason")
    text = message.get("content") or message.get("refusal") or (FILTERED if end == CONTENT_FILTER else "")
    if not isinstance(text, str):
        raise TypeError(f"content is a {type(text).__name__}")
    if not text and end == LENGTH:
        raise SpeechIQError(
            f"{name}: a reply ended at the token limit before it said anything; a model that thinks first needs more, "
            f"{length}=4096"
        )
    if not text and message.get("content") is None:
        reason = "it calls a tool" if message.get("tool_calls") else f"it ended by {end}"
        raise NoAnswer(f"sent a reply without text ({reason})")
    return Choice(whole(text), end if isinstance(end, str) else None)
