"""A text stage behind an endpoint that one of lm-eval's API model types calls.

Those types take a broken reply for an empty answer, send temperature 0, one seed and an empty list of stop
strings unless told otherwise, call one after the other where each request has its own settings, and follow a server
wherever and as long as it likes. Hence a call is made here answer by answer, several at a time, by the type's own
payload and parser and this package's own client; what is no answer stops the run.
"""

from __future__ import annotations

import copy
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.openai_completions import LocalChatCompletion
from tqdm import tqdm

from speechiq.core.addresses import check_address
from speechiq.core.batches import Keep, run_concurrently
from speechiq.core.console import printable
from speechiq.core.endpoints import RETRIES, TIMEOUT, Client, Mends, NoAnswer
from speechiq.core.errors import SpeechIQError
from speechiq.core.opening import first_line
from speechiq.core.replies import read_choices
from speechiq.core.response import whole
from speechiq.engines._shared.independence import check_samples
from speechiq.engines._shared.remote import CONCURRENT, Calling
from speechiq.engines.options import read_options
from speechiq.engines.text.lm_eval import AT_ONCE, SAMPLING, SEEDS, LMEvalText, copied, distinct
from speechiq.engines.text.lm_eval_kinds import SECRET

CHAT = "/chat/completions"
LISTED = re.compile(r"/(chat/completions|completions|messages|generate)$")
NOT_OPTIONS = {"self", "args", "kwargs", "model", "pretrained", "batch_size"}
INDIFFERENT = {"num_concurrent", "max_retries", "timeout", "verify_certificate", "ca_cert_path"}
KEY = "the key in the environment"


