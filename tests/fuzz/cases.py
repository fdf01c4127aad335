"""What is damaged and what is then run: one target per kind of input that a user or a server hands over."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

from speechiq.metrics.choice import vote
from speechiq.siq_tasks.audio import AudioClip, decode, digest, read_duration
from speechiq.siq_tasks.store import keep
from tests.fuzz.judge import judge, run_siq
from tests.fuzz.mutations import displace, mutate
from tests.reducer.conftest import levels, write_run
from tests.siq_tasks.questions.server import completion, serving

#: Of the cases, those in which a file is replaced by something that is no file.
DISPLACED = 0.04
SOUNDS = {
    "PCM_16": "WAV",
    "FLOAT": "WAV",
    "PCM_S8": "FLAC",
    "VORBIS": "OGG",
    "OPUS": "OGG",
    "MPEG_LAYER_III": "MP3",
    "PCM_24": "AIFF",
    "ULAW": "AU",
}
HOLDS = "The town council approved the new bridge on Tuesday evening."


class Target(NamedTuple):
    """One kind of input.

    Attributes:
        prepare: (folder) -> the files that may be damaged, all valid.
        run: (folder, random source) -> what is wrong with how the command behaved, or None.
    """

    prepare: Callable[[Path], list[Path]]
    run: Callable[[Path, random.Random], str | None]


def damage(files: list[Path], rng: random.Random) -> None:
    """Damage one of the files, sometimes two."""
    for path in rng.sample(files, min(len(files), rng.choice((1, 1, 1, 2)))):
        if rng.random() < DISPLACED:
            displace(path, rng)
        else:
            path.write_bytes(mutate(path.read_bytes(), rng))


def _runs(folder: Path) -> list[Path]:
    for number, name in enumerate(("good", "fair", "bad")):
        described = {"config": {"siq": {"pretrained": name, "system": {"kind": "cascade", "asr": {"model": name}}}}}
        results = write_run(folder / "runs" / name, levels(0.9 - 0.3 * number), system=name, **described)
        (apply,) = results.parent.glob("samples_demo_2_*.jsonl")
        rows = [json.loads(line) for line in apply.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            letters = ["A"] * 5 if row["acc"] else list("BBCBE")
            row |= {
                "filtered_resps": [[vote(letters), letters]],
                "heard": 1.0,
                "unparsed": 0.0,
                "none_of_the_above": 0.0,
            }
        apply.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return sorted(folder.joinpath("runs").rglob("*.json*"))


def _use_runs(folder: Path, rng: random.Random) -> str | None:
    runs, out = folder / "runs", folder / "out.json"
    commands = (
        ["score", runs, "--bootstrap", "60", "--json", out, "--csv", folder / "out.csv"],
        ["score", runs, "--bootstrap", "0", "--harness-json", folder / "harness", "--markdown", folder / "out.md"],
        ["compare", "good", "bad", runs, "--bootstrap", "60", "--json", out],
        ["report", runs, "--bootstrap", "0", "-o", folder / "out.html"],
        ["norms", "build", runs, "-o", out],
        ["unanswerable", "find", runs, "-o", folder / "review.jsonl", "--share", "0"],
    )
    return run_siq(rng.choice(commands), [out])


def _norms(folder: Path) -> list[Path]:
    _runs(folder)
    assert run_siq(["norms", "build", folder / "runs", "-o", folder / "norms.json"]) is None
    return [folder / "norms.json"]


def _use_norms(folder: Path, rng: random.Random) -> str | None:
    out = folder / "out.json"
    command = rng.choice((["score"], ["report", "-o", folder / "out.html"]))
    loose = rng.choice(([], ["--allow-mismatch"]))
    fixed = ["--bootstrap", "0", "--norms", folder / "norms.json"]
    json_too = ["--json", out] if command == ["score"] else []
    return run_siq([command[0], folder / "runs", *command[1:], *fixed, *loose, *json_too], [out])


def _sets(folder: Path) -> list[Path]:
    _runs(folder)
    review = folder / "review.jsonl"
    assert run_siq(["unanswerable", "find", folder / "runs", "-o", review]) is None
    rows = [json.loads(line) | {"verdict": "unanswerable"} for line in review.read_text(encoding="utf-8").splitlines()]
    rows = [row | {"verdict": "answerable"} if number > 1 else row for number, row in enumerate(rows)]
    review.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert run_siq(["unanswerable", "confirm", review, "-o", folder / "set.json"]) is None
    return [review, folder / "set.json"]


def _use_sets(folder: Path, rng: random.Random) -> str | None:
    commands = (
        ["unanswerable", "confirm", folder / "review.jsonl", "-o", folder / "again.json"],
        ["hallucination", folder / "runs", "--set", folder / "set.json"],
        ["score", folder / "runs", "--exclude", folder / "set.json", "--bootstrap", "0"],
    )
    return run_siq(rng.choice(commands))


def _questions(folder: Path) -> list[Path]:
    rows = [
        {"id": f"calls/{clip}", "question_id": f"{clip}-q{n}", "question": f"What is fact {n}?", "answer": "ABCD"[n],
         "options": ["rightly", "brightly", "lightly", "nightly"], "writer": "w", "checkers": ["c"],
         "prompt_version": 1}
        for clip in range(3) for n in range(3)
    ]  # fmt: skip
    rows.append({"id": "calls/3", "question_id": "3-q1", "left_out": "no checker agreed"})
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return [path]


def _check_questions(folder: Path, rng: random.Random) -> str | None:
    return run_siq(["questions", "check", folder / "questions.jsonl"])


def _metadata(folder: Path) -> list[Path]:
    folder.joinpath("audio").mkdir()
    for name in ("a", "b"):
        soundfile.write(folder / "audio" / f"{name}.wav", np.sin(np.arange(8000) / 9), 16_000)
    rows = [{"id": name, "audio": f"{name}.wav", "text": HOLDS} for name in ("a", "b")]
    folder.joinpath("calls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    folder.joinpath("calls.csv").write_text(f"id,audio,text\na,a.wav,{HOLDS}\nb,b.wav,{HOLDS}\n", encoding="utf-8")
    return [folder / "calls.jsonl", folder / "calls.csv", *sorted(folder.glob("audio/*"))]


def _make_tasks(folder: Path, rng: random.Random) -> str | None:
    text = folder / rng.choice(("calls.jsonl", "calls.csv"))
    command = ["tasks", "new", "calls", "--audio", folder / "audio", "--text", text, "--output", folder / "made"]
    return run_siq(command)


def _task_folder(folder: Path) -> list[Path]:
    _metadata(folder)
    assert _make_tasks(folder, random.Random(0)) is None
    _questions(folder)
    return sorted(folder.glob("made/*"))


def _use_task_folder(folder: Path, rng: random.Random) -> str | None:
    """Ask for the clips of a set of one's own; `--dry-run` reads its tasks and clips, and asks nobody."""
    author = "openai:model"
    command = ["questions", "write", "--dataset", folder / "made", "--writer", author, "--checker", author]
    return run_siq([*command, "--output", folder / "new.jsonl", "--base-url", "http://127.0.0.1:9/v1", "--dry-run"])


