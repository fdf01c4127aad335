"""Write the rows of a task as compressed JSON lines, the same bytes for the same rows, and read them within limits."""

import gzip
import hashlib
import io
import math
from pathlib import Path
from typing import Any

import msgspec

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import open_plain
from speechiq.reducer.publishing.schema import RowFile
from speechiq.reducer.runs.judged import read_stored
from speechiq.reducer.runs.results_file import TaskRun
from speechiq.reducer.runs.rows import read_rows
from speechiq.reducer.runs.samples import CLUSTER, FLAGS, FLOOR

ENDING = ".jsonl.gz"
#: Bytes of the largest file of rows, without compression.
LARGEST = 2**26
#: Texts of a row, kept on request: what the system wrote, and what filters made of it.
TEXTS = ("resps", "filtered_resps")


def pack_rows(task: TaskRun, *, texts: bool) -> tuple[RowFile, bytes]:
    """Return the description and the compressed content of a task's rows, sorted by item.

    A row has its item, groups, cluster and columns, and with `texts` the whole doc without the place of its audio
    file, and what the system wrote.

    Raises:
        SpeechIQError: The run has no sample file, or it cannot be read.
    """
    rows = [row for _, row in read_rows(task.samples, dict[str, Any], "an object doc")]
    rows.sort(key=lambda row: [str(row["doc"].get(field, "")) for field in task.category.item])
    encoder = msgspec.json.Encoder(order="sorted")
    content = encoder.encode_lines([_plain(_select(row, task, texts)) for row in rows])
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0, compresslevel=9) as file:
        file.write(content)
    about = RowFile(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content), count=len(rows), texts=texts)
    return about, packed.getvalue()


def unpack_rows(path: Path, about: RowFile) -> bytes:
    """Return the rows of a compressed file, never more bytes than `about` says.

    Raises:
        SpeechIQError: The file cannot be read, or has other bytes than `about` says.
    """
    if about.bytes > LARGEST:
        raise SpeechIQError(f"{str(path)!r}", f"rows of {about.bytes} bytes, above {LARGEST}", "publish fewer rows")
    try:
        with open_plain(path) as file, gzip.GzipFile(fileobj=file) as unpacked:
            content = unpacked.read(about.bytes + 1)
    except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]  # gzip imports zlib
        raise SpeechIQError(f"{str(path)!r}", f"cannot be read as gzip ({error})", "publish the runs again") from error
    if len(content) != about.bytes:
        size = f"more than {about.bytes}" if len(content) > about.bytes else str(len(content))
        raise SpeechIQError(f"{str(path)!r}", f"has {size} bytes of rows, not {about.bytes}", "publish the runs again")
    if hashlib.sha256(content).hexdigest() != about.sha256:
        raise SpeechIQError(f"{str(path)!r}", "rows with another sha256 than recorded", "publish the runs again")
    return content


def _select(row: dict[str, Any], task: TaskRun, texts: bool) -> dict[str, Any]:
    known = {*task.signs, *FLAGS, FLOOR, *(measure.column for measure in task.category.extra_columns)}
    columns = {key: row[key] for key in known & row.keys()}
    doc, stored = row["doc"], read_stored(row.get("filtered_resps"))
    if texts:
        audio = doc.get("audio") if isinstance(doc.get("audio"), dict) else {}
        audio = {key: value for key, value in audio.items() if key != "path"}
        return {"doc": doc | {"audio": audio}, **{key: row[key] for key in TEXTS if key in row}, **columns}
    fields = ("dataset", CLUSTER, *task.category.item, *task.category.group_by)
    kept: dict[str, Any] = {"doc": {field: doc[field] for field in fields if field in doc}}
    if stored is not None:
        # The scores of a judge's draws are needed for its reliability.
        kept["filtered_resps"] = [{"answer": "", "scores": stored.scores, "texts": []}]
    return kept | columns


def _plain(value: Any) -> Any:
    """Return a value without NaN and infinities, which JSON does not have: they become null."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
