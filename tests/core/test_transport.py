"""Calls to servers that do all that servers should not: each ends in time, in one line, and sends nothing elsewhere."""

import gzip
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import httpx2
import pytest

from speechiq.core.endpoint.advice import Advice
from speechiq.core.endpoint.calls import find_pause
from speechiq.core.endpoint.client import Endpoint
from speechiq.core.endpoint.replies import read_choices
from speechiq.core.endpoint.transport import LARGEST
from speechiq.core.errors import SpeechIQError
from tests.conftest import KEY

pytestmark = pytest.mark.usefixtures("endpoint_key")

ADVICE = Advice("--base-url", "a larger timeout", "shorter audio", "n")
TIMEOUT = 1.0
#: Seconds for which servers hang, and in which a client must have ended, on however slow a machine.
HANGS, IN_TIME = 120, 60
SOON = "Retry-After-Ms: 5\r\n"


class Raw:
    """A server that writes the bytes that `script(connection)` sends; the requests it received are in `requests`."""

    def __init__(self, script):
        self.script, self.requests, self.sent = script, [], 0
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


def ask(url, retries=0, timeout=TIMEOUT):
    """Return the one line, and how many seconds it took."""
    endpoint = Endpoint("m", url, timeout=timeout, max_retries=retries, advice=ADVICE)
    began = time.monotonic()
    with pytest.raises(SpeechIQError) as caught:
        endpoint.post("/chat/completions", "chat completion", lambda got: read_choices(got, "m", "n"), {"a": "b"})
    assert KEY not in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 400
    return str(caught.value), time.monotonic() - began


def test_a_page_is_named_as_one():
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>"
    with raw(sends(page)) as server:
        assert "sent no chat completion (text/html instead of JSON); check --base-url" in ask(server.url)[0]


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
        error, took = ask(server.url)
    assert took < IN_TIME
    assert "no answer in time; try a larger timeout" in error or "broke off its reply" in error


def pour(server, connection):
    """Send 100 MB, or as much as the client reads."""
    connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {10**8}\r\n\r\n".encode())
    for _ in range(100):
        connection.sendall(b" " * 10**6)
        server.sent += 10**6


def test_a_huge_reply_is_refused_while_it_comes_and_not_tried_again():
    with raw(pour) as server:
        error, _ = ask(server.url, retries=3, timeout=20)
        assert server.sent < 2 * LARGEST and len(server.requests) == 1
    assert "127.0.0.1: sent a reply of more than 16 MiB; check --base-url" in error


def chunked(data):
    head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head.encode() + data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (reply(gzip.compress(b" " * 10**8), headers="Content-Encoding: gzip\r\n"), "sent a compressed reply (gzip)"),
        (
            reply("{}", "302 Found", "Location: /v1/elsewhere\r\n"),
            "redirects by a 302, which drops the request's content",
        ),
        (reply("{}", "307 Temporary Redirect", "Location: /v1/again\r\n"), "redirected 5 times"),
        (chunked(b'5\r\n{"ch'), "broke off its reply"),
        (reply(b'{"choices": "\xff\xfe"}'), "sent no chat completion (not UTF-8)"),
        (reply("[" * 100_000), "sent no chat completion (it is nested too deeply)"),
        (reply('{"a":' * 100_000), "sent no chat completion (it is nested too deeply)"),
        (reply("9" * 5000), "sent no chat completion (Exceeds the limit"),
        (reply("NaN"), "sent no chat completion ('float' object"),
        (reply("<!DOCTYPE html><title>Log in</title>"), "sent no chat completion (Expecting value"),
        (reply('{"choices": [{"message": {"content": NaN}}]}'), "sent no chat completion (content is a float)"),
        (reply('{"object": "list"}'), "sent no chat completion (no 'choices'); check --base-url, which often ends in"),
        (reply(""), "sent no chat completion (Expecting value"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "broke off its reply"),
        (reply("x", "200 OK", "X: " + "y" * 200_000 + "\r\n"), "broke off its reply"),
        (
            reply("\x1b[2J\x07", "400 Bad Request"),
            "answered 400, \N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}",
        ),
        (reply(json.dumps({"error": {"message": "x" * 10**6}}), "400 Bad Request"), "answered 400, " + "x" * 200),
        (reply(json.dumps({"error": {"message": [1], "code": {}}}), "418 Teapot"), "answered 418, "),
    ],
)
def test_what_is_no_reply_is_one_short_line(data, message):
    with raw(sends(data)) as server:
        error, _ = ask(server.url, timeout=10)
    assert error.startswith(f"openai:m at 127.0.0.1: {message}")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_a_redirect_to_another_server_is_refused_by_name_and_gets_nothing(status):
    with raw(sends(reply("{}"))) as other:
        location = f"Location: http://me:secret@127.0.0.1:{other.port}/v1?api_key=1234\r\n"
        with raw(sends(reply("", status, location))) as server:
            error, _ = ask(server.url, retries=2)
            assert len(server.requests) == 1
        assert not other.requests
    assert error.endswith(f"redirects to another server, http://127.0.0.1:{other.port}; check --base-url")


