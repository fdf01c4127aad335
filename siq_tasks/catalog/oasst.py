"""Take short queries of people from OpenAssistant's conversations, as texts to speak."""

from __future__ import annotations

from speechiq.core.cache.folder import working_folder
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.catalog.spoken import find_fault
from speechiq.siq_tasks.loaders.rows import Source, load_rows

COLUMNS = ["message_id", "text", "role", "lang"]


def list_queries(place: str, split: str, limit: int) -> list[dict[str, str]]:
    """Return `id` and `text` of each English message of a person that is one line and short, each text once.

    Args:
        place: Hub id, or a folder with parquet files of the same columns.
        split: As in `datasets.load_dataset`.
        limit: Texts have fewer characters.

    Raises:
        SpeechIQError: The rows do not exist, a column is missing, or no text is short enough.
    """
    source = Source(place, split=split)
    with working_folder() as folder:
        rows = load_rows(source, str(source.local or place), folder if source.local else None, "--source FOLDER")
        if missing := [column for column in COLUMNS if column not in rows.column_names]:
            raise SpeechIQError(
                f"{place}: no column {missing[0]!r}; it has {', '.join(rows.column_names)}; give rows of oasst1"
            )
        found: dict[str, str] = {}
        for row in rows.select_columns(COLUMNS):
            text = row["text"].strip()
            by_person = row["role"] == "prompter" and row["lang"] == "en"
            if by_person and len(text) < limit and "\n" not in text and find_fault(text) is None:
                found.setdefault(text, row["message_id"])
    if not found:
        raise SpeechIQError(f"{place}: no English text of a person is shorter than {limit}; give a larger --limit")
    return [{"id": name, "text": text} for text, name in found.items()]
