"""Cache the answers of authors; each is on disk before it is used, so none is paid for twice.

The questions are a function of the authors' answers. A run that was killed therefore starts again and gets the answers
that it already had from the cache.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.siq_tasks.questions.endpoints import Author

#: The next run requests an empty answer again.
ANSWER = Annotated[str, msgspec.Meta(min_length=1)]


class Answers:
    """Cache answers by author, prompt, temperature and seed; threads may share the cache.

    Args:
        folder: Folder of the cache, made if it is missing.

    Raises:
        SpeechIQError: The folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = StageCache({"stage": "questions"}, folder, "name another --output")
        self._failure: BaseException | None = None

    def __len__(self) -> int:
        return len(self._cache)

    @property
    def asked(self) -> int:
        """Return the number of answers that were requested in this run."""
        return self._cache.added

    def ask(self, author: Author, prompt: str, temperature: float, seed: int) -> str:
        """Return the author's answer, from the cache if it contains it.

        Raises:
            SpeechIQError: The author fails after all retries, or the answer cannot be written.
            BaseException: The failure that `stop` was called with.
        """

        def compute(new: list[Any], on_result: OnResult) -> None:
            if self._failure is not None:
                raise self._failure
            on_result([0], [author.ask(prompt, temperature, seed)])

        answers: list[str] = cached(self._cache, [(author.name, prompt, temperature, seed)], list, compute, ANSWER)
        return answers[0]

    def stop(self, failure: BaseException) -> None:
        """Make every later `ask`, in any thread, raise the first given failure; requested answers are still cached."""
        self._failure = self._failure or failure
