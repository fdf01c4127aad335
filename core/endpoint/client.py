"""Call the server of a model: retries, hidden keys, and errors in one line, the same for all callers.

The openai package builds requests and sorts errors by HTTP status. Its own retries are off: they ignore a reply without
an answer, do not announce a long wait, and do not limit the time from the first to the last byte.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from tqdm import tqdm

from speechiq.core.console import list_some, printable, say
from speechiq.core.endpoint.addresses import check_address
from speechiq.core.endpoint.replies import (
    CONTENT_FILTER,
    FILTERED,
    Choice,
    NoAnswer,
    is_listed,
    list_models,
    post_streamed,
    read_choices,
    read_json,
)
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import as_messages
from speechiq.core.suggestions import missing
from speechiq.core.usage import Clock, count_tokens, current_clock, usage

if TYPE_CHECKING:
    import httpx2
    import openai

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
OPENAI = "https://api.openai.com/v1"
#: Variables that the openai package puts into headers in addition to the key.
ACCOUNT = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
TIMEOUT, RETRIES = 300.0, 8
PROBE_TIMEOUT, LONGEST_REASON = 10.0, 200
UNKNOWN_KEY = 401
#: HTTP status -> what to do about it, by the fields of `Advice` and the environment variable of the key.
BY_STATUS = {
    UNKNOWN_KEY: "check {key_variable}",
    403: "check {key_variable}",
    404: "check {base_url} and the model's name",
    413: "try {size}",
    429: "try {patience}",
}
OTHERWISE, OF_SERVER = "correct what it names", "try later, or look into the log of the server"
_TAG = re.compile(r"<[^<>]*>")
#: Status of a request that is refused for its parameters or its content.
REJECTED = (400, 422)
#: How llama.cpp refuses several answers per call (`n`), as a fault of the server by its status.
ONE_CHOICE = "only one completion choice"
#: Status of a call that may succeed later, in addition to those of the server's faults, 500 and more.
TEMPORARY = (408, 409, 429)
#: Headers by which a server requests a pause, with their units in seconds.
PAUSES = {"retry-after-ms": 0.001, "retry-after": 1.0}
#: Seconds; the last one limits what a server may request.
SHORTEST_PAUSE, LONGEST_PAUSE, LONGEST_REQUESTED = 0.5, 8.0, 60.0
#: Codes of an account without money, for which no wait helps.
NO_QUOTA = ("insufficient_quota",)
#: Most models of a server that an error names.
LISTED = 10
#: Seconds from which a wait is announced.
ANNOUNCED = 3.0

Result = TypeVar("Result")
Send = Callable[[], Awaitable["httpx2.Response"]]


class Advice(NamedTuple):
    """Describe what a user can do about a fault, in terms of the options of the user's command.

    Attributes:
        base_url: The option that sets the address.
        patience: What to try if no answer comes in time.
        size: What to try if a request is too large.
        length: The option that limits the tokens of an answer.
    """

    base_url: str
    patience: str
    size: str
    length: str

    def about(self, status: int, key_variable: str) -> str:
        """Return the advice about an HTTP error.

        >>> Advice("--base-url", "fewer --workers", "a shorter text", "").about(429, "OPENAI_API_KEY")
        'try fewer --workers'
        """
        advice = BY_STATUS.get(status, OF_SERVER if status >= 500 else OTHERWISE)
        return advice.format(key_variable=key_variable, **self._asdict())


class Refusal(SpeechIQError):
    """Report an HTTP error after all retries; `code` is the server's name of the reason, such as `content_filter`."""

    def __init__(self, thing: object, fault: object, fix: object, *, status: int, code: str | None) -> None:
        super().__init__(thing, fault, fix)
        self.status, self.code = status, code


class NoConnection(SpeechIQError):
    """Report a server that does not answer at its address, after all retries."""


class Malformed(SpeechIQError):
    """Report a reply that is not what the API promises, such as JSON that is cut off; it is not retried."""


