"""A scripted OpenAI-compatible endpoint: real HTTP, answers by a function, every request remembered."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COUNTS = {"one": 1, "2": 2, "3": 3}


class Endpoint(ThreadingHTTPServer):
    """`script(prompt, number)` returns what was said, or `(status, headers, body)` for a fault."""

    daemon_threads = True

    def __init__(self, script: Callable) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests, self.lock = script, [], threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_client_went_away) -> None:
        """A client that was killed is no error of the server."""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = asked["messages"][0]["content"]
        with self.server.lock:
            self.server.requests.append(asked)
            number = len(self.server.requests)
        said = self.server.script(prompt, number)
        if isinstance(said, str):
            message = {"role": "assistant", "content": said}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            said = 200, {}, json.dumps({"id": "1", "object": "chat.completion", "created": 0, "choices": [choice]})
        status, headers, body = said
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value.replace("{key}", self.headers["Authorization"]))
        self.end_headers()
        self.wfile.write(body.replace("{key}", self.headers["Authorization"]).encode())

    def log_message(self, *_nothing) -> None: ...


@contextmanager
def serving(script: Callable) -> Iterator[Endpoint]:
    """The endpoint, up while the block runs."""
    with Endpoint(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
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
