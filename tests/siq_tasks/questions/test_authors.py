"""Faults of an endpoint over real HTTP: tried again where that helps, else one line, and never the key."""

import builtins
import time

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.questions.authors import OpenAIAuthor, parse_author, parse_authors
from tests.conftest import KEY
from tests.siq_tasks.questions.server import serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

SOON = {"Retry-After-Ms": "5"}


def ask(script, **options):
    with serving(script) as server:
        author = OpenAIAuthor("m", server.url, **options)
        try:
            return author.ask("prompt", 0.7, 3), server.requests
        except SpeechIQError as error:
            return str(error), server.requests


def faulty(*faults):
    return lambda _prompt, number: faults[number - 1] if number <= len(faults) else "B"


@pytest.mark.parametrize("faults", [[(429, SOON, "{}")], [(500, SOON, "{}"), (503, SOON, "busy")]])
def test_too_many_requests_and_server_errors_are_tried_again(faults):
    answer, requests = ask(faulty(*faults))
    assert answer == "B" and len(requests) == len(faults) + 1
    assert (requests[0]["seed"], requests[0]["temperature"]) == (3, 0.7)


def test_a_server_that_stays_broken_is_one_line():
    answer, requests = ask(lambda *_: (500, SOON, '{"error": {"message": "out of memory"}}'), max_retries=2)
    assert answer.startswith("openai:m at 127.0.0.1: answered 500, ") and "out of memory" in answer
    assert len(requests) == 3


def test_an_answer_that_does_not_come_is_one_line():
    answer, _ = ask(lambda *_: time.sleep(0.5) or "B", timeout=0.1, max_retries=0)
    assert answer == "openai:m at 127.0.0.1: no answer in time; try fewer --workers"


def test_an_endpoint_that_is_down_is_one_line():
    with serving(faulty()) as server:
        url = server.url
    with pytest.raises(SpeechIQError, match=r"^openai:m at 127\.0\.0\.1: no connection; check base_url"):
        OpenAIAuthor("m", url, max_retries=1).ask("prompt", 0, 0)


@pytest.mark.parametrize("body", ["<html>", "{", "[]", '{"choices": [{}]}'])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_a_reply_that_is_no_completion_is_one_line(body, kind):
    answer, _ = ask(lambda *_: (200, {"Content-Type": kind}, body))
    assert "sent no chat completion" in answer and "\n" not in answer


def test_a_refusal_is_an_answer_not_a_failure():
    message = '{"choices": [{"message": {"role": "assistant", "content": null, "refusal": "I must not"}}]}'
    assert ask(lambda *_: (200, {}, message))[0] == "I must not"
    assert (
        ask(lambda *_: (400, {}, '{"error": {"message": "policy", "code": "content_filter"}}'))[0] == "[content filter]"
    )


def test_a_rejected_key_is_named_but_not_shown():
    answer, _ = ask(lambda *_: (401, {}, '{"error": {"message": "no such key: {key}"}}'))
    assert "answered 401" in answer and "check OPENAI_API_KEY" in answer
    assert KEY not in answer and "***" in answer


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
        ("openai:m,base_url=http://h/v1?key=hunter2", r"the author's base_url: the address contains a key \('key='\)"),
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
