"""OpenAI-compatible endpoints: one client, its key from the environment alone, its faults in one line."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from speechiq.core.errors import SpeechIQError
from speechiq.core.passes import passes

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"
TIMEOUT, RETRIES = 300.0, 8
PROBE_TIMEOUT, SHOWN = 10.0, 200
UNKNOWN_KEY = 401

Result = TypeVar("Result")


class Mends(NamedTuple):
    """What a user can do about a fault, as the command at hand spells it.

    Attributes:
        base_url: the option that holds the address.
        patience: what to try where no answer comes in time.
        size: what to try where a request is too large.
        package: what brings the client.
    """

    base_url: str
    patience: str
    size: str
    package: str


class Refusal(SpeechIQError):
    """An answer that is an HTTP error, after all retries.

    Attributes:
        status: of the answer.
        code: the endpoint's own name for the reason, such as `content_filter`.
    """

    def __init__(self, message: str, status: int, code: str | None) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Endpoint:
    """A model behind an OpenAI-compatible endpoint; threads may share it. The key is never shown.

    Args:
        model: as the endpoint calls it.
        base_url: its address; without it `OPENAI_BASE_URL`, else OpenAI's own.
        key_variable: the environment variable that holds the key. Without it `OPENAI_API_KEY`, which an
            endpoint of one's own may do without.
        timeout: seconds to wait for an answer.
        max_retries: how often a 408, 409, 429, 5xx or a lost connection is tried again, after growing pauses
            or as long as the endpoint asks for.
        mends: for the errors.

    Raises:
        SpeechIQError: no key, no address, or the client is not installed.
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
        self.name, self.mends = f"openai:{model}", mends
        try:
            import openai
        except ImportError as error:
            raise SpeechIQError(
                f"{self.name}: the package openai is missing; run `pip install {mends.package}`"
            ) from error
        base_url = base_url or os.environ.get(ADDRESS)
        self.key_variable = key_variable or KEY
        self._key = os.environ.get(self.key_variable) or ""
        if not self._key and (key_variable or not base_url):
            other_way = "" if key_variable else f", or give {mends.base_url}"
            raise SpeechIQError(f"{self.name}: no key; set the environment variable {self.key_variable}{other_way}")
        if base_url and not _is_address(base_url):
            raise SpeechIQError(
                f"{self.name}: {base_url!r} is no address; give {mends.base_url} like http://HOST:8000/v1"
            )
        self.client = openai.OpenAI(
            api_key=self._key or "none",
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            http_client=openai.DefaultHttpxClient(event_hooks={"request": [_count]}),
        )

    @property
    def address(self) -> str:
        """Where it is, without any password that was written into the address."""
        url = self.client.base_url
        return f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}"

    def check(self) -> None:
        """Refuse an endpoint that does not answer, or not to this key; what else it answers is not looked at.

        Raises:
            SpeechIQError: nobody is there, or the key is refused.
        """
        probe = self.client.with_options(timeout=PROBE_TIMEOUT, max_retries=1)
        try:
            self.call(lambda _client: probe.models.with_raw_response.list(), "list of models")
        except Refusal as refusal:
            if refusal.status == UNKNOWN_KEY:
                raise

    def call(self, ask: Callable[..., Result], wanted: str) -> Result:
        """What `ask` gets out of the client.

        Args:
            ask: takes the `openai.OpenAI`, calls it, and takes the answer apart.
            wanted: what the answer should be, in words, for the error.

        Raises:
            Refusal: the endpoint answered by an HTTP error.
            SpeechIQError: it gave no answer, or something else than was wanted.
        """
        import openai

        try:
            return ask(self.client)
        except openai.APITimeoutError:
            raise self.fault("no answer in time", f"try {self.mends.patience}") from None
        except openai.APIConnectionError:
            mend = f"check {self.mends.base_url} and that the endpoint is up"
            raise self.fault("cannot be reached", mend) from None
        except openai.APIStatusError as error:
            said = self._hide_key(error.message)[:SHOWN]
            fault = self.fault(f"answered {error.status_code}, {said}", self._mend(error.status_code))
            raise Refusal(str(fault), error.status_code, error.code) from None
        except (openai.APIError, ValueError, AttributeError, IndexError, TypeError) as error:
            mend = f"check {self.mends.base_url}, which often ends in /v1"
            raise self.fault(f"sent no {wanted} ({self._hide_key(str(error))[:SHOWN]})", mend) from None

    def fault(self, symptom: str, mend: str) -> SpeechIQError:
        """The error that says so."""
        return SpeechIQError(f"{self.name} at {self.client.base_url.host}: {symptom}; {mend}")

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text

    def _mend(self, status: int) -> str:
        known = {
            UNKNOWN_KEY: f"check {self.key_variable}",
            403: f"check {self.key_variable}",
            404: f"check {self.mends.base_url} and the model's name",
            413: f"try {self.mends.size}",
            429: f"try {self.mends.patience}",
        }
        return known.get(status, "mend what it names")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


_counting = threading.Lock()


def _count(request) -> None:
    with _counting:
        passes["calls"] += request.method == "POST"
