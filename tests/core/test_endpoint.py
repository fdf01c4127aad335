"""Calls to the server of a model: which are made again, which end at once, and what is read from a reply."""

import json

import pytest

from speechiq.core.endpoint.advice import Advice
from speechiq.core.endpoint.client import Endpoint
from speechiq.core.errors import SpeechIQError
from tests.siq_tasks.questions.server import serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

ADVICE = Advice("base_url", "a larger timeout", "a shorter text", "max_tokens")


def connect(server, model="m", **options):
    return Endpoint(model, server.url, advice=ADVICE, timeout=20, **options)


@pytest.mark.parametrize("named", [{"code": "insufficient_quota"}, {"code": None, "type": "insufficient_quota"}])
def test_an_account_without_quota_ends_at_once(named):
    body = json.dumps({"error": {"message": "You exceeded your current quota.", "type": "requests", **named}})
    with serving(lambda *_: (429, {}, body)) as server, pytest.raises(SpeechIQError) as caught:
        connect(server).chat("Who?")
    assert len(server.requests) == 1
    assert "the account has no quota left (answered 429, You exceeded your current quota.); add credit" in str(
        caught.value
    )


def test_of_content_in_parts_the_text_counts():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Austen or Eliot?"}]},
        {"type": "text", "text": "Jane "},
        {"type": "text", "text": "Austen"},
    ]
    reply = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    with serving(lambda *_: (200, {}, json.dumps(reply))) as server:
        assert connect(server).chat("Who?")[0].text == "Jane Austen"


@pytest.mark.parametrize(
    ("listed", "fix"),
    [
        (["gpt-audio", "other"], r"no such model; name one that its server lists: gpt-audio, other"),
        ([f"model-{number}" for number in range(15)], r"lists: model-.* and 5 more"),
    ],
)
def test_a_model_that_the_server_does_not_list_is_refused_before_any_call(listed, fix):
    with serving(lambda *_: "yes") as server:
        server.models = listed
        with pytest.raises(SpeechIQError, match=fix):
            connect(server, "gpt-adio").check()
    assert not server.requests


@pytest.mark.parametrize("listed", [[], ["m"], ["m:latest"], ["models/m"]])
def test_a_model_that_the_server_lists_is_accepted_as_is_any_if_it_lists_none(listed):
    with serving(lambda *_: "yes") as server:
        server.models = listed
        connect(server).check()
