"""Test authors behind an endpoint: refusals are answers, faults are one line without the key, names are checked."""

import builtins
import time

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.questions.authors import OpenAIAuthor, parse_author, parse_authors
from tests.conftest import KEY
from tests.siq_tasks.questions.server import serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

REFUSAL = '{"choices": [{"message": {"role": "assistant", "content": null, "refusal": "I must not"}}]}'
FILTERED = '{"error": {"message": "policy", "code": "content_filter"}}'


@pytest.mark.parametrize(
    ("reply", "answer"),
    [("B", "B"), ((200, {}, REFUSAL), "I must not"), ((400, {}, FILTERED), "[content filter]")],
    ids=["an answer", "a refusal", "a filter"],
)
def test_a_refusal_is_an_answer_not_a_failure(reply, answer):
    with serving(lambda *_: reply) as server:
        assert OpenAIAuthor("m", server.url).ask("prompt", 0.7, 3) == answer
        (asked,) = server.requests
    assert (asked["seed"], asked["temperature"]) == (3, 0.7)


def reject(*_):
    return 401, {}, '{"error": {"message": "no such key: {key}"}}'


@pytest.mark.parametrize(
    ("script", "timeout", "message"),
    [
        (lambda *_: time.sleep(0.5) or "B", 0.1, "no answer in time; try fewer --workers$"),
        (reject, 9, r"answered 401, no such key: .*\*\*\*.*; check OPENAI_API_KEY"),
        (None, 9, "no connection; check base_url"),
    ],
)
def test_what_fails_is_one_line_without_the_key(script, timeout, message):
    with serving(script) as server:
        url = server.url if script else "http://127.0.0.1:9/v1"
        with pytest.raises(SpeechIQError, match=rf"^openai:m at 127\.0\.0\.1: {message}") as refused:
            OpenAIAuthor("m", url, timeout=timeout, max_retries=0).ask("prompt", 0, 0)
    assert KEY not in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-4o", "'gpt-4o': not of the form ENGINE:MODEL; write"),
        ("openai:", "'openai:': not of the form ENGINE:MODEL; write"),
        ("nobody:m", "'nobody' is neither openai nor a model type"),
        ("hf:demo:nothing", "demo:nothing: no such demo model"),
        ("hf:./nowhere", "no folder with a config.json"),
        ("hf:m,timeout=3", "hf:m: 'timeout=3': only openai:MODEL has options"),
        ("openai:m,key=abc", "openai:m: no option 'key'; known are base_url, key_variable, timeout"),
        ("openai:m,timeout=soon", "openai:m: timeout=soon: not a number of 0.01 or more"),
        ("openai:m,max_retries=-1", "openai:m: max_retries=-1: not a number of 0 or more"),
        ("openai:m,timeout=inf", "openai:m: timeout=inf: not a number"),
        ("openai:m,base_url=", "openai:m: base_url=: not a text"),
        ("openai:m,base_url=localhost", "openai:m: base_url: 'localhost' is not an address"),
        ("openai:m,base_url=http://me:hunter2@h/v1", "the author's base_url: the address contains a user or password"),
    ],
)
def test_an_author_that_cannot_be_had_is_one_line(name, message):
    with pytest.raises(SpeechIQError, match=message) as refused:
        parse_author(name).open()
    assert "hunter2" not in str(refused.value)


def test_two_authors_of_one_name_have_the_same_options():
    with pytest.raises(SpeechIQError, match=r"^openai:m: named twice with different options"):
        parse_authors(["openai:m", "openai:m,timeout=3"])
    assert len(parse_authors(["openai:m", "openai:m", "openai:n,timeout=3"])) == 2


def test_openai_itself_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(SpeechIQError, match="openai:gpt-4o: no key; set the environment variable OPENAI_API_KEY"):
        parse_author("openai:gpt-4o").open()
    assert parse_author("openai:m,base_url=http://127.0.0.1:1/v1").open().name == "openai:m"


def test_without_the_package_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "openai":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SpeechIQError, match="the package openai is not installed; `pip install openai`"):
        parse_author("openai:m").open()