class Endpoint:
    """Call a model behind an OpenAI-compatible server, whose key is never shown; threads may share it.

    Args:
        base_url: The address; by default `OPENAI_BASE_URL`, else OpenAI's own. Each call has its query, if any.
        key_variable: The environment variable of the key. By default `OPENAI_API_KEY`, which is optional for an
            endpoint other than OpenAI's.
        timeout: Seconds for one call, from the connection to the last byte of the reply.
        max_retries: How often a call is retried after a 408, 409, 429, 5xx, a lost connection, or a reply that is late
            or has no answer. Pauses grow, or last as long as the server requests.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        key_variable: str | None = None,
        timeout: float = TIMEOUT,
        max_retries: int = RETRIES,
        advice: Advice,
    ) -> None:
        self.model, self.name, self.advice = model, f"openai:{model}", advice
        self.key_variable = key_variable or KEY
        self._key = os.environ.get(self.key_variable, "").strip()
        own = base_url or os.environ.get(ADDRESS)
        self.address = OPENAI
        if own:
            given_by = f"{self.name}: {advice.base_url if base_url else ADDRESS}"
            fix = f"set the environment variable {self.key_variable}"
            self.address = check_address(own, given_by, fix, "http://HOST:8000/v1", [self._key])
        if not self._key and (key_variable or not own):
            other_way = "" if key_variable else f", or give {advice.base_url}"
            raise SpeechIQError(self.name, "no key", f"set the environment variable {self.key_variable}{other_way}")
        self._timeout, self._max_retries, self._quiet_until = timeout, max_retries, 0.0
        self._client = self._open()
        self.host = self._client.base_url.host

    def _open(self) -> openai.AsyncOpenAI:
        account = {variable: os.environ.get(variable, "") for variable in ACCOUNT}
        for variable, value in {self.key_variable: self._key, **account}.items():
            if not (value.isascii() and value.isprintable()):
                raise SpeechIQError(
                    self.name, f"{variable} contains a line break or a letter that no key has", "set it again"
                )
        try:
            from openai import AsyncOpenAI
        except ImportError as error:
            raise SpeechIQError(self.name, missing("openai")) from error
        base, _, query = self.address.partition("?")
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        place: dict[str, Any] = {"base_url": base, "default_query": parameters}
        try:
            return AsyncOpenAI(api_key=self._key or "none", max_retries=0, timeout=None, **place)
        except (OSError, ValueError) as error:
            raise SpeechIQError(
                self.name,
                f"{type(error).__name__} from the proxy or the certificates that the environment names",
                "correct HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or SSL_CERT_FILE",
            ) from None

    def check(self) -> None:
        """Refuse an endpoint that does not answer, refuses the key, or lists other models; accept any other answer."""
        options = self._options({})
        try:
            limits = min(PROBE_TIMEOUT, self._timeout), min(1, self._max_retries)
            models = wait_for(self._call(lambda: self._client.get("/models", **options), list_models, "reply", *limits))
        except Refusal as refusal:
            if refusal.status == UNKNOWN_KEY:
                raise
            return
        if models and not is_listed(self.model, models):
            nearest = get_close_matches(self.model, models, len(models), cutoff=0)
            fix = f"name one that its server lists: {list_some([*map(self._quote, nearest)], LISTED)}"
            raise SpeechIQError(self._place, "no such model", fix)

    def chat(
        self,
        content: str | Sequence[Mapping[str, Any]],
        *,
        system: str = "",
        may_be_empty: bool = True,
        **parameters: Any,
    ) -> list[Choice]:
        """Return the answers to a message; if a content filter blocked it, `FILTERED` for each requested answer.

        A turn with the text `system` precedes the message, unless it is empty. An answer without text that may not be
        empty is a failed call; an HTTP error is a `Refusal`. `parameters` are those of the chat API. While answers are
        timed (`core/usage.py`), the reply is streamed.
        """
        body = {"model": self.model, "messages": as_messages(content, system), **parameters}
        read = partial(read_choices, name=self.name, length=self.advice.length, may_be_empty=may_be_empty)
        try:
            return self.post("/chat/completions", "chat completion", read, body, clock=current_clock.get())
        except Refusal as refusal:
            if refusal.code != CONTENT_FILTER:
                raise
            return [Choice(FILTERED, CONTENT_FILTER)] * parameters.get("n", 1)

    def post(
        self,
        path: str,
        expected: str,
        read: Callable[[Any], Result],
        body: Mapping[str, Any],
        file: tuple[str, bytes, str] | None = None,
        *,
        raw: bool = False,
        clock: Clock | None = None,
    ) -> Result:
        """Post a request and return its reply, parsed by `read`; raise `Refusal` for an HTTP error.

        Args:
            expected: What the reply should be, in words, for the error.
            read: Parses the JSON of the reply, or its bytes if it is `raw`; a `NoAnswer` is a failed call.
            body: JSON, or the fields of a form if there is a file.
            file: Name, content and media type of the file.
            clock: Times the reply, which is then streamed.
        """
        files = {"file": file} if file else None
        options = self._options({"Content-Type": "multipart/form-data"} if file else {})

        def send() -> Awaitable[httpx2.Response]:
            usage["calls"] += 1
            if clock is not None:
                return post_streamed(self._client, path, body, options, clock)
            return self._client.post(path, body=body, files=files, **options)

        def parse(reply: httpx2.Response) -> Result:
            content = reply.content if raw else read_json(reply)
            count_tokens(content)
            return read(content)

        return wait_for(self._call(send, parse, expected, self._timeout, self._max_retries))

    def _options(self, headers: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of each call of the openai package, which adds the header of the key."""
        from httpx2 import Response
        from openai import Omit

        keyless = {} if self._key else {"Authorization": Omit()}
        return {"cast_to": Response, "options": {"headers": headers | keyless}}

    async def _call(
        self, send: Send, read: Callable[[httpx2.Response], Result], expected: str, timeout: float, retries: int
    ) -> Result:
        from openai import APIStatusError

        fault: SpeechIQError
        for number in range(1, retries + 2):
            began, response = time.monotonic(), None
            try:
                async with asyncio.timeout(timeout):
                    response = await send()
                return read(response)
            except APIStatusError as error:
                response = error.response
                fault = self._refuse(error)
                is_temporary = fault.status in TEMPORARY or fault.status >= 500
                may_pass = is_temporary and fault.code not in NO_QUOTA
            except Exception as error:
                fault, may_pass = self._explain(error, expected)
            if not may_pass or number > retries:
                break
            pause = find_pause(number, response)
            self._announce(fault, pause, time.monotonic() - began, number + 1, retries + 1)
            await asyncio.sleep(pause)
        raise fault

    def _explain(self, error: Exception, expected: str) -> tuple[SpeechIQError, bool]:
        """Return the cause of a failed call in one line, and whether the same call may succeed later.

        An error that neither the server nor the connection caused is raised again.
        """
        import httpx2
        import openai

        check = f"check {self.advice.base_url}"
        match error:
            case TimeoutError():
                return self._fault("no answer in time", f"try {self.advice.patience}"), True
            case NoAnswer():
                return self._fault(self._quote(error), "try another model or prompt"), True
            case openai.APIConnectionError(__cause__=httpx2.NetworkError() | httpx2.TimeoutException()):
                return self._fault("no connection", f"{check} and that the endpoint is up", NoConnection), True
            case openai.APIConnectionError(__cause__=cause):
                symptom = f"broke off its reply ({self._quote(cause)})"
                return self._fault(symptom, f"{check} and that the endpoint is up"), True
            case openai.APIError(message=message) if type(error) is openai.APIError:
                return self._fault(f"broke off its reply ({self._quote(message)})", f"try {self.advice.patience}"), True
            case ValueError() | AttributeError() | LookupError() | TypeError() | RecursionError():
                reason = f"no {error}" if isinstance(error, KeyError) else str(error)
                symptom = f"sent no {expected} ({self._quote(reason)})"
                return self._fault(symptom, f"{check}, which often ends in /v1", Malformed), False
        raise error

    def _refuse(self, error: openai.APIStatusError) -> Refusal:
        status, body = error.status_code, error.body
        given = body if isinstance(body, dict) else {"message": body}
        code, kind, parameter, message = (given.get(name) for name in ("code", "type", "param", "message"))
        text = message if isinstance(message, str) else error.response.text[: 4 * LONGEST_REASON]
        if "html" in error.response.headers.get("content-type", ""):
            text = _TAG.sub(" ", text)
        if isinstance(parameter, str) and parameter not in text:
            text = f"{text[: LONGEST_REASON // 2]} ({parameter})"
        symptom, fix = f"answered {status}, {self._quote(text)}", self.advice.about(status, self.key_variable)
        if code in NO_QUOTA or kind in NO_QUOTA:
            code, symptom = NO_QUOTA[0], f"the account has no quota left ({symptom})"
            fix = f"add credit to it, or set {self.key_variable} to the key of another one"
        if ONE_CHOICE in text.lower():
            status = REJECTED[0]
        return Refusal(self._place, symptom, fix, status=status, code=code if isinstance(code, str) else None)

    @property
    def _place(self) -> str:
        return f"{self.name} at {self.host}"

    def _fault(self, symptom: str, fix: str, kind: type[SpeechIQError] = SpeechIQError) -> SpeechIQError:
        return kind(self._place, symptom, fix)

    def _quote(self, text: Any) -> str:
        """Return text of a server or library as one short line without the key and without control characters."""
        text = str(text)
        if self._key:
            text = text.replace(self._key, "***")
        return printable(" ".join(text.split())[:LONGEST_REASON])

    def _announce(self, fault: SpeechIQError, pause: float, took: float, number: int, tries: int) -> None:
        """Announce the wait, unless another call has just announced one."""
        now = time.monotonic()
        if pause + took >= ANNOUNCED and now >= self._quiet_until:
            self._quiet_until = now + pause
            with tqdm.external_write_mode(file=sys.stderr):
                say(f"{fault.thing}: {fault.fault}; waits {pause:.0f} s, then try {number} of {tries}")


def find_pause(tries: int, reply: httpx2.Response | None) -> float:
    """Return the seconds to wait after some failed `tries`: as the last reply requests, else longer each time."""
    for header, unit in PAUSES.items():
        requested = _read_pause(reply.headers.get(header, ""), unit) if reply is not None else 0.0
        if requested > 0:
            return min(requested, LONGEST_REQUESTED)
    # The random part spreads calls that failed at the same time.
    return min(SHORTEST_PAUSE * 2.0 ** (tries - 1), LONGEST_PAUSE) * random.uniform(0.75, 1)


def _read_pause(text: str, unit: float) -> float:
    """Return the seconds that a header states, as a number or as the date until which to wait; 0 for any other."""
    with suppress(ValueError):
        return float(text) * unit
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(text).timestamp() - time.time()
    return 0.0


def wait_for(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine that one thread runs for all; Ctrl-C while waiting cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise KeyboardInterrupt("stopped by hand while waiting for a server") from None


_starting = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    with _starting:
        return _start()


@cache
def _start() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="endpoints").start()
    return loop
