"""Test calls to servers, also streamed: misbehaving ones end in time, in one line; useless addresses are refused."""

import base64
import json
import math
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from contextlib import contextmanager, suppress
from email.utils import formatdate

import httpx2
import pytest

from speechiq.core.endpoint.client import Advice, Endpoint, find_pause
from speechiq.core.endpoint.replies import read_choices
from speechiq.core.errors import SpeechIQError
from speechiq.core.usage import counted_as, recording, timed, usage
from tests.conftest import KEY
from tests.siq_tasks.questions.server import event, events, serving

pytestmark = pytest.mark.usefixtures("endpoint_key")

ADVICE = Advice("--base-url", "a larger timeout", "shorter audio", "n")
#: Seconds for which servers hang, and in which a client must have ended, on however slow a machine.
HANGS, IN_TIME = 120, 60
SOON = "Retry-After-Ms: 5\r\n"
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>"


class Raw:
    """A server that writes the bytes that `script(connection)` sends; the requests it received are in `requests`."""

    def __init__(self, script):
        self.script, self.requests = script, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def serve(self):
        with suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65_536)
            head, _, body = head.partition(b"\r\n\r\n")
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l")), 0)
            while len(body) < length:
                body += connection.recv(65_536)
            self.requests.append(head + b"\r\n\r\n" + body)
            self.script(self, connection)


@contextmanager
def raw(script):
    server = Raw(script)
    threading.Thread(target=server.serve, daemon=True).start()
    try:
        yield server
    finally:
        server.socket.close()


def reply(body, status="200 OK", headers="", length=None):
    body = body if isinstance(body, bytes) else body.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}"
    return f"{head}Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


def sends(data):
    return lambda _server, connection: connection.sendall(data)


def connect(server, model="m", **options):
    return Endpoint(model, server.url, advice=ADVICE, **options)


def ask(server, retries=0, timeout=10.0):
    """Return the one line, and how many seconds it took."""
    endpoint, began = connect(server, timeout=timeout, max_retries=retries), time.monotonic()
    with pytest.raises(SpeechIQError) as caught:
        endpoint.post("/chat/completions", "chat completion", lambda got: read_choices(got, "m", "n"), {"a": "b"})
    assert KEY not in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 400
    return str(caught.value), time.monotonic() - began


def drip(data, every=0.05):
    def script(_server, connection):
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(every)

    return script


@pytest.mark.parametrize(
    "script",
    [
        lambda _server, _connection: time.sleep(HANGS),
        sends(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"[:-2]),
        lambda _server, connection: (connection.sendall(reply("", length=100)), time.sleep(HANGS)),
        drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 2400),
        drip(reply(" " * 2400)),
    ],
    ids=["never answers", "half a head", "a head alone", "drips its head", "drips its body"],
)
def test_a_call_ends_in_time_for_every_fault_of_the_server(script):
    with raw(script) as server:
        error, took = ask(server, timeout=0.3)
    assert took < IN_TIME
    assert "no answer in time; try a larger timeout" in error or "broke off its reply" in error


def message(fields):
    return reply(f'{{"choices": [{{"message": {fields}}}]}}')


