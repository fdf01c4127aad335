"""Replies of endpoints: status, headers and body, to every kind of client."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speechiq.core.clip import Clip
from speechiq.core.prompt import Prompt, TextPrompt
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.engines.asr.openai import OpenAIASR
from speechiq.engines.audio.openai import AudioEndpoint
from speechiq.engines.text.openai import OpenAIText
from tests.engines.opener import open_engine
from tests.fuzz.judge import judge, run_siq
from tests.fuzz.targets import questions
from tests.fuzz.targets.target import Target
from tests.records import texts
from tests.siq_tasks.questions.server import completion, serving

STATUSES = (*[200] * 12, 201, 202, 204, 206, 301, 307, 400, 400, 401, 403, 404, 408, 413, 422, 429, 500, 503, 599)
HEADERS: tuple[dict[str, str], ...] = (
    *({} for _ in range(12)),
    *({"Content-Type": kind} for kind in ("text/html", "", ";", "application/json; charset=utf-16", "\xff")),
    *({"Content-Length": length} for length in ("0", "5", "99999", "-1", "x", "9" * 30)),
    *({"Content-Encoding": encoding} for encoding in ("gzip", "br", "x" * 300)),
    *({"Location": place} for place in ("/v1", "", "http://[", "http://127.0.0.1:9/", "//", "\xe9", "x" * 9000)),
    *({"Retry-After": pause} for pause in ("nan", "-1", "1e400", "Tue, 99 Foo", "x", "")),
    *({"X-Should-Retry": word} for word in ("true", "false", "maybe")),
    {"Transfer-Encoding": "chunked"},
    {"X-Long": "x" * 100_000},
)
NO_RETRIES: dict[str, Any] = {"max_retries": 0, "timeout": 5.0}
CLIP = Clip(AudioFile("demo/clips/kennedy.ogg", sha256=""), 0.0, 0.5)
WRITE = Prompt.about("<audio>\nWrite it down.", [CLIP])
SAMPLED = {"until": [], "do_sample": True, "max_gen_toks": 8}
GREEDY = {"until": [], "do_sample": False}


def prepare(folder: Path) -> list[Path]:
    """Write a chat completion, a transcription and an error, each valid, and questions to be answered."""
    bodies = {
        "chat": completion(["(A) rightly", "(B)"]),
        "text": json.dumps({"text": "hello there", "language": "en", "segments": [{"id": 0, "text": "hello there"}]}),
        "error": json.dumps({"error": {"message": "no such parameter", "param": "seed", "code": "unknown", "type": 1}}),
    }
    for name, body in bodies.items():
        folder.joinpath(f"{name}.json").write_text(body, encoding="utf-8")
    questions.prepare(folder)
    return [folder / f"{name}.json" for name in bodies]


def use(folder: Path, rng: random.Random) -> str | None:
    """Let one of the clients have the reply."""
    status, headers, (body, client) = rng.choice(STATUSES), rng.choice(HEADERS), rng.choice(CLIENTS)
    path = folder / f"{body if status < 400 else 'error'}.json"
    content = path.read_bytes() if path.is_file() else b""
    with serving(lambda *_: (status, headers, content)) as server:
        return client(folder, server.url)


def _answer_questions(folder: Path, url: str) -> str | None:
    reader = f"openai:model,base_url={url},max_retries=0,timeout=5"
    return run_siq(["data", "check", folder / "questions.jsonl", "--reader", reader])


def _engine(engine: type, ask: Callable[[Any], list]) -> Callable[[Path, str], str | None]:
    """Return a client that gives what the engine heard to `ask`, which must return texts that a file can hold."""

    def client(folder: Path, url: str) -> str | None:
        def work() -> None:
            for text in ask(open_engine(engine, "model", base_url=url, **NO_RETRIES)):
                assert isinstance(text, str)
                text.encode()

        return judge(work)

    return client


def _generate(settings: dict[str, Any], seeds: list[int]) -> Callable[[Any], list]:
    def ask(engine: Any) -> list:
        (answers,) = engine.generate([Prompt.about("<audio> Which?", [CLIP])], [seeds], settings)
        assert len(answers) == len(seeds)
        return answers

    return ask


def _correct(engine: Any) -> list:
    (answers,) = engine.generate([TextPrompt("Correct it.")], [[3]], GREEDY)
    return answers


CLIENTS = (
    ("chat", _answer_questions),
    ("text", _engine(OpenAIASR, lambda engine: texts(engine.transcribe([CLIP])))),
    ("chat", _engine(AudioEndpoint, lambda engine: texts(engine.transcribe([WRITE])))),
    ("chat", _engine(AudioEndpoint, _generate(GREEDY, [1]))),
    ("chat", _engine(AudioEndpoint, _generate(SAMPLED, [1, 2, 3]))),
    ("chat", _engine(OpenAIText, _correct)),
)

REPLIES = Target(prepare, use, cases=60, refuses=True)
