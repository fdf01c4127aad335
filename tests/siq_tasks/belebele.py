"""Rows with the columns of Belebele-FLEURS, whose recordings are those of the package."""

from __future__ import annotations

import datetime
import functools
import http.server
import io
import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow
import soundfile
from datasets import Audio, Features, List, Value
from pyarrow import parquet

from speechiq.siq_tasks.loaders import bundled

README = """---
configs:
- config_name: {language}
  data_files: [{{split: test, path: data/{language}/test-*}}]
---
"""
MODELS = ("seamlessm4t", "whisper")
PER_RECORDING = {
    "audio": Audio(sampling_rate=16_000), "filename": Value("string"), "gender": Value("string"),
    "num_samples": Value("int64"), "speaker_id": Value("int64"), "split": Value("string"),
    **{f"{model}_asr{part}": Value("string") for model in MODELS for part in ("", "_translation")},
    **{f"{model}_asr_{rate}": Value("float64") for model in MODELS for rate in ("cer", "wer")},
}  # fmt: skip
SENTENCE = {
    "URL": Value("string"), "domain": Value("string"), "fleurs_id": Value("int64"), "full_paragraph": Value("bool"),
    "has_hyperlink": Value("int64"), "has_image": Value("int64"), "id": Value("int64"),
    "raw_transcription": Value("string"), "sentence": Value("string"), "sentence_idx": Value("int64"),
    "topic": Value("string"), "transcription": Value("string"),
    **{name: List(feature) for name, feature in PER_RECORDING.items()},
}  # fmt: skip
FEATURES = Features(
    {
        "link": Value("string"), "question_number": Value("int64"), "flores_passage": Value("string"),
        "question": Value("string"), **{f"mc_answer{i}": Value("string") for i in range(1, 5)},
        "correct_answer_num": Value("string"), "dialect": Value("string"), "ds": Value("timestamp[us]"),
        "sentence_data": List(SENTENCE),
    }
)  # fmt: skip


def record(name: str, seconds: float, start: float = 0.0) -> bytes:
    """The beginning of a clip of the demo as a 16-bit WAV file of 16 kHz."""
    samples, rate = soundfile.read(bundled.DEMO / "clips" / f"{name}.ogg", dtype="float32", always_2d=True)
    cut = samples[round(start * rate) : round((start + seconds) * rate), 0]
    assert rate == 16_000
    file = io.BytesIO()
    soundfile.write(file, cut, rate, format="WAV", subtype="PCM_16")
    return file.getvalue()


def read(recording: bytes) -> np.ndarray:
    return soundfile.read(io.BytesIO(recording), dtype="float32")[0]


def sentence(number: int, text: str, *recordings: bytes, **parts: object) -> dict:
    """A sentence with its recordings, whose place in the row says nothing."""
    count = len(recordings)
    return {
        "URL": "u", "domain": "wikibooks", "fleurs_id": 3000 - number, "full_paragraph": True, "has_hyperlink": 0,
        "has_image": 0, "id": number, "raw_transcription": text, "sentence": text, "sentence_idx": 0, "topic": "t",
        "transcription": text.lower(), "audio": [{"bytes": each, "path": "a.wav"} for each in recordings],
        "filename": ["a.wav"] * count, "gender": ["FEMALE"] * count, "split": ["test"] * count,
        "num_samples": [len(read(each)) for each in recordings], "speaker_id": list(range(1, count + 1)),
        **{f"{model}_asr{part}": [text] * count for model in MODELS for part in ("", "_translation")},
        **{f"{model}_asr_{rate}": [0.1] * count for model in MODELS for rate in ("cer", "wer")},
        **parts,
    }  # fmt: skip


def question(link: str, number: int, sentences: list[dict], answer: str = "2", language: str = "deu_Latn") -> dict:
    """A row."""
    text = " ".join(each["raw_transcription"] for each in sorted(sentences, key=lambda each: str(each["id"])))
    return {
        "link": link, "question_number": number, "flores_passage": text, "question": f"Frage {number} zu {link}?",
        **{f"mc_answer{i}": f"Antwort {i}" for i in range(1, 5)}, "correct_answer_num": answer, "dialect": language,
        "ds": datetime.datetime(2023, 5, 3), "sentence_data": sentences,
    }  # fmt: skip


def write_set(folder: Path, rows: list[dict], language: str = "deu_Latn") -> Path:
    """The rows as the Hub stores them: a README with configurations, and parquet files."""
    features = Features({name: FEATURES[name] for name in rows[0]})
    file = folder / "data" / language / "test-00000-of-00001.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    folder.joinpath("README.md").write_text(README.format(language=language))
    # The schema names the features, as in the Hub's files; `datasets` itself would encode the audio anew.
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=features.arrow_schema), file)
    return folder


class Hub(http.server.BaseHTTPRequestHandler):
    """Answer as the Hub does for a data set at one commit."""

    def __init__(self, folder, *args):
        self.folder = folder
        super().__init__(*args)

    def do_GET(self):
        self.answer(with_body=True)

    def do_HEAD(self):
        self.answer(with_body=False)

    def describe(self, file):
        name = str(file.relative_to(self.folder))
        kind = {"type": "file", "size": file.stat().st_size} if file.is_file() else {"type": "directory"}
        return kind | {"path": name, "oid": "0" * 40}

    def answer(self, with_body):
        path = urllib.parse.unquote(self.path.partition("?")[0])
        if path.startswith("/api/datasets/WueNLP/belebele-fleurs/tree/"):
            wanted = path.partition(f"/tree/{'1' * 40}")[2].strip("/")
            files = sorted((self.folder / wanted).iterdir())
            return self.send(json.dumps([self.describe(file) for file in files]).encode(), with_body)
        if path.startswith("/api/datasets/WueNLP/belebele-fleurs"):
            names = [file for file in sorted(self.folder.rglob("*")) if file.is_file()]
            files = [{"rfilename": str(file.relative_to(self.folder))} for file in names]
            about = {"_id": "0", "id": "WueNLP/belebele-fleurs", "sha": "1" * 40, "siblings": files}
            return self.send(json.dumps(about).encode(), with_body)
        file = self.folder / path.partition(f"/resolve/{'1' * 40}/")[2]
        if not path.startswith("/datasets/WueNLP/belebele-fleurs/resolve/") or not file.is_file():
            return self.send(b"", with_body, 404)
        return self.send(file.read_bytes(), with_body)

    def send(self, body, with_body=True, status=200):
        self.send_response(status)
        headers = {"Content-Length": len(body), "ETag": f'"{hash(body):x}"', "X-Repo-Commit": "1" * 40}
        for name, value in headers.items():
            self.send_header(name, str(value))
        if status == 404:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a hub on this machine that has a folder of `write_set` as WueNLP/belebele-fleurs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Hub, folder))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
