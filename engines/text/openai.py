"""A text stage behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from speechiq.core.batches import OnResult, drop
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Scored, TextPrompt
from speechiq.engines._shared.chat import ChatEndpoint
from speechiq.engines._shared.remote import Calling, Remote
from speechiq.engines.base import Setup, TextEngine

COMPLETIONS = "/completions"


class Token(NamedTuple):
    """A token of a prompt, as a completions server reads it.

    Attributes:
        text: of the token.
        logprob: natural log-probability after the tokens before it; NaN of the first.
        is_greedy: whether no other token is more likely there.
    """

    text: str
    logprob: float
    is_greedy: bool


class TextOptions(Calling, frozen=True, kw_only=True):
    """Define the options of `OpenAIText`."""

    own_seeds: Annotated[
        bool, Meta(description="Whether each answer is a call of its own with a seed; makes answers repeatable.")
    ] = False


class OpenAIText(ChatEndpoint[TextPrompt], TextEngine):
    """Prompts go out as words alone; for answers see `ChatEndpoint`.

    Log-probabilities come from `/completions` of servers such as vLLM, which return those of the prompt (`echo`). Chat
    servers have none.

    Args:
        model: as the endpoint calls it.
        options: see `TextOptions`.
        setup: device and batch size are not used.
    """

    record = TextOptions

    def __init__(self, model: str, options: TextOptions, setup: Setup) -> None:
        super().__init__(Remote(model, options, setup.prefix), options.own_seeds)

    def has_loglikelihood(self) -> bool:
        """Return whether the server has log-probabilities of prompts, found out by one call."""
        try:
            return bool(self._read_prompt("One, two, three."))
        except SpeechIQError:
            return False

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return how likely each continuation is after its prompt, both taken as plain text.

        Prompt and continuation are sent as one text, divided where the tokens of the continuations begin to differ, as
        `TransformersLLM` divides them.

        Raises:
            SpeechIQError: the server has no log-probabilities of prompts.
        """
        rows = [(prompt.text, group) for prompt, group in zip(prompts, continuations, strict=True)]
        return self.remote.run(rows, lambda row: self._score(*row), "scoring", "prompt", on_result)

    def _score(self, context: str, group: Sequence[str]) -> list[Scored]:
        prompts = [self._read_prompt(text) for text in (context, *(context + text for text in group))]
        columns = enumerate(zip(*prompts, strict=False))
        start = next((i for i, column in columns if len({token.text for token in column}) > 1), len(prompts[0]))
        tails = [prompt[max(start, 1) :] for prompt in prompts[1:]]
        return [Scored(sum(token.logprob for token in tail), all(token.is_greedy for token in tail)) for tail in tails]

    def _read_prompt(self, text: str) -> list[Token]:
        asked = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
        body = {"model": self.remote.model, "prompt": text, **asked}
        return self.remote.endpoint.ask(COMPLETIONS, "completion", self._read_tokens, body)

    def _read_tokens(self, reply: Any) -> list[Token]:
        """Return the tokens of the prompt; the last of a reply is written by the model."""
        try:
            found = reply["choices"][0]["logprobs"]
            rows = zip(found["tokens"], found["token_logprobs"], found["top_logprobs"], strict=True)
            (first, unknown, _), *others, _written = rows
            tokens = [Token(str(text), logprob, logprob >= max(top.values())) for text, logprob, top in others]
            if unknown is not None or any(math.isnan(token.logprob) for token in tokens):
                raise ValueError("only the first token of a prompt has no log-probability")
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise SpeechIQError(
                f"{self.name}: its replies hold no log-probabilities of the prompt; take a server that echoes them, or "
                f"{self.remote.prefix}answer=generate"
            ) from error
        return [Token(str(first), math.nan, True), *tokens]

    def _ask_about(self, text: str) -> TextPrompt:
        return TextPrompt(text)

    def _message(self, prompt: TextPrompt) -> str:
        return prompt.text

    def _settings(self) -> dict[str, Any]:
        called = self.remote.describe()
        return {
            "engine": "openai",
            "model": called["model"],
            "base_url": called["base_url"],
            "own_seeds": self.own_seeds,
        }
