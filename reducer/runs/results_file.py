"""Read a results file of lm-eval (`results_<date>.json`): the system and the tasks that it describes."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec

from speechiq.core.console import printable
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.json_text import decode, refuse_extremes
from speechiq.core.files.plain import is_of_desktop, read_plain, reading
from speechiq.engines.languages import AUTO, ENGLISH, KEY
from speechiq.metrics.measure import Category, read_category
from speechiq.siq_tasks.conditions.spec import LISTEN
from speechiq.siq_tasks.loaders.odd_rows import describe_odd_rows

#: Key of metadata with the form of outputs that another program wrote; see `reducer/imports/`.
IMPORTED = "imported"
#: The key of metadata with the change of the audio under which a task ran; see `siq_tasks/conditions/`.
CONDITION = "condition"
YEAR_10000 = 253_402_300_800


class _Recorded(msgspec.Struct):
    """Hold the record of `hf-audio` under the key `siq`."""

    pretrained: Any = None
    system: dict[str, Any] = {}
    usage: Any = None
    replies: Any = None
    speed: Any = None
    device: Any = None
    parameters: Any = None


class _Config(msgspec.Struct):
    """Hold how lm-eval was called."""

    model: Any = None
    model_args: dict[str, Any] | str | None = None
    gen_kwargs: Any = None
    limit: Any = None
    samples: Any = None
    batch_size: Any = None
    device: Any = None
    random_seed: Any = None
    siq: _Recorded = msgspec.field(default_factory=_Recorded)


class TaskConfig(msgspec.Struct):
    """Hold the part of a task's configuration that is read."""

    metadata: Any = None
    generation_kwargs: Any = None


class Results(msgspec.Struct):
    """Hold the part of a results file that is read; other keys are ignored.

    Who reads a value of the type `Any` leaves it out if it has another type than expected.
    """

    date: Annotated[float, msgspec.Meta(ge=0, lt=YEAR_10000)]
    configs: dict[str, TaskConfig]
    config: _Config = msgspec.field(default_factory=_Config)
    model_name: Any = None
    lm_eval_version: Any = None
    transformers_version: Any = None
    n_samples: dict[str, Any] | None = msgspec.field(name="n-samples", default=None)
    higher_is_better: dict[str, Any] | None = None
    total_evaluation_time_seconds: Any = None
    system_instruction: Any = None


_RESULTS = msgspec.json.Decoder(Results)


class TaskRun(NamedTuple):
    """Hold one task of one results file.

    Attributes:
        date: Start of the run, in seconds since 1970.
        metadata: The metadata that the task recorded (`version`, `dataset`, `embedder`, ...).
        described: The description of the system by `hf-audio` (`kind`, `asr`, `llm`, ...); empty for other model types.
        docs: Number of docs that were run, and of all docs of the task; None if the results file does not record it.
        versions: Package -> its version in the run, as far as the results file records it.
        signs: Column of the sample rows -> 1 if a higher value is better, -1 if a lower one is.
        recorded: What the whole file says, of all its tasks.
    """

    date: float
    results: str
    system: str
    task: str
    category: Category
    metadata: dict[str, Any]
    described: dict[str, Any]
    docs: tuple[int, int] | None = None
    versions: Mapping[str, str] = MappingProxyType({})
    signs: Mapping[str, float] = MappingProxyType({})
    recorded: Results = Results(0.0, {})

    @property
    def suite(self) -> str:
        """Return the name of the task's suite."""
        return self.category.suite

    @property
    def language(self) -> str:
        """Return the code of the language of the task's data set; English if it names none."""
        code = self.metadata.get(KEY)
        return str(code) if code not in (None, AUTO) else ENGLISH

    @property
    def level(self) -> str:
        """Return the name of the task's category: for SIQ, its level."""
        return self.category.name

    @property
    def dataset(self) -> str:
        """Return the name of the task's data set."""
        return printable(str(self.metadata.get("dataset")))

    @property
    def imported(self) -> str:
        """Return the form of the outputs that another program wrote; empty for a run of lm-eval."""
        return printable(str(self.metadata.get(IMPORTED, "")))

    @property
    def odd_rows(self) -> str:
        """Return a line about the rows of the data set that were repaired or left out; empty if none were."""
        line = describe_odd_rows(self.metadata)
        return f"{self.dataset}: {line}" if line else ""

    @property
    def samples(self) -> Path:
        """Return the task's sample file."""
        return samples_of(Path(self.results), self.task)


def read_results(path: Path) -> Results:
    """Read the needed keys of a results file; refuse any other file."""
    with reading(path, "move it away"):
        text = read_plain(path)
    try:
        results: Results = decode(text, _RESULTS)
        described = (task.metadata for task in results.configs.values() if _can_be_scored(task))
        refuse_extremes([results.config.siq.system, *_names(results), *described])
    except ValueError as error:
        raise SpeechIQError(
            path, f"is not a results file of lm-eval ({error})", "move it away or rerun the evaluation"
        ) from error
    return results