def test_a_redirect_within_the_server_is_followed_with_what_was_sent():
    completion = '{"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]}'

    def script(server, connection):
        first = len(server.requests) == 1
        connection.sendall(reply("", "307 Here", "Location: ./new\r\n") if first else reply(completion))

    with raw(script) as server:
        endpoint = Endpoint("m", server.url, advice=ADVICE)
        (choice,) = endpoint.post("/chat/completions", "x", lambda got: read_choices(got, "m", "n"), {"a": "b"})
    assert choice.text == "B" and server.requests[1].startswith(b"POST /v1/chat/new")
    assert all(request.endswith(b'{"a":"b"}') and KEY.encode() in request for request in server.requests)


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ('{"message": {"content": null}, "finish_reason": "stop"}', "without text (it ended by stop)"),
        ('{"message": {"content": null, "tool_calls": [{}]}}', "without text (it calls a tool)"),
        (
            '{"message": {"content": [{"type": "thinking"}]}, "finish_reason": "stop"}',
            "without text (it ended by stop)",
        ),
        ("", "(no choices)"),
    ],
)
def test_a_reply_without_an_answer_is_a_failed_call_that_is_tried_again(choice, reason):
    with raw(sends(reply(f'{{"choices": [{choice}]}}', headers=SOON))) as server:
        error, _ = ask(server.url, retries=2)
        assert len(server.requests) == 3 and reason in error


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('{"content": 0}', "content is a int"),
        ('{"content": false}', "content is a bool"),
        ('{"content": [7]}', "has no attribute"),
        ('{"content": "Hi", "refusal": {}}', "refusal is a dict"),
        ('{"content": "Hi", "audio": []}', "has no attribute"),
        ('{"content": "Hi", "audio": {"data": 0}}', "audio is a int"),
    ],
)
def test_an_answer_of_another_type_is_no_empty_answer(message, reason):
    with raw(sends(reply(f'{{"choices": [{{"message": {message}}}]}}'))) as server:
        error, _ = ask(server.url)
    assert "sent no chat completion (" in error and reason in error


def test_half_a_surrogate_pair_is_never_in_an_answer():
    with raw(sends(reply('{"choices": [{"message": {"content": "caf\\ud83d"}}]}'))) as server:
        endpoint = Endpoint("m", server.url, advice=ADVICE)
        (choice,) = endpoint.post("/chat/completions", "x", lambda got: read_choices(got, "m", "n"), {})
    assert choice.text == "caf\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(("key", "shown"), [(KEY, "***"), ("EMPTY", "EMPTY"), ("a", "a")])
def test_a_key_that_a_server_repeats_is_not_in_the_answer(key, shown, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    body = json.dumps({"choices": [{"message": {"content": f"your key {key} is known"}}]})
    with raw(sends(reply(body.replace("-", "\\u002d")))) as server:
        (choice,) = Endpoint("m", server.url, advice=ADVICE).chat("hello")
    assert choice.text == f"your key {shown} is known"


def test_the_first_check_of_an_address_waits_no_longer_than_a_call():
    with raw(lambda *_: time.sleep(HANGS)) as server:
        began = time.monotonic()
        with pytest.raises(SpeechIQError, match="no answer in time"):
            Endpoint("m", server.url, timeout=0.2, max_retries=0, advice=ADVICE).check()
        assert time.monotonic() - began < IN_TIME and len(server.requests) == 1


@pytest.mark.parametrize("asked", ["Retry-After: 3\r\n", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", ""])
def test_a_long_wait_is_announced_with_its_reason_and_length(asked, capsys):
    with raw(sends(reply('{"error": {"message": "slow down"}}', "429 Too Many", asked))) as server:
        error, took = ask(server.url, retries=1)
    waits = capsys.readouterr().err.splitlines()
    assert waits == (
        ["siq: openai:m at 127.0.0.1: answered 429, slow down; waits 3 s, then try 2 of 2"] * ("3" in asked[:15])
    )
    assert took >= (3 if waits else 0.3) and "answered 429, slow down; try a larger timeout" in error


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "900"}, 60, 60),
        ({"retry-after-ms": "20"}, 0.02, 0.02),
        ({"retry-after": "nan"}, 1.5, 2),
        ({"retry-after": "Tue, 99 Foo"}, 1.5, 2),
        ({}, 1.5, 2),
    ],
)
def test_a_server_decides_how_long_to_wait_up_to_a_minute(headers, least, most):
    assert least <= find_pause(3, httpx2.Response(429, headers=headers)) <= most


def test_a_call_without_a_key_sends_none(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with raw(sends(reply("{}"))) as server:
        Endpoint("m", server.url, advice=ADVICE).check()
        with pytest.raises(SpeechIQError, match="sent no x"):
            Endpoint("m", server.url, advice=ADVICE).post("/x", "x", lambda got: got["text"], {"a": "b"})
    assert len(server.requests) == 2 and not any(b"authorization" in asked.lower() for asked in server.requests)


def test_a_line_break_after_a_key_does_no_harm(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")
    with raw(sends(reply("{}"))) as server:
        Endpoint("m", server.url, advice=ADVICE).check()
        assert f"Bearer {KEY}\r\n".encode() in server.requests[0]


def test_the_parameter_that_is_refused_is_named():
    error = json.dumps({"error": {"message": "not supported", "param": "temperature"}})
    with raw(sends(reply(error, "400 Bad Request"))) as server:
        assert "answered 400, not supported (temperature); correct what it names" in ask(server.url)[0]


HANGING = """
import sys
from speechiq.core.endpoint.advice import Advice
from speechiq.core.endpoint.client import Endpoint
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
