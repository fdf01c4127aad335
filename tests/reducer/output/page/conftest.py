"""Runs with texts and answers, the page made of them, and visits of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speechiq.metrics.choice import vote
from speechiq.metrics.words.wer import score as score_words
from speechiq.reducer.output.page import build as report
from speechiq.reducer.output.page.kinds import tradeoff_sections
from speechiq.reducer.output.page.study import gather_report
from tests.records import describe
from tests.reducer.browser import Visit
from tests.reducer.conftest import write_files

NAME = "<img src=x onerror=hacked=4>%{x}"
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>{{ 7 * 7 }}%{x}<b>bold</b>"
TEXTS = {
    "demo/kennedy": "And so, my fellow Americans, ask not what your country can do for you.",
    "set/two": "The two thousand boxes left the harbour on Monday morning.",
    "set/three": "Doctor Lindqvist prescribed one tablet of lisinopril a day.",
    "set/four": "Revenue rose by nine percent, driven by refrigerated freight.",
}
AUDIO = {"demo/kennedy": {"path": "demo/clips/kennedy.ogg", "duration": 11.0}}
OPTIONS = ["herring", "cod", "lobster", "salmon"]
SIZES = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}
Change = Callable[[str, str], str]


def write_system(
    folder: Path,
    name: str,
    change: Change,
    letters: str,
    described: dict[str, Any] | None = None,
    texts: dict[str, str] = TEXTS,
    recorded: dict[str, Any] | None = None,
    **columns: float,
) -> None:
    """Write one system's run of the three levels.

    Args:
        folder: Folder of lm-eval's output.
        name: Name of the system.
        change: (clip, reference) -> transcript.
        letters: Answers to the questions in turn, B is right; all five answers to a question are the same.
        described: What `hf-audio` recorded of the system.
        texts: clip -> reference.
        recorded: What else `hf-audio` recorded, such as parameters and speed.
        columns: Further columns of every row.
    """
    rows: dict[str, list[dict]] = {"remember": [], "understand": [], "apply": []}
    for number, (clip, text) in enumerate(texts.items()):
        doc = {"id": clip, "dataset": clip.partition("/")[0], "audio": AUDIO.get(clip, {"path": "x.ogg"}), "text": text}
        written = change(clip, text)
        scores = score_words(doc, [written])
        rows["remember"].append({"doc": doc, "filtered_resps": [written], **scores, **columns})
        rows["understand"].append({"doc": doc, "similarity": 1 - scores["wer"] / (2 + number), **columns})
        for question in range(2):
            given = letters[(2 * number + question) % len(letters)] * 5
            asked = {"question_id": f"{clip}-q{question}", "question": f"Whose quota {question}?", "options": OPTIONS}
            row = {"acc": float(vote(given) == "B"), "unparsed": given.count("?") / 5, "none_of_the_above": 0.0}
            doc_asked = doc | asked | {"answer": "B"}
            rows["apply"].append({"doc": doc_asked, "filtered_resps": [[vote(given), [*given]]], **row, **columns})
    configs = {f"t_{level}": {"metadata": describe(level, dataset="t")} for level in rows}
    called = {"model": "hf-audio", "model_args": {"pretrained": name, "hub_token": "secret"}}
    config = called | {"siq": {"pretrained": name, "system": described or {}, **(recorded or {})}}
    written = {"lm_eval_version": "0.4.13", "total_evaluation_time_seconds": "63.8"}
    tasks = {f"t_{level}": of_level for level, of_level in rows.items()}
    write_files(folder, name, 1.0, tasks, configs=configs, config=config, **written)


def use(parameters: float, **seconds: float) -> dict[str, Any]:
    """Return a run's record of a model: its parameters, and the seconds of each work on 120 s of audio."""
    speed = {}
    for work, spent in seconds.items():
        speed[work] = {"audio_seconds": 120.0, "work_seconds": spent, "rtfx": 120.0 / spent}
    return {"parameters": int(parameters), "speed": speed, "device": "cuda:0"}


def cascade(asr: dict[str, str]) -> dict[str, Any]:
    return {"kind": "cascade", "asr": asr, "llm": {"model": "thinker"}}


def write_study(folder: Path) -> Path:
    """Write four systems: two agree on a word against the reference, one has hostile names and texts, one is gold."""

    def mishear(clip: str, text: str) -> str:
        return text.replace("harbour", "harvest")

    texts = TEXTS | {HOSTILE: TEXTS["set/two"]}
    hostile = lambda clip, text: mishear(clip, text).replace("Monday", HOSTILE)  # noqa: E731
    write_system(
        folder / "a",
        "a/good+thinker",
        mishear,
        "BBBBBBBBBA",
        cascade({"model": "a/good"}),
        texts,
        use(7e9, transcribing=12),
        audio_coverage=1.0,
    )
    poor = lambda clip, text: mishear(clip, text).replace("fellow", "yellow")  # noqa: E731
    write_system(
        folder / "b",
        "b/poor+thinker",
        poor,
        "BAEBBACDBA",
        cascade({"model": "b/poor"}),
        texts,
        use(1e9, transcribing=3),
        audio_coverage=0.5,
    )
    described = {"kind": "end to end", "audio_encoder": HOSTILE}
    write_system(folder / "c", NAME, hostile, "?BA", described, texts, use(2e8, transcribing=6))
    gold = cascade({"control": "gold"})
    write_system(folder / "d", "gold+thinker", lambda clip, text: text, "BBBBBBBBBA", gold, texts)
    return folder


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="session")
def page_file(study, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    gathered = gather_report([study], bootstrap=100)
    report.write_report(report.render_report(gathered, sections=tradeoff_sections(gathered)), path)
    return path


@pytest.fixture
def kept(keep_page, page_file) -> Callable[..., Visit]:
    """Return a function that goes to an address of a page that tests share: they set what they look at by it."""
    return lambda fragment="#main", size="desk": keep_page(page_file, fragment, viewport=SIZES[size])


@pytest.fixture
def visit(open_page, page_file) -> Callable[..., Visit]:
    return lambda file=page_file, **options: open_page(file, **options)
