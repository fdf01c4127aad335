"""Addresses, keys and proxies that cannot be used are refused in one line, which shows no secret."""

import pytest

from speechiq.core.endpoint.client import Advice, Endpoint
from speechiq.core.errors import SpeechIQError
from tests.conftest import KEY

pytestmark = pytest.mark.usefixtures("endpoint_key")

ADVICE = Advice("--base-url", "a larger timeout", "shorter audio", "n")


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("http://me:hunter2@127.0.0.1:9/v1", "a user or password"),
        ("http://hunter2@127.0.0.1:9/v1", "a user or password"),
        ("http://me:hunter2@", "a user or password"),
        ("me:hunter2@127.0.0.1:9/v1", "a user or password"),
        ("http://127.0.0.1:9/v1?api_key=hunter2", "a key ('api_key=')"),
        ("http://127.0.0.1:9/v1?v=1&access_token=hunter2", "a key ('access_token=')"),
        ("http://127.0.0.1:9/v1?X-Amz-Signature=hunter2", "a key ('X-Amz-Signature=')"),
        ("http://127.0.0.1:9/v1#key=hunter2", "a key ('key=')"),
        ("http://127.0.0.1:9/v1;sig=hunter2", "a key ('sig=')"),
        ("http://127.0.0.1:9/v1?api%5Fkey=hunter2", "a key ('api_key=')"),
        (f"http://127.0.0.1:9/{KEY}/v1", "the key itself"),
    ],
)
@pytest.mark.parametrize("where", ["option", "environment"])
def test_an_address_with_a_secret_is_refused_and_not_repeated(url, secret, where, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(SpeechIQError) as caught:
        Endpoint("m", url if where == "option" else None, advice=ADVICE)
    given_by = "--base-url" if where == "option" else "OPENAI_BASE_URL"
    assert str(caught.value).startswith(
        f"openai:m: {given_by} contains {secret}, which would be written into the results; "
    )
    assert "set the environment variable OPENAI_API_KEY" in str(caught.value)
    assert "hunter2" not in str(caught.value) and KEY not in str(caught.value)


def test_an_address_that_is_none_is_shown_only_if_it_cannot_contain_a_secret():
    for url, shown in (("localhost:8000", "'localhost:8000'"), ("http://host:pa/ss@x?y", "it")):
        with pytest.raises(SpeechIQError, match=rf"--base-url: {shown} is not an address; give one like http://HOST"):
            Endpoint("m", url, advice=ADVICE)


@pytest.mark.parametrize("key", ["sk-hunter2\nmore", "sk-h\u00fcnter2", "sk-hunter2\x1b[2J"])
def test_a_key_that_no_header_can_contain_is_refused_and_not_shown(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(
        SpeechIQError, match="OPENAI_API_KEY contains a line break or a letter that no key has; set it again"
    ) as caught:
        Endpoint("m", "http://127.0.0.1:9/v1", advice=ADVICE)
    assert "nter2" not in str(caught.value)


@pytest.mark.parametrize("variable", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID"])
def test_an_account_that_no_header_can_contain_is_refused(variable, monkeypatch):
    monkeypatch.setenv(variable, "org-1\n")
    with pytest.raises(
        SpeechIQError, match=f"{variable} contains a line break or a letter that no key has; set it again"
    ):
        Endpoint("m", "http://127.0.0.1:9/v1", advice=ADVICE)


def test_a_proxy_that_is_none_is_one_line_that_does_not_show_it(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "bad://me:hunter2@host")
    with pytest.raises(
        SpeechIQError, match=r"^openai:m: ValueError from the proxy or .*; correct HTTPS_PROXY"
    ) as caught:
        Endpoint("m", "http://127.0.0.1:9/v1", advice=ADVICE)
    assert "hunter2" not in str(caught.value)
