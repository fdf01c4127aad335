"""Chat completions taken apart: what the model said, and what is no answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from speechiq.core.endpoints import NoAnswer
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import whole

CONTENT_FILTER = "content_filter"
#: What the system said where a content filter left nothing.
FILTERED = "[content filter]"
LENGTH = "length"


class Choice(NamedTuple):
    """One answer of a completion.

    Attributes:
        text: what was said; of a refusal its words, of what a filter left nothing of `FILTERED`.
        end: why it ended, as the server names it.
    """

    text: str
    end: str | None


def read_choices(reply: Any, name: str, length: str) -> list[Choice]:
    """Return the answers in a chat completion.

    Args:
        reply: the JSON of the completion.
        name: of the model, for errors.
        length: the option that sets the most tokens of an answer, for errors.

    Raises:
        NoAnswer: there are none, or one has neither content nor refusal.
        SpeechIQError: one ended at the token limit before it said anything.
        ValueError, TypeError, LookupError: it is no chat completion.
    """
    choices = reply["choices"]
    if not choices:
        raise NoAnswer("sent no chat completion (no choices)")
    return [_read(choice, name, length) for choice in choices]


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
