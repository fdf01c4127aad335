"""Transcripts made elsewhere, in the place of a recogniser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.siq_tasks.audio import AudioClip


class TranscriptFile:
    """A JSONL file, a line a clip: `{"id": "earnings22/4468654_0012", "text": "..."}`.

    Instead of `text` a line may hold `nbest`, a list of texts, best first; the first counts.

    Args:
        model: the file.
        device, batch_size: not used.

    Raises:
        SpeechIQError: no such file, or a line that is no transcript; named by its number.
    """

    def __init__(self, model: str, *, device, batch_size) -> None:
        self.file = Path(model).expanduser()
        if not self.file.is_file():
            raise SpeechIQError(f"transcripts:{model}: no such file; give a JSONL file of ids and texts")
        self.texts: dict[str, str] = {}
        for number, line in enumerate(self.file.read_text(encoding="utf-8").split("\n"), 1):
            if line.strip():
                key, text = _read_line(line, f"{self.file}:{number}")
                if key in self.texts:
                    raise SpeechIQError(f"{self.file}:{number}: id {key!r} stands twice; delete one of the lines")
                self.texts[key] = text

    def transcribe(self, clips: Sequence[AudioClip]) -> list[Response]:
        if missing := [clip["id"] for clip in clips if clip["id"] not in self.texts]:
            raise SpeechIQError(
                f"{self.file}: {len(missing)} of {len(clips)} clips have no transcript, {missing[0]!r} among them; "
                f"the file has ids such as {next(iter(self.texts), None)!r}: give a line a clip, by the docs' ids"
            )
        return [Response(self.texts[clip["id"]]) for clip in clips]

    def describe(self) -> dict[str, Any]:
        return {"transcripts": self.file.name, "clips": len(self.texts)}


def _read_line(line: str, where: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
        key, text = row["id"], row["text"] if "text" in row else row["nbest"][0]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise SpeechIQError(
            f'{where}: no transcript ({type(error).__name__}: {error}); write {{"id": ..., "text": ...}}'
        ) from error
    if not isinstance(key, str) or not isinstance(text, str):
        raise SpeechIQError(f"{where}: id and text must be strings, found {key!r} and {text!r}; mend the line")
    return key, text
