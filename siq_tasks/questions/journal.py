"""The journal of a run: every answer an author gave, on disk before it is used, so that none is paid for twice.

The writing of questions is a function of the authors' answers. A run that was killed therefore starts anew and is
given, up to the point where it was killed, the answers in its journal.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files import append_plain
from speechiq.siq_tasks.questions.endpoints import Author


class Journal:
    """Answers by author, prompt, temperature and seed; a last line that a kill tore apart is dropped.

    An empty answer is asked for anew by the next run: it may be a failed call that an older version took for one.

    Args:
        path: of the file, made with the first answer; a line is `{"key", "author", "answer"}`.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.asked = path, 0
        self._lock, self._file = threading.Lock(), None
        self._failure: BaseException | None = None
        self._answers: dict[str, str] = {}
        self._end = 0
        if path.is_file():
            whole = path.read_bytes().rpartition(b"\n")[0]
            for line in whole.splitlines():
                with suppress(ValueError, KeyError, TypeError, RecursionError):
                    entry = json.loads(line)
                    if entry["answer"] and isinstance(entry["answer"], str):
                        self._answers[entry["key"]] = entry["answer"]
            self._end = len(whole) + 1 if whole else 0

    def __len__(self) -> int:
        return len(self._answers)

    def ask(self, author: Author, prompt: str, temperature: float, seed: int) -> str:
        """The author's answer, from the journal where it is there.

        Raises:
            SpeechIQError: the author fails for good, or the answer cannot be kept.
            BaseException: the failure that `stop` was called with.
        """
        wanted = json.dumps([author.name, prompt, temperature, seed])
        key = hashlib.sha256(wanted.encode()).hexdigest()
        if key not in self._answers:
            if self._failure is not None:
                raise self._failure
            self._keep(key, author.name, author.ask(prompt, temperature, seed))
        return self._answers[key]

    def stop(self, failure: BaseException) -> None:
        """Let no thread ask anything more, but fail by the first such failure; answers that are under way are kept."""
        self._failure = self._failure or failure

    def _keep(self, key: str, author: str, answer: str) -> None:
        line = json.dumps({"key": key, "author": author, "answer": answer}) + "\n"
        with self._lock:
            try:
                if self._file is None:
                    self._file = self._open()
                self._file.write(line.encode())
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                raise SpeechIQError(f"{self.path}: cannot be written ({error}); make room or move it") from error
            self._answers[key] = answer
            self.asked += 1

    def _open(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = append_plain(self.path)
        if file.tell():
            file.truncate(self._end)
        return file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
