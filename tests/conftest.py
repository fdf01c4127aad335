"""Share fixtures between tests: the demo's models and clips, and lm-eval run as a user runs it."""

from __future__ import annotations

import gc
import json
import os
import resource
import socket
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import hypothesis
import pytest
import typer.main

from speechiq.core.clip import Clip
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.siq_tasks.demo.fetch import fetch_models
from speechiq.siq_tasks.loaders import bundled
from tests.reducer.browser import CHROMIUM, SWITCHES, Visit

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("SIQ_STORE", "off")
os.environ.setdefault("SIQ_TASKS", "only")
#: No test depends on the speed of the machine; `make fuzz` draws more examples.
hypothesis.settings.register_profile("tests", deadline=None, max_examples=40)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("fuzz" if os.environ.get("FUZZ_SECONDS") else "tests")
#: Typer makes the tree of all commands anew each time that a test calls one; this makes it once.
typer.main.get_command = cache(typer.main.get_command)
KEY = "sk-never-shown-4711"


@pytest.fixture(scope="session", autouse=True)
def packages_listed_once():
    """Let lm-eval list the packages of the machine once, where each run starts pip for its results file."""
    if "torch" not in sys.modules:
        return
    from torch.utils import collect_env

    collect_env.get_pip_packages = cache(collect_env.get_pip_packages)


@pytest.fixture(scope="session")
def demo_models() -> list[Path]:
    """Return the folders of the demo's models, fetched once and kept in the cache folder between runs."""
    return fetch_models()


@pytest.fixture(scope="session")
def speech_rater() -> str:
    """Return the name of the rater of speech whose weights are fetched on request, once they are there."""
    fetch_models(["distillmos"])
    return "distillmos"


@pytest.fixture(scope="session")
def tiny_cascade(demo_models, tmp_path_factory):
    """Return the folders of a tiny recognizer and a tiny language model, for tests in which any model will do."""
    from tests.engines import tiny_cascade

    return tiny_cascade.save(tmp_path_factory.mktemp("tiny-cascade"))


@pytest.fixture(scope="session")
def tiny_ear(demo_models, tmp_path_factory) -> str:
    """Return the folder of a tiny audio model."""
    from tests.engines import tiny

    return tiny.make("qwen2_audio", tmp_path_factory.mktemp("tiny-ear"))


@pytest.fixture(scope="session")
def tiny_voice(tmp_path_factory) -> str:
    """Return the folder of a tiny voice."""
    from tests.engines import tiny

    return tiny.make_voice(tmp_path_factory.mktemp("tiny-voice"))


@pytest.fixture
def endpoint_key(monkeypatch) -> None:
    """Set the key that endpoints get, which no message may show, and no address."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="session")
def references() -> dict[Clip, str]:
    """Return the demo's clips and their references."""
    listed = json.loads(bundled.DEMO.joinpath("clips.json").read_text(encoding="utf-8"))
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


@pytest.fixture
def open_page(chromium):
    """Return a function that opens a page; at the end, no page has had an error, asked a server or run foreign code."""
    visits = []

    def start(file: Path, **options) -> Visit:
        visits.append(Visit(chromium, file, **options))
        return visits[-1]

    yield start
    for visit in visits:
        visit.close()


@pytest.fixture(scope="module")
def kept_pages():
    """Keep the visits of a module, by file and options, for tests that need no fresh page."""
    visits: dict[str, Visit] = {}
    yield visits
    for visit in visits.values():
        visit.close()


@pytest.fixture
def keep_page(chromium, kept_pages):
    """Return a function that opens a page once in a module and goes to an address; such a page has had no error."""

    def go(file: Path, fragment: str = "#main", **options) -> Visit:
        key = f"{file} {options}"
        if key not in kept_pages:
            kept_pages[key] = Visit(chromium, file, **options)
        kept_pages[key].follow(fragment)
        return kept_pages[key]

    yield go
    assert [fault for visit in kept_pages.values() for fault in visit.list_faults()] == []


#: Files that take a minute and more beside other work, the longest first.
LONGEST = (
    "test_eval", "test_audio_llm_omni", "test_audio_llm", "test_whisper", "test_asr_model_types", "test_ranks",
    "test_page", "test_demo", "test_streams_and_disks", "test_belebele_runs", "test_eval_shards", "test_write",
    "test_predict", "test_texts", "test_audio_api", "test_demo_languages", "test_speech_quality", "test_loading",
    "test_shards", "test_listen_runs", "test_llm", "test_views", "test_languages", "test_served", "test_site",
)  # fmt: skip

#: Fixture -> the marks of every test that uses it.
MARKS = {
    "demo_models": ("slow", "network"),
    "speech_rater": ("slow", "network"),
    "chromium": ("slow",),
    "long_clip": ("slow",),
}


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


def pytest_collection_finish() -> None:
    """Leave what is imported out of garbage collection, which takes a second each time otherwise."""
    gc.collect()
    gc.freeze()


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
