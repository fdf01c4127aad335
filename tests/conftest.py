"""Share fixtures between tests: the demo's models and clips, and lm-eval run as a user runs it."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest

from speechiq.core.audio_file import AudioFile
from speechiq.core.clip import Clip
from speechiq.siq_tasks.demo import demo
from speechiq.siq_tasks.demo.fetch import fetch
from tests.reducer.browser import CHROMIUM, SWITCHES

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("SIQ_STORE", "off")
os.environ.setdefault("SIQ_TASKS", "only")
hypothesis.settings.register_profile("busy-machine", deadline=None)
hypothesis.settings.load_profile("busy-machine")
KEY = "sk-never-shown-4711"


@pytest.fixture(scope="session")
def demo_models() -> list[Path]:
    """Return the folders of the demo's models, fetched once and kept in the cache folder between runs."""
    return fetch()


@pytest.fixture
def endpoint_key(monkeypatch) -> None:
    """Set the key that endpoints get, which no message may show, and no address."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="session")
def references() -> dict[Clip, str]:
    """Return the demo's clips and their references."""
    listed = json.loads(demo.HERE.joinpath("clips.json").read_text(encoding="utf-8"))
    return {
        Clip(AudioFile(f"demo/{clip['file']}", clip["sha256"]), 0.0, clip["duration"]): clip["text"] for clip in listed
    }


@pytest.fixture(scope="session")
def demo_clips(references) -> list[Clip]:
    return list(references)


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


LONGEST = ("test_demo", "test_resume", "test_ranks", "test_packaging", "test_audio_llm", "test_lm_eval_text")

#: Fixture -> the marks of every test that uses it.
MARKS = {"demo_models": ("slow", "network"), "chromium": ("slow",)}


def run(*command: str, **options) -> subprocess.CompletedProcess:
    """Run a console script of this environment, or `python ...`, with its output as text."""
    program, *arguments = command
    place = sys.executable if program == "python" else str(Path(sys.executable).with_name(program))
    return subprocess.run([place, *arguments], **{"capture_output": True, "text": True} | options)


@contextmanager
def full_disk(room: int = 1000):
    """Let no file grow beyond `room` bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def pytest_collection_modifyitems(items) -> None:
    """Mark tests by the fixtures they use, and put the longest files first, so that workers end together."""
    for item in items:
        for fixture in MARKS.keys() & set(item.fixturenames):
            for mark in MARKS[fixture]:
                item.add_marker(mark)
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))


@pytest.fixture
def silent_server():
    """The address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
