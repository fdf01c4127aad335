"""Rows with the columns of Belebele-FLEURS, whose recordings are those of the package."""

from __future__ import annotations

import datetime
import io
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
