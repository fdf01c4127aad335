"""A text stage behind an endpoint that one of lm-eval's API model types calls.

Those types take a broken reply for an empty answer, send temperature 0, one seed and an empty list of stop
strings unless told otherwise, and call one after the other where each request has its own settings. Hence a call
is made here answer by answer, several at a time, by the type's own payload and parser; what is no answer stops
the run.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import requests
import tenacity
from lm_eval.models.openai_completions import LocalChatCompletion
from tqdm import tqdm

from speechiq.core.batches import Keep, run_concurrently
from speechiq.core.checkpoints import first_line
from speechiq.core.errors import SpeechIQError
from speechiq.core.passes import passes
from speechiq.harness_patch.engines.independence import check_samples
from speechiq.harness_patch.engines.lm_eval_kinds import SECRET
from speechiq.harness_patch.engines.lm_eval_text import AT_ONCE, SAMPLING, SEEDS, LMEvalText, copied, distinct

CHAT = "/chat/completions"
CONCURRENT, RETRIES = 8, 8
FIRST_CONTACT = 10.0
LONGEST_PAUSE = 60.0
NOT_OPTIONS = {"self", "args", "kwargs", "model", "pretrained", "batch_size"}
INDIFFERENT = {"num_concurrent", "max_retries", "timeout", "verify_certificate", "ca_cert_path"}
PASSING = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError)
PASSING_STATUS = (408, 409, 429)
MENDS = {
    401: "check the key in the environment",
    403: "check the key in the environment",
    404: "check {}base_url, the whole address that is posted to, and the model's name",
    429: "try a smaller {}num_concurrent",
}


class LMEvalEndpoint(LMEvalText):
    """An API model type; it and its endpoint are checked when it is built.

    A sampled answer has its own seed, where the type's payload has one. A 408, 409, 429, 5xx or lost connection
    is tried again, `max_retries` times in all, after growing pauses or as long as the endpoint asks for.

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
        if base_url := self.options.get("base_url"):
            self.options["base_url"] = base_url = self._check_address(base_url)
            self._knock(base_url)
        self.options = {"num_concurrent": CONCURRENT, "max_retries": RETRIES, **self.options}
        self.arguments = {"model": self.model, "batch_size": 1, **self.options}
        self._lm, self._samples = self._create(), False
        try:
            self._secrets = [value.removeprefix("Bearer ") for value in self._lm.header.values()]
        except ValueError as error:
            raise SpeechIQError(f"{self.name}: {first_line(error)}") from error
        logging.getLogger("lm_eval.models.api_models").addFilter(self._hide_in_log)
        if self.kind.model_call is LocalChatCompletion.model_call and not base_url:
            if not self._lm.base_url:
                raise SpeechIQError(f"{self.name}: no address; give {self.prefix}base_url=http://HOST:PORT/v1{CHAT}")
            self._knock(self._lm.base_url)
        self._takes_messages = "messages" in self._payload({"do_sample": False})
        self.weighs = not self._takes_messages and self._lm.tokenizer is not None

    def _check_address(self, url: str) -> str:
        parts = urlsplit(str(url))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise SpeechIQError(
                f"{self.name}: {self.prefix}base_url is no address, or holds a password; give http://HOST:PORT/v1{CHAT}"
            )
        url = url.rstrip("/")
        return url + CHAT if url.endswith("/v1") and issubclass(self.kind, LocalChatCompletion) else url

    def _knock(self, url: str) -> None:
        """Refuse an endpoint that nobody answers at; what it answers is not looked at."""
        try:
            verify = self.options.get("verify_certificate", True)
            requests.get(url, timeout=FIRST_CONTACT, stream=True, verify=verify).close()
        except requests.RequestException as error:
            raise self._fault(error, url) from error

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
        passes["calls"] += sum(len(distinct(seeds, settings)) for _, seeds in rows)
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
        call = tenacity.retry(
            stop=tenacity.stop_after_attempt(int(self.options["max_retries"])),
            retry=tenacity.retry_if_exception(_passes),
            wait=_pause,
            reraise=True,
        )(lm.model_call)
        with self._faults():
            return self._read(call(messages=messages, generate=True, gen_kwargs=settings), messages)

    def _as_chat(self, prompt: str) -> str:
        said = [{"role": "user", "content": prompt}]
        if self._takes_messages:
            return self._lm.apply_chat_template(said)
        if self._chats:
            return self._lm.tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        return prompt

    def _read(self, reply, messages) -> str:
        """The text of a reply; lm-eval's chat types would take one without any for an empty answer."""
        if isinstance(self._lm, LocalChatCompletion):
            choice = reply["choices"][0]
            if choice["message"]["content"] is None:
                if refusal := choice["message"].get("refusal"):
                    return refusal
                raise SpeechIQError(
                    f"{self.name}: a reply without text (it ended by {choice.get('finish_reason')}); a model that "
                    f"thinks first needs a larger {self.prefix}max_gen_toks"
                )
        return "".join(self._lm.parse_generations(outputs=reply, contexts=messages))

    def _weigh(self, rows):
        if not self.weighs:
            raise self.cannot_weigh()
        with self._faults():
            try:
                return super()._weigh(rows)
            except (KeyError, TypeError, IndexError) as error:
                raise SpeechIQError(
                    f"{self.name}: its replies hold no log-probabilities of the prompt; take a server that echoes "
                    f"them, or llm_answer=generate"
                ) from error

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Faults of the endpoint in one line."""
        try:
            yield
        except SpeechIQError:
            raise
        except Exception as error:
            raise self._fault(error, self._lm.base_url) from error

    def _fault(self, error: Exception, url: str) -> SpeechIQError:
        response = getattr(error, "response", None)
        if isinstance(error, requests.exceptions.JSONDecodeError):
            said = f"sent no JSON; check {self.prefix}base_url, the whole address that is posted to"
        elif isinstance(error, aiohttp.ClientResponseError):
            said = f"answered {error.status}; {self._mend(error.status, 'see the log')}"
        elif response is not None:
            status = response.status_code
            told = " ".join(response.text.split())[:200]
            said = f"answered {status}, {told}; {self._mend(status, 'mend what it names')}"
        elif isinstance(error, requests.Timeout):
            said = f"no answer in time; try a larger {self.prefix}timeout or a smaller {self.prefix}num_concurrent"
        elif isinstance(error, requests.RequestException):
            said = f"cannot be reached; check {self.prefix}base_url and that the endpoint is up"
        else:
            told = f"{type(error).__name__}: {first_line(error)}"
            said = f"sent nothing that can be read ({told}); check {self.prefix}base_url"
        return SpeechIQError(self._hide(f"{self.name} at {urlsplit(url or '').hostname}: {said}"))

    def _mend(self, status: int, otherwise: str) -> str:
        return MENDS.get(status, otherwise).format(self.prefix)

    def _hide(self, text: str) -> str:
        for secret in filter(None, getattr(self, "_secrets", ())):
            text = text.replace(secret, "***")
        return text

    def _hide_in_log(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._hide(record.getMessage()), ()
        return True

    def identity(self) -> dict[str, Any]:
        told = self.describe()
        return {"stage": "text", **told, "options": {k: v for k, v in told["options"].items() if k not in INDIFFERENT}}

    @contextmanager
    def _loaded(self) -> Iterator[None]:
        yield


def _passes(error: BaseException) -> bool:
    response = getattr(error, "response", None)
    if response is None:
        return isinstance(error, PASSING)
    return response.status_code in PASSING_STATUS or response.status_code >= 500


def _pause(state: tenacity.RetryCallState) -> float:
    """Seconds until the next try: what the endpoint asks for, else growing ones."""
    response = getattr(state.outcome.exception(), "response", None)
    told = response.headers.get("Retry-After", "") if response is not None else ""
    if told.replace(".", "", 1).isdigit():
        return min(float(told), LONGEST_PAUSE)
    return tenacity.wait_random_exponential(multiplier=0.5, max=LONGEST_PAUSE)(state)