def refusal(fields):
    return reply(json.dumps({"error": fields}), "400 Bad Request")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"ch', "broke off its reply"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "broke off its reply"),
        (reply("x", "200 OK", "X: " + "y" * 200_000 + "\r\n"), "broke off its reply"),
        (PAGE, "sent no chat completion (text/html instead of JSON); check --base-url"),
        (reply(b'{"choices": "\xff\xfe"}'), "sent no chat completion (not UTF-8)"),
        (reply('{"a":' * 100_000), "sent no chat completion (it is nested too deeply)"),
        (reply("9" * 5000), "sent no chat completion (Exceeds the limit"),
        (reply("NaN"), "sent no chat completion ('float' object"),
        (reply("<!DOCTYPE html><title>Log in</title>"), "sent no chat completion (Expecting value"),
        (reply(""), "sent no chat completion (Expecting value"),
        (reply('{"object": "list"}'), "sent no chat completion (no 'choices'); check --base-url, which often ends in"),
        (message('{"content": NaN}'), "sent no chat completion (content is a float)"),
        (message('{"content": [7]}'), "sent no chat completion ('int' object has no attribute"),
        (message('{"content": "Hi", "refusal": {}}'), "sent no chat completion (refusal is a dict)"),
        (message('{"content": "Hi", "audio": []}'), "sent no chat completion ('list' object has no attribute"),
        (message('{"content": "Hi", "audio": {"data": 0}}'), "sent no chat completion (audio is a int)"),
        (reply("\x1b[2J\x07", "400 Bad Request"), "answered 400, \ufffd[2J\ufffd"),
        (refusal({"message": "x" * 10**6}), "answered 400, " + "x" * 200),
        (refusal({"message": [1], "code": {}}), "answered 400, "),
        (
            refusal({"message": "not supported", "param": "temperature"}),
            "answered 400, not supported (temperature); correct what it names",
        ),
    ],
)
def test_what_is_no_reply_is_one_short_line(data, fault):
    with raw(sends(data)) as server:
        error, _ = ask(server)
    assert error.startswith(f"openai:m at 127.0.0.1: {fault}")


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ('{"message": {"content": null}, "finish_reason": "stop"}', "without text (it ended by stop)"),
        ('{"message": {"content": null, "tool_calls": [{}]}}', "without text (it calls a tool)"),
        ('{"message": {"content": [{"type": "thinking"}]}, "finish_reason": "stop"}', "without text (it ended by st"),
        ("", "(no choices)"),
    ],
)
def test_a_reply_without_an_answer_is_a_failed_call_that_is_tried_again(choice, reason):
    with raw(sends(reply(f'{{"choices": [{choice}]}}', headers=SOON))) as server:
        error, _ = ask(server, retries=2)
        assert len(server.requests) == 3 and reason in error


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Austen or Eliot?"}]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([THOUGHT, {"type": "text", "text": "Jane "}, {"type": "text", "text": "Austen"}], "Jane Austen"),
        ("caf\ud83d", "caf\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_of_content_in_parts_the_text_counts_without_half_a_surrogate_pair(content, text):
    with serving(lambda *_: (200, {}, json.dumps({"choices": [{"message": {"content": content}}]}))) as server:
        assert connect(server).chat("Who?")[0].text == text


NGINX = "<html><head><title>502 Bad Gateway</title></head><body><hr><center>nginx</center></body></html>"


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (502, "text/html", NGINX, "502 Bad Gateway nginx"),
        (500, "application/json", '{"error": {"message": "no <unk>"}}', "no <unk>"),
    ],
)
def test_a_fault_of_a_server_is_in_plain_words_with_what_helps(status, kind, body, said):
    with serving(lambda *_: (status, {"Content-Type": kind}, body)) as server, pytest.raises(SpeechIQError) as caught:
        connect(server, max_retries=0).chat("Who?")
    line = f"openai:m at 127.0.0.1: answered {status}, {said}; try later, or look into the log of the server"
    assert str(caught.value) == line


def test_a_key_that_a_server_repeats_is_in_no_error_and_in_no_cause_of_one():
    answer = refusal({"message": f"wrong key {KEY}"})
    with raw(sends(answer)) as server, pytest.raises(SpeechIQError, match="400, wrong key") as caught:
        connect(server).chat("hello")
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_the_first_check_of_an_address_waits_no_longer_than_a_call():
    with raw(lambda *_: time.sleep(HANGS)) as server:
        began = time.monotonic()
        with pytest.raises(SpeechIQError, match="no answer in time"):
            connect(server, timeout=0.2, max_retries=0).check()
        assert time.monotonic() - began < IN_TIME and len(server.requests) == 1


