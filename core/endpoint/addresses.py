"""Check addresses of servers: http or https, a host, and no secret, since results and logs contain the address."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError

NEVER_SHOWN = "@?#;%"
LONGEST_SHOWN = 100

#: An address in a text, with a password that may have a comma.
_ADDRESS = re.compile(r"(?:base_url=(?:\w+://)?|https?://)(?:[^/\s]*@)?[^\s,]+")
_NAME = re.compile(r"[?&;#/]([^=?&;#/]+)=")
_SECRET = re.compile(
    r"(key|token|secret|passw(or)?d|credentials?|signature)$|(^|[-_.])(sig|pass|pwd|auth|authorization|code|jwt)$", re.I
)


def check_address(url: Any, given_by: str, fix: str, example: str, secrets: Sequence[str] = ()) -> str:
    """Return an address that may be used and logged, without a slash at its end; no error repeats one of the `secrets`.

    Args:
        given_by: The beginning of errors: the name of the system, and the option or variable that sets the address.
        fix: Where a key belongs instead, such as `set the environment variable OPENAI_API_KEY`.
        secrets: Texts that must not be in the address, such as the key.
    """
    text = str(url).strip()
    if secret := find_secret(text, secrets):
        raise SpeechIQError(
            f"{given_by} contains {secret}, which would be written into the results", fix=f"remove it and {fix}"
        )
    if not _is_address(text):
        shown = "it" if set(text) & set(NEVER_SHOWN) else repr(printable(text)[:LONGEST_SHOWN])
        raise SpeechIQError(given_by, f"{shown} is not an address", f"give one like {example}")
    return text.rstrip("/")


def find_secret(url: str, secrets: Sequence[str] = ()) -> str | None:
    """Return what kind of secret is in an address, or None.

    >>> find_secret("https://me:1234@host/v1"), find_secret("https://host/v1?api_key=1234")
    ('a user or password', "a key ('api_key=')")
    >>> find_secret("https://host/v1?api-version=2024-10-21"), find_secret("https://host/v1")
    (None, None)
    """
    if "@" in re.split(r"[/?#]", url.split("://", 1)[-1], maxsplit=1)[0]:
        return "a user or password"
    for name in map(unquote, _NAME.findall(url)):
        if _SECRET.search(name):
            return f"a key ({printable(name)[:30] + '='!r})"
    return "the key itself" if any(secret in url for secret in secrets if secret) else None


def refuse_secrets(options: Any, given_by: str, fix: str) -> None:
    """Refuse options (a mapping of any depth, or `name=value,...`) with a secret in an address, before any log."""
    for name, text in _texts(options):
        for url in _ADDRESS.findall(text):
            if secret := find_secret(url):
                raise SpeechIQError(
                    f"{given_by}{name}",
                    f"the address contains {secret}, which would be written into the results",
                    f"remove it and {fix}",
                )


def _texts(options: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text among the options, with the name of its option."""
    if isinstance(options, Mapping):
        for key, value in options.items():
            yield from _texts(value, f" {key}")
    elif isinstance(options, list | tuple):
        for value in options:
            yield from _texts(value, name)
    elif isinstance(options, str):
        yield name, options


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
