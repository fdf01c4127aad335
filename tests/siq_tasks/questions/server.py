"""A scripted OpenAI-compatible endpoint: real HTTP, answers by a function, every request remembered."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COUNTS = {"one": 1, "2": 2, "3": 3}


class Endpoint(ThreadingHTTPServer):
    """`script(prompt, number)` returns the answer, in several choices or one, or `(status, headers, body)`.

    If a file was sent for transcription, the prompt is its bytes and the answer is the transcript. If a text is to be
    spoken, it is the prompt.
    """

    daemon_threads = True

    def __init__(self, script: Callable) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.headers, self.lock = script, [], [], threading.Lock()
        #: Names of the models that it lists.
        self.models: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_client_went_away) -> None:
        """A client that was killed is not an error of the server."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send(200, {}, json.dumps({"object": "list", "data": [{"id": name} for name in self.server.models]}))

    def do_POST(self) -> None:
        asked = self._read()
        prompt = asked.get("file") or asked.get("input") or asked.get("prompt") or asked["messages"][0]["content"]
        with self.server.lock:
            self.server.requests.append(asked)
            self.server.headers.append(self.headers)
            number = len(self.server.requests)
        reply = self.server.script(prompt, number)
        if isinstance(reply, str | list):
            reply = 200, {}, json.dumps({"text": reply}) if "file" in asked else completion(reply)
        self._send(*reply)

    def _read(self) -> dict:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get_content_type() == "application/json":
            return json.loads(body)
        parts = message_from_bytes(f"Content-Type: {self.headers['Content-Type']}\n\n".encode() + body).get_payload()
        sent = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
        return {name: value if name == "file" else value.decode() for name, value in sent.items()}

    def _send(self, status: int, headers: dict, body: str | bytes | Iterator[str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value.replace("{key}", self.headers.get("Authorization", "")))
        self.end_headers()
        if isinstance(body, Iterator):
            for part in body:
                self.wfile.write(part.encode())
            return
        key = self.headers.get("Authorization", "")
        self.wfile.write(body if isinstance(body, bytes) else body.replace("{key}", key).encode())

    def log_message(self, *_nothing) -> None: ...


def completion(reply: str | list[str], finish_reason: str = "stop", **message) -> str:
    """A chat completion with a choice for each text."""
    texts = [reply] if isinstance(reply, str) else reply
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
        for i, text in enumerate(texts)
    ]
    return json.dumps({"id": "1", "object": "chat.completion", "created": 0, "choices": choices})


def events(deltas: Sequence[dict], pauses: Sequence[float] = (), finish_reason: str | None = "stop") -> tuple:
    """A reply that streams these parts of one answer, each after its pause in seconds, if it has one."""

    def send() -> Iterator[str]:
        for i, delta in enumerate(deltas):
            time.sleep(pauses[i] if i < len(pauses) else 0)
            yield event([{"index": 0, "delta": delta, "finish_reason": None}])
        if finish_reason:
            yield event([{"index": 0, "delta": {}, "finish_reason": finish_reason}])
            yield event([]) + "data: [DONE]\n\n"  # the last one has the usage

    return 200, {"Content-Type": "text/event-stream"}, send()


def event(choices: list) -> str:
    """A chunk of a chat completion."""
    return f"data: {json.dumps({'id': '1', 'object': 'chat.completion.chunk', 'choices': choices})}\n\n"


@contextmanager
def serving(script: Callable) -> Iterator[Endpoint]:
    """The endpoint, up while the block runs."""
    with Endpoint(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()  # otherwise the thread waits for a closed socket, which ends each wait at once
            thread.join()


def good_author(prompt: str, _number: int = 0) -> str:
    """Writes sound questions, each new to its clip, and knows the right option by its first word."""
    if count := re.search(r"^Write (\w+) questions? about it", prompt, re.MULTILINE):
        first = prompt.count("\n- What is fact")
        return draft(*(f"What is fact {first + n}?" for n in range(COUNTS[count[1]])))
    return re.search(r"\((.)\) rightly", prompt)[1]


def draft(*questions: str, **changes) -> str:
    """A writer's JSON for these questions."""
    wrong = ["brightly", "lightly", "nightly"]
    return json.dumps(
        {"questions": [{"question": q, "answer": "rightly", "distractors": wrong} | changes for q in questions]}
    )