@pytest.mark.parametrize("asked", ["Retry-After: 3\r\n", ""])
def test_a_long_wait_is_announced_with_its_reason_and_length(asked, capsys):
    with raw(sends(reply('{"error": {"message": "slow down"}}', "429 Too Many", asked))) as server:
        error, took = ask(server, retries=1)
    waits = capsys.readouterr().err.splitlines()
    assert waits == (
        ["siq: openai:m at 127.0.0.1: answered 429, slow down; waits 3 s, then try 2 of 2"] if asked else []
    )
    assert took >= (3 if waits else 0.3) and "answered 429, slow down; try a larger timeout" in error


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "900"}, 60, 60),
        ({"retry-after-ms": "20"}, 0.02, 0.02),
        ({"retry-after": "nan"}, 1.5, 2),
        ({"retry-after": "Tue, 99 Foo"}, 1.5, 2),
        ({"retry-after": f"Mon, 01 Jan {'9' * 30} 00:00:00"}, 1.5, 2),
        ({"retry-after": formatdate(time.time() + 3600, usegmt=True)}, 60, 60),
        ({"retry-after": formatdate(time.time() - 3600, usegmt=True)}, 1.5, 2),
        ({}, 1.5, 2),
    ],
)
def test_a_server_decides_how_long_to_wait_up_to_a_minute(headers, least, most):
    assert least <= find_pause(3, httpx2.Response(429, headers=headers)) <= most