def _audio(folder: Path) -> list[Path]:
    tone = (0.3 * np.sin(2 * np.pi * 220 * np.arange(24_000) / 16_000)).astype(np.float32)
    for subtype, container in SOUNDS.items():
        soundfile.write(folder / f"{subtype}.{container.lower()}", tone, 16_000, format=container, subtype=subtype)
    return sorted(folder.iterdir())


def _use_audio(folder: Path, rng: random.Random) -> str | None:
    """Check that what is accepted decodes to the length that its clip says, in finite samples."""

    def hear(path: Path) -> None:
        kept = AudioClip(keep(path.read_bytes(), path.name))
        for clip in (kept, AudioClip(kept, path=str(path), sha256=digest.__wrapped__(path))):
            clip.check()
            samples = clip["array"]
            assert abs(len(samples) - 16_000 * clip["duration"]) <= 1, (path.name, len(samples), clip["duration"])
            assert np.isfinite(samples).all(), path.name
        decode(path, 0.0, read_duration(path))

    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.is_symlink() and (fault := judge(lambda path=path: hear(path))):
            return fault
    return None


def _replies(folder: Path) -> list[Path]:
    path = folder / "reply.json"
    path.write_text(completion("(A) rightly"), encoding="utf-8")
    _questions(folder)
    return [path]


def _hear_replies(folder: Path, rng: random.Random) -> str | None:
    path, status = folder / "reply.json", rng.choice((200, 200, 200, 400, 401, 404))
    body = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    with serving(lambda *_: (status, {}, body.decode("utf-8", "surrogateescape"))) as server:
        reader = ["--reader", "openai:model", "--base-url", server.url]
        return run_siq(["questions", "check", folder / "questions.jsonl", *reader])


TARGETS = {
    "runs": Target(_runs, _use_runs),
    "norms": Target(_norms, _use_norms),
    "sets": Target(_sets, _use_sets),
    "questions": Target(_questions, _check_questions),
    "metadata": Target(_metadata, _make_tasks),
    "task-folder": Target(_task_folder, _use_task_folder),
    "audio": Target(_audio, _use_audio),
    "replies": Target(_replies, _hear_replies),
}