def tasks_of(path: Path, results: Results) -> list[TaskRun]:
    """Return the tasks of a results file that can be scored: those whose metadata has a measure.

    The system's name is `pretrained` as `hf-audio` recorded it (lm-eval makes up a `model_name` if no model arguments
    were given), else `model_name`, else `pretrained` of the model arguments, else the folder's name; characters that do
    not print are replaced by U+FFFD. A system under a condition, or with questions of a variant (`listen`), is a system
    of its own; see `name_under`.
    """
    name = printable(next((str(name) for name in _names(results) if name), path.absolute().parent.name))
    counts, directions = results.n_samples or {}, results.higher_is_better or {}
    named = {"lm-eval": results.lm_eval_version, "transformers": results.transformers_version}
    versions = {package: printable(version) for package, version in named.items() if isinstance(version, str)}
    scored = {task: config for task, config in results.configs.items() if _can_be_scored(config)}
    described = {task: config.metadata for task, config in scored.items()}
    categories = {task: read_category(metadata, printable(task), str(path)) for task, metadata in described.items()}
    return [
        TaskRun(
            results.date,
            str(path),
            name_under(name, metadata),
            task,
            categories[task],
            metadata,
            results.config.siq.system,
            _docs(counts.get(task)),
            versions,
            _signs(categories[task], directions.get(task)),
            results,
        )
        for task, metadata in described.items()
    ]


def name_under(system: str, metadata: Mapping[str, Any]) -> str:
    """Return the name of a system under the condition that a task recorded, and with the variant of its questions.

    >>> name_under("whisper", {"condition": "white@10dB", "listen": "muted"}), name_under("whisper", {})
    ('whisper [white@10dB] [listen=muted]', 'whisper')
    """
    condition, variant = metadata.get(CONDITION), metadata.get(LISTEN)
    under = f" [{printable(str(condition))}]" if condition else ""
    return system + under + (f" [{LISTEN}={printable(str(variant))}]" if variant else "")


def _can_be_scored(task: TaskConfig) -> bool:
    """Return whether the metadata of a task has a measure."""
    return isinstance(task.metadata, dict) and "measure" in task.metadata


def _signs(category: Category, directions: Any) -> dict[str, float]:
    """Return the direction of each column: as the task's measure says, and as lm-eval recorded it for all others."""
    recorded = directions.items() if isinstance(directions, dict) else ()
    signs = {column: 1.0 if higher else -1.0 for column, higher in recorded if isinstance(higher, bool)}
    return signs | {column: category.measure.sign_of(column) for column in category.measure.columns}


def _names(results: Results) -> tuple[Any, ...]:
    """Return the possible names of the system, the best one first."""
    arguments = results.config.model_args or {}
    if isinstance(arguments, str):
        arguments = dict(pair.partition("=")[::2] for pair in arguments.split(","))
    return results.config.siq.pretrained, results.model_name, arguments.get("pretrained")


def _docs(counts: Any) -> tuple[int, int] | None:
    """Return the number of docs that were run and of all docs, from a task's `n-samples`; None if it has none."""
    match counts:
        case {"effective": int(run), "original": int(total)}:
            return run, total
    return None


RESULTS_NAME = re.compile(r".+_\d{4}-\d\d-\d\d[T\d.-]*\.json")
SAMPLES_NAME = re.compile(r"samples_.+_(\d{4}-\d\d-\d\d[T\d.-]*)\.jsonl")


def samples_of(results: Path, task: str) -> Path:
    """Return the sample file of a task; `.name` keeps the path inside the folder for any name of a task."""
    return results.parent / Path(f"samples_{task}_{_stamp(results)}.jsonl").name


def is_samples(path: Path) -> bool:
    """Return whether a path of `list_files` is a sample file, not a results file."""
    return path.suffix == ".jsonl"


def _stamp(path: Path) -> str:
    return path.stem.rpartition("_")[2]


def list_files(runs: Iterable[Path]) -> Iterator[Path]:
    """Yield the results and sample files below folders; of a results file, itself and the sample files of its date."""
    for run in runs:
        if os.path.isfile(run):  # noqa: PTH113 (`is_file` raises on long names)
            neighbors = (path for path in run.parent.iterdir() if SAMPLES_NAME.fullmatch(path.name))
            yield from (run, *(path for path in neighbors if _stamp(path) == _stamp(run)))
        else:
            yield from _list_below(run)


def _list_below(root: Path) -> Iterator[Path]:
    folders, entered = [str(root)], set()
    while folders:
        folder = folders.pop()
        try:
            about = os.stat(folder)  # noqa: PTH116
            names = sorted(os.listdir(folder)) if (about.st_dev, about.st_ino) not in entered else []  # noqa: PTH208
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a valid file name"
            fix = "give a folder that lm_eval wrote to"
            raise SpeechIQError(repr(folder), f"cannot be read ({reason})", fix) from error
        entered.add((about.st_dev, about.st_ino))
        paths = [os.path.join(folder, name) for name in names]  # noqa: PTH118
        inside = [path for path in paths if os.path.isdir(path)]  # noqa: PTH112
        folders += reversed(inside)
        for name, path in zip(names, paths, strict=True):
            is_of_run = RESULTS_NAME.fullmatch(name) or SAMPLES_NAME.fullmatch(name)
            if is_of_run and path not in inside and not is_of_desktop(name):
                yield Path(path)


def once(paths: Iterable[Path]) -> list[Path]:
    """Return each file once, even if several links point to it."""
    return list({place(path): path for path in reversed([*paths])}.values())[::-1]


def place(path: Path) -> str:
    """Return the path without links. Unlike `Path.resolve`, accept a link to itself."""
    return os.path.realpath(path)