def test_a_call_without_a_key_sends_none(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with raw(sends(reply("{}"))) as server:
        connect(server).check()
        with pytest.raises(SpeechIQError, match="sent no x"):
            connect(server).post("/x", "x", lambda got: got["text"], {"a": "b"})
    assert len(server.requests) == 2 and not any(b"authorization" in asked.lower() for asked in server.requests)


def test_a_line_break_after_a_key_does_no_harm(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    with raw(sends(reply("{}"))) as server:
        connect(server).check()
        assert f"Bearer {KEY}\r\n".encode() in server.requests[0]


HANGING = """
import sys
from speechiq.core.endpoint.client import Advice, Endpoint, find_pause
Endpoint("m", sys.argv[1], advice=Advice("", "", "", "")).post("/x", "x", print, {})
"""


def test_ctrl_c_ends_a_call_that_hangs():
    asked = threading.Event()
    with raw(lambda *_: (asked.set(), time.sleep(HANGS))) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", HANGING, server.url], stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        assert asked.wait(IN_TIME)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=IN_TIME)
    assert process.returncode != 0 and "was destroyed" not in errors and errors.strip().endswith("waiting for a server")


@pytest.mark.parametrize("named", [{"code": "insufficient_quota"}, {"code": None, "type": "insufficient_quota"}])
def test_an_account_without_quota_ends_at_once(named):
    body = json.dumps({"error": {"message": "You exceeded your current quota.", "type": "requests", **named}})
    with serving(lambda *_: (429, {}, body)) as server, pytest.raises(SpeechIQError) as caught:
        connect(server).chat("Who?")
    line = "the account has no quota left (answered 429, You exceeded your current quota.); add credit"
    assert len(server.requests) == 1 and line in str(caught.value)


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


def test_each_call_has_the_query_of_the_address():
    with raw(sends(reply("{}"))) as server:
        endpoint = Endpoint("m", f"{server.url}/?api-version=2024-10-21&b=%20c&d=", advice=ADVICE)
        endpoint.check()
        with suppress(SpeechIQError):
            endpoint.chat("Who?")
    paths = [asked.split(b" ")[1] for asked in server.requests]
    query = b"?api-version=2024-10-21&b=+c&d="
    assert paths == [b"/v1/models" + query, b"/v1/chat/completions" + query]


@pytest.mark.parametrize(
    ("url", "secret"),
    [
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
    line = str(caught.value)
    assert line.startswith(f"openai:m: {given_by} contains {secret}, which would be written into the results; ")
    assert "set the environment variable OPENAI_API_KEY" in line and "hunter2" not in line and KEY not in line


def test_an_address_that_is_none_is_shown_only_if_it_cannot_contain_a_secret():
    for url, shown in (("localhost:8000", "'localhost:8000'"), ("http://host:pa/ss@x?y", "it")):
        with pytest.raises(SpeechIQError, match=rf"--base-url: {shown} is not an address; give one like http://HOST"):
            Endpoint("m", url, advice=ADVICE)


NO_HEADER = "{} contains a line break or a letter that no key has; set it again"


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("OPENAI_API_KEY", "sk-hunter2\nmore", NO_HEADER),
        ("OPENAI_API_KEY", "sk-h\u00fcnter2", NO_HEADER),
        ("OPENAI_API_KEY", "sk-hunter2\x1b[2J", NO_HEADER),
        ("OPENAI_ORG_ID", "hunter2\n", NO_HEADER),
        ("OPENAI_PROJECT_ID", "hunter2\n", NO_HEADER),
        ("HTTPS_PROXY", "bad://me:hunter2@host", "^openai:m: ValueError from the proxy or .*; correct HTTPS_PROXY"),
    ],
)
def test_a_variable_that_cannot_work_is_refused_and_not_shown(variable, value, line, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(SpeechIQError, match=line.format(variable)) as caught:
        Endpoint("m", "http://127.0.0.1:9/v1", advice=ADVICE)
    assert "nter2" not in str(caught.value)


@pytest.mark.parametrize("names", [["prompt_tokens", "completion_tokens"], ["input_tokens", "output_tokens"]])
def test_the_tokens_of_replies_are_counted_for_the_system_and_not_for_its_judge(names):
    stated = dict(zip(names, (12, 3), strict=True)) | {"total_tokens": "x"}
    body = json.dumps({"choices": [{"message": {"content": "Hello"}}], "usage": stated})
    before = Counter(usage)
    with raw(sends(reply(body))) as server:
        endpoint = Endpoint("m", server.url, advice=ADVICE)
        endpoint.chat("Hi")
        with counted_as("correcting"):
            endpoint.chat("Hi")
        with counted_as("judging"):
            endpoint.chat("Hi")
    assert usage - before == {"calls": 3, "prompt_tokens": 24, "completion_tokens": 6}


@pytest.mark.parametrize("stated", [None, {}, {"prompt_tokens": 12}, {"prompt_tokens": "12", "completion_tokens": 3.0}])
def test_replies_that_do_not_state_all_tokens_are_counted(stated):
    body = json.dumps({"choices": [{"message": {"content": "Hello"}}], "usage": stated})
    before = Counter(usage)
    with serving(lambda *_: (200, {}, body)) as server:
        connect(server).chat("Hi")
        with counted_as("judging"):
            connect(server).chat("Hi")
    assert (usage - before)["replies_without_tokens"] == 1


EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
PAUSE = 0.05


def stream(script, **parameters):
    """Return the answers of one timed call and its times, None if it had none."""
    with serving(script) as server, recording() as recorder, timed(7):
        choices = connect(server, timeout=20, max_retries=0).chat("Who?", **parameters)
    assert all(request["stream"] is True for request in server.requests)
    return choices, recorder.latencies[7]


def fail_to_stream(script, **options):
    """Return the error of a timed call, the seconds that it took and the number of requests."""
    with serving(script) as server, recording() as recorder, pytest.raises(SpeechIQError) as caught, timed(7):
        endpoint, start = connect(server, **options), time.perf_counter()
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
    (choice,), times = stream(lambda *_: events(deltas, [0, PAUSE, PAUSE, PAUSE]))
    assert choice == ("Jane Austen 😀", "stop", "")
    assert PAUSE <= times.first_token <= times.total and times.total >= 3 * PAUSE and math.isnan(times.first_audio)
    assert times.is_warm_up and times.at_once == 1


def test_audio_that_is_not_base64_is_a_failed_call():
    deltas = [{"audio": {"transcript": "Good", "data": "Y!=="}}, {"audio": {"data": "YQ=="}}]
    message, *_ = fail_to_stream(lambda *_: events(deltas), max_retries=0)
    assert "sent no chat completion" in message


def test_audio_arrives_in_parts_of_any_length():
    sound = bytes(range(256))
    parts = [base64.b64encode(sound[:100]).decode(), base64.b64encode(sound[100:]).decode()]
    text = base64.b64encode(sound).decode()
    for data in (parts, [text[:50], text[50:]]):
        deltas = [{"audio": {"id": "a", "transcript": "Good"}}, {"audio": {"data": data[0]}}]
        deltas += [{"audio": {"data": data[1], "transcript": " day."}}, {"audio": {"expires_at": 1}}]
        (choice,), times = stream(lambda *_, deltas=deltas: events(deltas, [PAUSE, PAUSE]))
        assert choice.text == "Good day." and base64.b64decode(choice.audio) == sound
        assert PAUSE <= times.first_token <= times.first_audio <= times.total and times.first_audio >= 2 * PAUSE


def test_several_answers_of_one_stream_are_put_apart_and_refusals_are_answers():
    def one(place, text, end=None):
        return event([{"index": place, "delta": {"content": text}, "finish_reason": end}])

    body = one(1, "B") + one(0, "A") + ": a comment\n\n" + one(1, "b", "length") + one(0, "a", "stop")
    choices, _ = stream(lambda *_: (200, EVENTS, body), n=2)
    assert choices == [("Aa", "stop", ""), ("Bb", "length", "")]
    (choice,), _ = stream(lambda *_: events([{"refusal": "Not "}, {"refusal": "that."}]))
    assert choice.text == "Not that."


@pytest.mark.parametrize(
    ("name", "last"), [("prompt_tokens", {"choices": []}), ("input_tokens", {"choices": None}), ("prompt_tokens", {})]
)
def test_a_stream_states_its_tokens_at_its_end(name, last):
    parts = [{"choices": [{"delta": {"content": "Jane"}, "finish_reason": "stop"}], "usage": None}]
    parts += [last | {"usage": {name: 7, "completion_tokens": 2}}, {"choices": [], "usage": None}]
    body = "".join(f"data: {json.dumps(part)}\n\n" for part in parts)
    before = Counter(usage)
    stream(lambda *_: (200, EVENTS, body))
    assert usage - before == {"calls": 1, "prompt_tokens": 7, "completion_tokens": 2}


def test_a_server_that_does_not_stream_has_a_total_alone():
    (choice,), times = stream(lambda *_: "Jane Austen")
    assert choice.text == "Jane Austen" and math.isnan(times.first_token) and times.total > 0


def test_a_stall_ends_at_the_deadline_before_the_first_part_and_between_parts():
    for pauses in ([60], [0, 60]):
        line, took, count = fail_to_stream(
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
    "no choices": ('data: {"usage": {"prompt_tokens": 7}}\n\n', "sent no chat completion (no choices)"),
    "neither": ("data: {}\n\n", "sent no chat completion (no 'choices')"),
    "nothing": ("", "sent no chat completion (no choices)"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_damaged_stream_is_one_line(fault):
    *body, message = fault

    def script(*_):
        return body[0](*body[1]) if len(body) == 2 else (200, EVENTS, body[0])

    assert message in fail_to_stream(script, timeout=20, max_retries=0)[0]


def test_a_call_that_is_tried_again_is_timed_from_its_last_request_on():
    def script(_, number):
        return (500, {}, "{}") if number == 1 else events([{"content": "a"}])

    with serving(script) as server, recording() as recorder, timed(7):
        endpoint, start = connect(server), time.perf_counter()
        endpoint.chat("Who?")
        took = time.perf_counter() - start
    times = recorder.latencies[7]
    assert took > 0.3 and times.first_token <= times.total < took - 0.3


def test_calls_outside_of_a_recording_are_not_streamed():
    with serving(lambda *_: "Jane") as server, timed(7), recording(False):
        connect(server).chat("Who?")
    assert "stream" not in server.requests[0]
