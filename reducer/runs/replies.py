"""Hold what systems were asked and what they replied word for word, for people who look at single answers."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from speechiq.reducer.runs.table import Item


class Arguments(msgspec.Struct):
    """Hold the prompt of a request of lm-eval."""

    arg_0: Any = None


class Replies(NamedTuple):
    """Hold prompts and replies.

    Attributes:
        prompts: (clip, question) -> the prompt; `<audio>` stands for the sound, or for a cascade's transcript of it.
        texts: System -> (clip, question) -> the distinct replies, in the order of their first occurrence.
    """

    prompts: dict[Item, str]
    texts: dict[str, dict[Item, tuple[str, ...]]]

    def add(self, system: str, item: Item, requests: Mapping[str, Arguments], answers: Iterable[Any]) -> None:
        """Add what a row has: its first prompt, and the answers that are texts."""
        prompts = [request.arg_0 for request in requests.values() if isinstance(request.arg_0, str)]
        if prompts:
            self.prompts.setdefault(item, prompts[0])
        texts = dict.fromkeys(text for text in answers if isinstance(text, str))
        self.texts.setdefault(system, {})[item] = tuple(texts)


NO_REPLIES = Replies({}, {})
