"""Write the exports of a folder of results, each in its folder."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import OWN_FILE, exists, write_whole
from speechiq.core.suggestions import did_you_mean
from speechiq.reducer.publishing.exports.every_eval_ever import write_every_eval_ever
from speechiq.reducer.publishing.exports.hub import write_benchmark, write_eval_results, write_model_card
from speechiq.reducer.publishing.folder import Published
from speechiq.reducer.publishing.restore import read_strictly, restore
from speechiq.reducer.publishing.rows import ENDING, unpack_rows
from speechiq.reducer.publishing.schema import ROWS

#: Format -> what it writes.
FORMATS = {
    "every-eval-ever": "a data folder of Every Eval Ever: scores, and samples if the rows have texts",
    "eval-results": "`.eval_results/speechiq.yaml` of each model's repository on the Hub",
    "model-card": "a card with `model-index` for each model's repository on the Hub",
    "eval-yaml": "`eval.yaml` of the benchmark's data set on the Hub",
    "lm-eval": "results and sample files of lm-eval, which `siq score` reads",
}
NEED_BENCHMARK = ("eval-results", "model-card")


def check_format(format: str, benchmark: str | None) -> None:
    """Raise a `SpeechIQError` for an unknown format, and for one that needs the benchmark's data set."""
    if format not in FORMATS:
        fix = f"{did_you_mean(format, FORMATS)}choose from {', '.join(FORMATS)}"
        raise SpeechIQError(f"--format {format}", "no such format", fix)
    if format in NEED_BENCHMARK and (benchmark or "").count("/") != 1:
        raise SpeechIQError(
            f"--format {format}", "it names the benchmark's data set on the Hub", "give --benchmark OWNER/NAME"
        )


def export(published: Sequence[Published], format: str, output: Path, benchmark: str | None = None) -> Iterator[Path]:
    """Write results in a format, and yield the files.

    Raises:
        SpeechIQError: A file exists, or rows cannot be read.
    """
    files: dict[Path, bytes] = {}
    if format == "eval-yaml":
        files = write_benchmark(each.result for each in published)
    for each in published:
        own = Path(each.folder.parent.name, each.folder.name)
        if format == "every-eval-ever":
            contents = _read_rows(each)
            files |= write_every_eval_ever(
                each.result, {task: read_strictly(content, f"rows of {task!r}") for task, content in contents.items()}
            )
        elif format == "lm-eval":
            with tempfile.TemporaryDirectory() as temporary:
                restore(each.result, _read_rows(each), Path(temporary))
                files |= {own / path.name: path.read_bytes() for path in sorted(Path(temporary).iterdir())}
        elif format in NEED_BENCHMARK:
            write = write_eval_results if format == "eval-results" else write_model_card
            files |= {own / path: content for path, content in write(each.result, benchmark or "").items()}
    if present := next((output / path for path in files if exists(output / path)), None):
        raise SpeechIQError(f"{str(present)!r}", "exists", "name a new folder")
    for path, content in files.items():
        write_whole(output / path, content, OWN_FILE, make_folders=True)
        yield output / path


def _read_rows(published: Published) -> dict[str, bytes]:
    folder = published.folder / ROWS
    return {task.task: unpack_rows(folder / f"{task.task}{ENDING}", task.rows) for task in published.result.tasks}
