"""Test streamed chat completions over real HTTP: what arrives, when, and servers that stall, stop or do not stream."""

import base64
import math
import time

import pytest

from speechiq.core.endpoint.client import Advice, Endpoint
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import recording, timed
from tests.conftest import KEY
from tests.siq_tasks.questions.server import event, events, serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
PAUSE = 0.05
ADVICE = Advice("base_url", "a larger timeout", "a shorter text", "max_tokens")


def ask(script, **parameters):
    """Return the answers of one timed call and its times, None if it had none."""
    with serving(script) as server, recording() as recorder, timed(7):
        choices = Endpoint("m", server.url, advice=ADVICE, timeout=20, max_retries=0).chat("Who?", **parameters)
    assert all(request["stream"] is True for request in server.requests)
    return choices, recorder.latencies[7]


def fail(script, **options):
    """Return the error of a timed call, the seconds that it took and the number of requests."""
    with serving(script) as server, recording() as recorder, pytest.raises(SpeechIQError) as caught, timed(7):
        endpoint, start = Endpoint("m", server.url, advice=ADVICE, **options), time.perf_counter()
        endpoint.chat("Who?")
    assert not recorder.latencies and "\n" not in str(caught.value) and KEY not in str(caught.value)
    return str(caught.value), time.perf_counter() - start, len(server.requests)


def test_the_first_token_is_the_first_text_and_the_rest_follows():
    deltas = [
        {"role": "assistant", "content": ""},
        {"content": "Jane"},
        {"content": " Austen \ud83d"},
        {"content": "\ude00"},
    ]
    (choice,), times = ask(lambda *_: events(deltas, [0, PAUSE, PAUSE, PAUSE]))
    assert choice == ("Jane Austen 😀", "stop", "")
    assert PAUSE <= times.first_token <= times.total and times.total >= 3 * PAUSE and math.isnan(times.first_audio)
    assert times.is_warm_up and times.at_once == 1


def test_audio_that_is_not_base64_is_a_failed_call():
    deltas = [{"audio": {"transcript": "Good", "data": "Y!=="}}, {"audio": {"data": "YQ=="}}]
    message, *_ = fail(lambda *_: events(deltas), max_retries=0)
    assert "sent no chat completion" in message


def test_audio_arrives_in_parts_of_any_length():
    sound = bytes(range(256))
    parts = [base64.b64encode(sound[:100]).decode(), base64.b64encode(sound[100:]).decode()]
    text = base64.b64encode(sound).decode()
    for data in (parts, [text[:50], text[50:]]):
        deltas = [{"audio": {"id": "a", "transcript": "Good"}}, {"audio": {"data": data[0]}}]
        deltas += [{"audio": {"data": data[1], "transcript": " day."}}, {"audio": {"expires_at": 1}}]
        (choice,), times = ask(lambda *_, deltas=deltas: events(deltas, [PAUSE, PAUSE]))
        assert choice.text == "Good day." and base64.b64decode(choice.audio) == sound
        assert PAUSE <= times.first_token <= times.first_audio <= times.total and times.first_audio >= 2 * PAUSE


def test_several_answers_of_one_stream_are_put_apart_and_refusals_are_answers():
    def one(place, text, end=None):
        return event([{"index": place, "delta": {"content": text}, "finish_reason": end}])

    body = one(1, "B") + one(0, "A") + ": a comment\n\n" + one(1, "b", "length") + one(0, "a", "stop")
    choices, _ = ask(lambda *_: (200, EVENTS, body), n=2)
    assert choices == [("Aa", "stop", ""), ("Bb", "length", "")]
    (choice,), _ = ask(lambda *_: events([{"refusal": "Not "}, {"refusal": "that."}]))
    assert choice.text == "Not that."


def test_a_server_that_does_not_stream_has_a_total_alone():
    (choice,), times = ask(lambda *_: "Jane Austen")
    assert choice.text == "Jane Austen" and math.isnan(times.first_token) and times.total > 0


def test_a_stall_ends_at_the_deadline_before_the_first_part_and_between_parts():
    for pauses in ([60], [0, 60]):
        line, took, count = fail(
            lambda *_, pauses=pauses: events([{"content": "a"}, {"content": "b"}], pauses), timeout=0.3, max_retries=1
        )
        assert line == "openai:m at 127.0.0.1: no answer in time; try a larger timeout"
        assert 0.6 <= took < 30 and count == 2


FAULTS = {
    "no end": (events, ([{"content": "a"}], [], None), "its stream stopped before the answer ended"),
    "an error": ('data: {"error": {"message": "overloaded {key}"}}\n\n', "broke off its reply (overloaded Bearer ***)"),
    "not JSON": ("data: {\n\n", "sent no chat completion ("),
    "no chunk": ("data: [1]\n\n", "sent no chat completion ("),
    "other types": (event([{"delta": {"content": 5}}]), "sent no chat completion ("),
    "nothing": ("", "sent no chat completion (no choices)"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_damaged_stream_is_one_line(fault):
    *body, message = fault

    def script(*_):
        return body[0](*body[1]) if len(body) == 2 else (200, EVENTS, body[0])

    assert message in fail(script, timeout=20, max_retries=0)[0]


def test_a_call_that_is_tried_again_is_timed_from_its_last_request_on():
    def script(_, number):
        return (500, {}, "{}") if number == 1 else events([{"content": "a"}])

    with serving(script) as server, recording() as recorder, timed(7):
        endpoint, start = Endpoint("m", server.url, advice=ADVICE), time.perf_counter()
        endpoint.chat("Who?")
        took = time.perf_counter() - start
    times = recorder.latencies[7]
    assert took > 0.3 and times.first_token <= times.total < took - 0.3


def test_calls_outside_of_a_recording_are_not_streamed():
    with serving(lambda *_: "Jane") as server, timed(7), recording(False):
        Endpoint("m", server.url, advice=ADVICE).chat("Who?")
    assert "stream" not in server.requests[0]