class LMEvalEndpoint(LMEvalText):
    """An API model type; it and its endpoint are checked when it is built.

    A sampled answer has its own seed, if the type's payload has one. Calls end, are tried again and fail as those
    of `Client`. Neither deadline nor size limit can be set for two kinds of calls: those of a type that calls by a
    library of its own (`litellm`), and those of `tokenizer_backend=remote`.

    Args:
        as of `LMEvalText`; among the options `base_url` (of chat types `http://HOST/v1` will do),
        `num_concurrent`, `max_retries`, `timeout`.
    """

    def _prepare(self, device, batch_size) -> None:
        self.defaults, self.batch_size, self.is_checkpoint = {"temperature": 1.0}, AT_ONCE, False
        named = {name for kind in self.kind.__mro__ for name in inspect.signature(kind.__init__).parameters}
        if unknown := sorted(self.options.keys() - named):
            raise SpeechIQError(
                f"{self.name}: no such option: {self.prefix}{unknown[0]}; it has temperature, top_k, top_p, "
                f"{', '.join(sorted(name for name in named - NOT_OPTIONS if not name.endswith(SECRET)))}"
            )
        self.options = {"num_concurrent": CONCURRENT, "max_retries": RETRIES, "timeout": TIMEOUT, **self.options}
        calls = {name: self.options[name] for name in ("num_concurrent", "max_retries", "timeout")}
        read_options(Calling, calls, engine=self.engine, prefix=self.prefix)
        if base_url := self.options.get("base_url"):
            url = self._check_address(base_url)
            is_short = url.endswith("/v1") and issubclass(self.kind, LocalChatCompletion)
            self.options["base_url"] = url + CHAT if is_short else url
        self.arguments = {"model": self.model, "batch_size": 1, **self.options}
        self._lm, self._samples = self._create(), False
        self._calls_itself = self.kind.model_call is not TemplateAPI.model_call
        if not self._calls_itself:
            self._client = self._open()
            self._client.probe(LISTED.sub("/models", self._client.address))
        self._lm._loglikelihood_tokens = self._weigh_tokens
        self._takes_messages = "messages" in self._payload({"do_sample": False})
        self.has_loglikelihood = not self._takes_messages and self._lm.tokenizer is not None

    @property
    def _tokenizer(self):
        """Return the tokenizer that the model type was given, if any."""
        return self._lm.tokenizer if callable(self._lm.tokenizer) else None

    def _check_address(self, url: str) -> str:
        given_by, example = f"{self.name}: {self.prefix}base_url", f"http://HOST:PORT/v1{CHAT}"
        return check_address(url, given_by, "put the key into the environment", example)

    def _open(self) -> Client:
        lm, options = self._lm, self.options
        if not lm.base_url:
            raise SpeechIQError(f"{self.name}: no address; give {self.prefix}base_url=http://HOST:PORT/v1{CHAT}")
        try:
            headers = {name: value for name, value in lm.header.items() if value not in ("", "Bearer ")}
        except ValueError as error:
            raise SpeechIQError(f"{self.name}: {first_line(error)}") from error
        return Client(
            self.name,
            self._check_address(lm.base_url),
            headers=headers,
            secrets=[value.removeprefix("Bearer ") for name, value in headers.items() if "version" not in name],
            key_variable=KEY,
            timeout=options["timeout"],
            max_retries=int(options["max_retries"]),
            mends=Mends(
                f"{self.prefix}base_url",
                f"a larger {self.prefix}timeout or a smaller {self.prefix}num_concurrent",
                "shorter texts",
                "the whole address that is posted to",
            ),
            verify=options.get("verify_certificate", True) and (options.get("ca_cert_path") or True),
        )

    def _payload(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What would be sent with a message."""
        message = [{"role": "user", "content": "?"}]
        return self._lm._create_payload(
            message, generate=True, gen_kwargs=dict(settings), seed=1, eos=self._lm.eos_string
        )

    def _settle(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        settled = super()._settle(settings)
        if self._payload(settled).get("stop") == []:  # some servers refuse an empty list
            settled["stop"] = None
        return settled

    def sampling(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What is really sent, which is the model type's choice."""
        sent = self._payload(self._settle(settings))
        return super().sampling(settings) | {name: sent[name] for name in SAMPLING if name in sent}

    def _answer(self, rows, settings: Mapping[str, Any], progress: tqdm, keep: Keep) -> list[list[str]]:
        if settings["do_sample"] and any(len(seeds) > 1 for _, seeds in rows) and not self._samples:
            check_samples(self.name, settings, lambda *row: self._say(*row, settings))
            self._samples = True
        workers = int(self.options["num_concurrent"])
        return run_concurrently(
            rows, lambda row: self._say(*row, settings), workers=workers, progress=progress, keep=keep
        )

    def _say(self, prompt: str, seeds: Sequence[int], settings: Mapping[str, Any]) -> list[str]:
        """Answers to one prompt, a call each."""
        takes_seed = settings["do_sample"] and "seed" in self._payload(settings)
        calls = [settings | ({"seed": seed % SEEDS} if takes_seed else {}) for seed in distinct(seeds, settings)]
        return copied([self._call(prompt, one) for one in calls], len(seeds))

    def _call(self, prompt: str, settings: Mapping[str, Any]) -> str:
        lm = self._lm
        messages = [self._as_chat(prompt)]
        if lm.tokenized_requests:
            messages = lm.tok_encode(messages, add_special_tokens=lm.add_bos_token)
        return self._post(messages, lambda reply: self._read(reply, messages), generate=True, gen_kwargs=settings)

    def _post(self, messages: Sequence, read: Callable[[Any], Any], **how: Any) -> Any:
        """Return what `read` makes of the reply to one request, as the model type writes it."""
        lm = self._lm
        if self._calls_itself:
            return self._leave_to_type(messages, read, **how)
        payload = lm._create_payload(
            lm.create_message(messages), seed=lm._seed, eos=lm.eos_string, **copy.deepcopy(how)
        )
        return self._client.post(self._client.address, "answer", read, json=payload)

    def _leave_to_type(self, messages: Sequence, read: Callable[[Any], Any], **how: Any) -> Any:
        try:
            return read(self._lm.model_call(messages=messages, **how))
        except SpeechIQError:
            raise
        except Exception as error:
            raise SpeechIQError(f"{self.name}: {type(error).__name__}: {printable(first_line(error))}") from error

    def _as_chat(self, prompt: str) -> str:
        said = [{"role": "user", "content": prompt}]
        if self._takes_messages:
            return self._lm.apply_chat_template(said)
        if self._chats:
            return self._lm.tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        return prompt

    def _read(self, reply, messages) -> str:
        """Return the text of a reply; lm-eval's chat types would take one without any for an empty answer."""
        if isinstance(self._lm, LocalChatCompletion):
            choice, *_ = read_choices(reply, self.name, f"{self.prefix}max_gen_toks")
            if not reply["choices"][0]["message"].get("content"):
                return choice.text
        texts = self._lm.parse_generations(outputs=reply, contexts=messages)
        if not texts or None in texts:
            raise NoAnswer("sent a reply without text")
        return whole("".join(texts))

    def _weigh_tokens(self, requests: Sequence[tuple], **_of_lm_eval: Any) -> list[tuple[float, bool]]:
        """Return what each request (texts, tokens of the context, tokens after it) comes to; a call each."""
        with tqdm(disable=True) as progress:
            return run_concurrently(
                requests, self._weigh_one, workers=int(self.options["num_concurrent"]), progress=progress
            )

    def _weigh_one(self, request: tuple) -> tuple[float, bool]:
        tokens, lengths, _ = self._lm.batch_loglikelihood_requests([[request]])

        def read(reply) -> tuple[float, bool]:
            try:
                ((logprob, is_greedy),) = self._lm.parse_logprobs(outputs=[reply], tokens=tokens, ctxlens=lengths)
                if math.isnan(logprob):
                    raise ValueError("NaN")
            except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
                raise SpeechIQError(
                    f"{self.name}: its replies hold no log-probabilities of the prompt; take a server that echoes "
                    f"them, or llm_answer=generate"
                ) from error
            return logprob, is_greedy

        return self._post(tokens, read, generate=False)

    def identity(self) -> dict[str, Any]:
        told = self.describe()
        return {"stage": "text", **told, "options": {k: v for k, v in told["options"].items() if k not in INDIFFERENT}}

    @contextmanager
    def _in_memory(self) -> Iterator[None]:
        yield
