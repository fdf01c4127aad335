"""Servers of models: one way to call them, to try again, to hide keys, and to say in one line what went wrong."""

from __future__ import annotations

import asyncio
import os
import random
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tqdm import tqdm

from speechiq.core.addresses import check_address
from speechiq.core.console import printable, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.extras import missing

if TYPE_CHECKING:
    from speechiq.core.transport import Reply

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
OPENAI = "https://api.openai.com/v1"
ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
TIMEOUT, RETRIES = 300.0, 8
PROBE_TIMEOUT, SHOWN = 10.0, 200
SHORTEST_PAUSE, LONGEST_PAUSE, LONGEST_ASKED = 0.5, 8.0, 60.0
WORTH_SAYING = 3.0
UNKNOWN_KEY = 401
PASSING = (408, 409, 429)

Result = TypeVar("Result")


class Mends(NamedTuple):
    """What a user can do about a fault, as the command at hand spells it.

    Attributes:
        base_url: the option that holds the address.
        patience: what to try where no answer comes in time.
        size: what to try where a request is too large.
        form: what the address is like.
    """

    base_url: str
    patience: str
    size: str
    form: str = "which often ends in /v1"


class Refusal(SpeechIQError):
    """An answer that is an HTTP error, after all retries.

    Attributes:
        status: of the answer.
        code: the endpoint's own name for the reason, such as `content_filter`.
    """

    def __init__(self, message: str, status: int, code: str | None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class NoAnswer(Exception):
    """A sound reply without an answer in it, which counts as a failed call; the message says what came instead."""


class Client:
    """Calls to one server, of which keys are never shown; threads may share it.

    Args:
        name: how errors begin, such as `openai:gpt-4o`.
        url: the address, checked already.
        headers: of all calls.
        secrets: texts that no error may show.
        key_variable: the environment variable to check when a key is refused.
        timeout: seconds for one call, from the connection to the last byte of the reply.
        max_retries: how often a 408, 409, 429, 5xx, a lost connection, a reply that is late or holds no answer is
            tried again, after growing pauses or as long as the server asks for.
        mends: for the errors.
        verify: whether certificates are checked, or a file with those of the authorities.

    Raises:
        SpeechIQError: the package that calls is not installed, a file of certificates cannot be read, or a key is
            none.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        headers: dict[str, str],
        secrets: Sequence[str],
        key_variable: str,
        timeout: float,
        max_retries: int,
        mends: Mends,
        verify: bool | str = True,
    ) -> None:
        self.name, self.address, self.mends, self.key_variable = name, url, mends, key_variable
        self.max_retries, self._secrets, self._quiet_until = max_retries, [*filter(None, secrets)], 0.0
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise SpeechIQError(f"{name}: a line break or a letter that no key has is in {key_variable}; set it anew")
        try:
            import httpx

            from speechiq.core.transport import Transport
        except ImportError as error:
            raise SpeechIQError(f"{name}: {missing('httpx')}") from error
        self.host = httpx.URL(url).host
        try:
            self._transport = Transport(timeout, headers, verify)
        except (OSError, ssl.SSLError) as error:
            raise SpeechIQError(
                f"{name}: certificates {verify!r} cannot be read ({error}); name another file"
            ) from None

    def post(self, url: str, wanted: str, read: Callable[[Any], Result], **content: Any) -> Result:
        """Return what `read` makes of the JSON that the server replies.

        Args:
            url: whole.
            wanted: what the reply should be, in words, for the error.
            read: takes the JSON apart; a `NoAnswer` is a failed call.
            **content: see `Transport.send`.

        Raises:
            Refusal: the server answered by an HTTP error.
            SpeechIQError: it gave no answer, or something else than was wanted.
        """
        from speechiq.core.transport import run

        return run(self._call("POST", url, wanted, lambda reply: read(reply.json()), self.max_retries, **content))

    def probe(self, url: str) -> None:
        """Refuse a server that does not answer, or not to this key; what else it answers is not used.

        Raises:
            SpeechIQError: nobody is there, or the key is refused.
        """
        from speechiq.core.transport import run

        try:
            run(self._call("GET", url, "reply", lambda _reply: None, 1, timeout=PROBE_TIMEOUT))
        except Refusal as refusal:
            if refusal.status == UNKNOWN_KEY:
                raise

    async def _call(
        self, method: str, url: str, wanted: str, read: Callable[[Reply], Result], retries: int, **content: Any
    ) -> Result:
        for number in range(retries + 1):
            began = time.monotonic()
            result, fault, passes, asked = await self._try(method, url, wanted, read, **content)
            if fault is None:
                return result
            if not passes or number == retries:
                raise fault
            pause = asked if asked is not None else _grow(number)
            self._announce(fault, pause, time.monotonic() - began, number + 2, retries + 1)
            await asyncio.sleep(pause)
        raise AssertionError

    async def _try(
        self, method: str, url: str, wanted: str, read: Callable[[Reply], Result], **content: Any
    ) -> tuple[Result | None, SpeechIQError | None, bool, float | None]:
        """Return the result or the fault; whether it may pass; the seconds that the server asks to wait."""
        import httpx

        from speechiq.core.transport import Unusable

        where, asked = self.mends.base_url, None
        try:
            reply = await self._transport.send(method, url, **content)
            asked = _asked_pause(reply.headers)
            if reply.status >= 400:
                return None, self._refuse(reply), _may_pass(reply), asked
            return read(reply), None, False, None
        except TimeoutError:
            return None, self.fault("no answer in time", f"try {self.mends.patience}"), True, None
        except httpx.TransportError as error:
            known = isinstance(error, httpx.NetworkError | httpx.TimeoutException)
            symptom = "cannot be reached" if known else f"broke off its reply ({self.quote(error)})"
            return None, self.fault(symptom, f"check {where} and that the endpoint is up"), True, None
        except NoAnswer as error:
            return None, self.fault(self.quote(error), "try another model or prompt"), True, asked
        except (Unusable, httpx.HTTPError, httpx.InvalidURL) as error:
            return None, self.fault(self.quote(error), f"check {where}"), False, None
        except (ValueError, AttributeError, LookupError, TypeError, RecursionError) as error:
            mend = f"check {where}, {self.mends.form}"
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            return None, self.fault(f"sent no {wanted} ({self.quote(reason)})", mend), False, None

    def _announce(self, fault: SpeechIQError, pause: float, took: float, number: int, tries: int) -> None:
        """Say that this waits, unless a call beside it has just said so."""
        now = time.monotonic()
        if pause + took >= WORTH_SAYING and now >= self._quiet_until:
            self._quiet_until = now + pause
            with tqdm.external_write_mode(file=sys.stderr):
                say(f"{str(fault).partition(';')[0]}; waits {pause:.0f} s, then try {number} of {tries}")

    def _refuse(self, reply: Reply) -> Refusal:
        try:
            error = reply.json()["error"]
        except (ValueError, LookupError, TypeError):
            error = None
        code = error.get("code") if isinstance(error, dict) else None
        message = error.get("message") if isinstance(error, dict) else error
        text = message if isinstance(message, str) else reply.body[: 4 * SHOWN].decode(errors="replace")
        if isinstance(error, dict) and isinstance(parameter := error.get("param"), str) and parameter not in text:
            text = f"{text[: SHOWN // 2]} ({parameter})"
        fault = self.fault(f"answered {reply.status}, {self.quote(text)}", self._mend(reply.status))
        return Refusal(str(fault), reply.status, code if isinstance(code, str) else None)

    def fault(self, symptom: str, mend: str) -> SpeechIQError:
        """Return the error that says so."""
        return SpeechIQError(f"{self.name} at {self.host}: {symptom}; {mend}")

    def quote(self, text: Any) -> str:
        """Return what a server or library said as one short line that shows no key and steers no terminal."""
        text = str(text)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return printable(" ".join(text.split())[:SHOWN])

    def _mend(self, status: int) -> str:
        known = {
            UNKNOWN_KEY: f"check {self.key_variable}",
            403: f"check {self.key_variable}",
            404: f"check {self.mends.base_url} and the model's name",
            413: f"try {self.mends.size}",
            429: f"try {self.mends.patience}",
        }
        return known.get(status, "correct what it names")


class Endpoint(Client):
    """A model behind an OpenAI-compatible endpoint.

    Args:
        model: as the endpoint calls it.
        base_url: its address; without it `OPENAI_BASE_URL`, else OpenAI's own.
        key_variable: the environment variable that holds the key. Without it `OPENAI_API_KEY`, which an
            endpoint of one's own may do without.
        timeout, max_retries, mends: see `Client`.

    Raises:
        SpeechIQError: no key, no address, an address that holds a secret, or httpx is not installed.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        key_variable: str | None = None,
        timeout: float = TIMEOUT,
        max_retries: int = RETRIES,
        mends: Mends,
    ) -> None:
        name, own = f"openai:{model}", base_url or os.environ.get(ADDRESS)
        variable = key_variable or KEY
        key = os.environ.get(variable, "").strip()
        if own:
            given_by = f"{name}: {mends.base_url if base_url else ADDRESS}"
            mend = f"set the environment variable {variable}"
            own = check_address(own, given_by, mend, "http://HOST:8000/v1", [key])
        if not key and (key_variable or not own):
            other_way = "" if key_variable else f", or give {mends.base_url}"
            raise SpeechIQError(f"{name}: no key; set the environment variable {variable}{other_way}")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        headers |= {header: value for header, place in ACCOUNT.items() if (value := os.environ.get(place))}
        super().__init__(
            name, own or OPENAI, headers=headers, secrets=[key], key_variable=variable,
            timeout=timeout, max_retries=max_retries, mends=mends,
        )  # fmt: skip

    def check(self) -> None:
        """Refuse an endpoint that does not answer, or not to this key.

        Raises:
            SpeechIQError: nobody is there, or the key is refused.
        """
        self.probe(f"{self.address}/models")

    def ask(self, path: str, wanted: str, read: Callable[[Any], Result], **content: Any) -> Result:
        """Return what `read` makes of the reply to what is posted to `path`; see `Client.post`."""
        return self.post(f"{self.address}{path}", wanted, read, **content)


def _may_pass(reply: Reply) -> bool:
    told = reply.headers.get("x-should-retry")
    return told == "true" if told in ("true", "false") else reply.status in PASSING or reply.status >= 500


def _asked_pause(headers: dict[str, str]) -> float | None:
    """Return the seconds that the server asks to wait, at most `LONGEST_ASKED`, or None."""
    asked = headers.get("retry-after", "")
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif asked[:1].isalpha():
            seconds = (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
        else:
            seconds = float(asked)
    except (ValueError, TypeError):
        return None
    return min(seconds, LONGEST_ASKED) if seconds > 0 else None


def _grow(number: int) -> float:
    """Return the seconds to wait after so many failed tries; a random part keeps calls from coming together."""
    return min(SHORTEST_PAUSE * 2**number, LONGEST_PAUSE) * random.uniform(0.75, 1)
