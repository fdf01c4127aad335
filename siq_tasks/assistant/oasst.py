"""Take the texts of short queries from OpenAssistant, for voices to speak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from speechiq.core.errors import SpeechIQError

SOURCE = "OpenAssistant/oasst1"
#: The paper took sentences of less than 100 characters.
LONGEST = 99


def list_texts(place: str = SOURCE) -> list[dict[str, str]]:
    """Return the short English prompts of people, each once: `id` and `text`.

    Args:
        place: Hub id, or a folder of parquet that `datasets` loads.

    Raises:
        SpeechIQError: The rows cannot be loaded, or have other columns.
    """
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    try:
        rows = load_dataset(place, split="train+validation")
    except (DatasetsError, OSError, ValueError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise SpeechIQError(
            f"{place}: cannot be loaded and is not in the cache ({reason:.200}); check the connection to the Hub, or "
            f"give a local copy with --source FOLDER"
        ) from error
    columns = ("message_id", "role", "lang", "text")
    if lost := [column for column in columns if column not in rows.column_names]:
        raise SpeechIQError(f"{place}: no column {lost[0]!r}; it has {', '.join(rows.column_names)}; give {SOURCE}")
    return list(_choose(rows.select_columns(list(columns))))


def _choose(rows: Any) -> Iterator[dict[str, str]]:
    seen: set[str] = set()
    for row in rows:
        text = str(row["text"]).strip()
        if _is_short_query(row, text) and text.casefold() not in seen:
            seen.add(text.casefold())
            yield {"id": str(row["message_id"]), "text": text}


def _is_short_query(row: Mapping[str, Any], text: str) -> bool:
    return row["role"] == "prompter" and row["lang"] == "en" and 0 < len(text) <= LONGEST and "\n" not in text
