"""Run language models behind an OpenAI-compatible endpoint."""

import math
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from speechiq.core.batches import OnResult, drop
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Scored, TextPrompt, audio_seconds
from speechiq.core.usage import measured
from speechiq.engines._shared.remote import ChatEndpoint, EndpointOptions, RemoteModel, SeedPerCall
from speechiq.engines.base import Setup, TextEngine
from speechiq.engines.options import SystemTurn

COMPLETIONS = "/completions"


class Token(NamedTuple):
    """Hold a token of a prompt, its log-probability (nats; NaN for the first), and whether none is likelier there."""

    text: str
    logprob: float
    is_greedy: bool


class TextOptions(EndpointOptions, frozen=True, kw_only=True):
    """Define the options of `OpenAIText`."""

    seed_per_call: SeedPerCall = False
    system: SystemTurn = None


class OpenAIText(ChatEndpoint[TextPrompt], TextEngine):
    """Send prompts as text; see `ChatEndpoint` for answers.

    Log-probabilities come from `/completions` of servers such as vLLM, which return those of the prompt (`echo`). Chat
    servers have none.
    """

    record = TextOptions

    def __init__(self, model: str, options: TextOptions, setup: Setup) -> None:
        super().__init__(RemoteModel(model, options, setup.prefix), options.seed_per_call, options.system)

    def has_loglikelihood(self) -> bool:
        """Return whether the server has log-probabilities of prompts; makes one call."""
        try:
            return bool(self._read_prompt("One, two, three."))
        except SpeechIQError:
            return False

    def loglikelihood(
        self, prompts: Sequence[TextPrompt], continuations: Sequence[Sequence[str]], on_result: OnResult = drop
    ) -> list[list[Scored]]:
        """Return the log-probability of each continuation after its prompt, which are split as by `TransformersLLM`."""
        rows = [(prompt.text, group) for prompt, group in zip(prompts, continuations, strict=True)]
        with measured("answering by likelihood", audio_seconds(prompts)):
            return self.remote.run(rows, lambda row: self._score(*row), "answering by likelihood", "prompt", on_result)

    def _score(self, context: str, group: Sequence[str]) -> list[Scored]:
        prompts = [self._read_prompt(context), *[self._read_prompt(context + text) for text in group]]
        start = len(list(takewhile(_is_shared, zip(*prompts, strict=False))))
        return [_score(prompt[max(start, 1) :]) for prompt in prompts[1:]]

    def _read_prompt(self, text: str) -> list[Token]:
        parameters = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
        body = {"model": self.remote.model, "prompt": text, **parameters}
        return self.remote.endpoint.post(COMPLETIONS, "completion", self._read_tokens, body)

    def _read_tokens(self, reply: Any) -> list[Token]:
        """Return the tokens of the prompt; the last token of a reply is the model's own."""
        try:
            logprobs = reply["choices"][0]["logprobs"]
            rows = zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True)
            (first, unknown, _), *others, _written = rows
            tokens = [Token(str(text), logprob, logprob >= max(top.values())) for text, logprob, top in others]
            if unknown is not None or any(math.isnan(token.logprob) for token in tokens):
                raise ValueError("only the first token of a prompt has no log-probability")
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise SpeechIQError(
                self.name,
                "its replies have no log-probabilities of the prompt",
                f"use a server that echoes them, or {self.remote.prefix}answer=generate",
            ) from error
        return [Token(str(first), math.nan, True), *tokens]

    def _message(self, prompt: TextPrompt) -> str:
        return prompt.text


def _is_shared(column: Sequence[Token]) -> bool:
    return len({token.text for token in column}) == 1


def _score(tail: Sequence[Token]) -> Scored:
    return Scored(sum(token.logprob for token in tail), all(token.is_greedy for token in tail))
