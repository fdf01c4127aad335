"""Read, rank and compare systems and predict failure from Python, with the defaults of the commands."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.reducer.output.suite_scores import rank_systems
from speechiq.reducer.runs.systems import Runs, System
from speechiq.reducer.scores import norms as norms_files
from speechiq.reducer.scores.draws import DRAWS
from speechiq.reducer.scores.levels import SUITE, choose_levels
from speechiq.reducer.scores.norms import Norms
from speechiq.reducer.scores.pairs import SelectedRuns, choose_system, pair_up, select_runs
from speechiq.reducer.scores.scale import Weighting
from speechiq.reducer.scores.scoreboard import Scoreboard
from speechiq.reducer.scores.suites import NOTHING, ConfirmedSet, Found, ScoringOptions
from speechiq.reducer.scores.suites import read_systems as read_siq_systems
from speechiq.reducer.studies import unanswerable
from speechiq.reducer.studies.compare import compare_pair
from speechiq.reducer.studies.comparison import Comparison
from speechiq.reducer.studies.prediction.data import KeptItems, read_tables
from speechiq.reducer.studies.prediction.study import Prediction, gather_runs, predict_failure, read_sources

Place = str | PathLike[str]


def read_systems(
    paths: Place | Iterable[Place],
    *,
    levels: str | Iterable[str] | None = None,
    measures: Mapping[str, str] | None = None,
    allow_missing: bool = False,
) -> Runs:
    """Read every system that ran tasks of SIQ.

    If a system ran a task more than once, the newest run counts; `Runs.warnings` says which ones were left out.

    Args:
        paths: One or several folders (any depth) or results files of lm-eval.
        levels: Levels to read, such as `["remember", "apply"]`; None reads all.
        measures: Level -> the column that scores it, such as `{"apply": "acc_strict"}`, if not the usual one.
        allow_missing: Whether to leave out runs whose results file is missing or empty, with a warning.

    Returns:
        The systems, sorted by name, and the warnings.

    Raises:
        SpeechIQError: A path does not exist or holds no run of SIQ, a file of a run cannot be used, or a level or
            column is unknown.

    Example:
        ```python
        runs = speechiq.read_systems(["runs/whisper-base", "runs/whisper-tiny.en"])
        [system.name for system in runs]
        ```
    """
    columns = [f"{level}={column}" for level, column in (measures or {}).items()]
    names = levels if levels is None or isinstance(levels, str) else ",".join(levels)
    return read_siq_systems(_as_paths(paths), allow_missing, levels=choose_levels(columns, names))


def rank(
    runs: Place | System | Iterable[Place | System],
    *,
    weights: str | None = None,
    clip_weights: str | None = None,
    norms: Norms | Place | None = None,
    exclude: ConfirmedSet | Place | None = None,
    allow_mismatch: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Scoreboard:
    """Rank systems by SIQ, against each other or on the scale of norms; see `siq score`.

    Args:
        runs: What `read_systems` returned, some of its systems, or folders and results files to read.
        weights: Rule of the level weights: `inverse-std` (the default, eq. 6 of the paper), `inverse-variance`,
            `correlation`, `equal`, or three numbers such as `"0.04,0.75,0.21"`. Norms have their own.
        clip_weights: Rule of the clip weights: `variance` (the default, eq. 3 of the paper) or `equal`. Norms have
            their own.
        norms: Norms, their file, or the name `demo`; None makes the systems their own reference population.
        exclude: Questions to leave out of Apply: a set of `siq study unanswerable --review`, or its file.
        allow_mismatch: Whether systems may have been run on different clips, questions or task versions. What they
            share is scored then, and the scores are marked.
        draws: Number of bootstrap draws for the 95 % intervals; 0 leaves the intervals out.
        seed: Seed of the draws.

    Raises:
        SpeechIQError: Systems differ in their clips, questions or tasks and that is not allowed, or cannot be scored.

    Example:
        ```python
        scoreboard = speechiq.rank("runs")
        scoreboard.to_frame()[["rank", "siq", "siq_low", "siq_high"]]
        ```
    """
    options = _options(weights, clip_weights, norms, exclude, allow_mismatch, draws, seed)
    return rank_systems(SUITE, _read_all(*_split_runs(runs)), options)


def compare(
    a: Place,
    b: Place,
    runs: Place | System | Iterable[Place | System] | None = None,
    *,
    suite: str | None = None,
    levels: str | Iterable[str] | None = None,
    weights: str | None = None,
    clip_weights: str | None = None,
    norms: Norms | Place | None = None,
    exclude: ConfirmedSet | Place | None = None,
    allow_mismatch: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """Compare two systems: how much they differ, and whether that is chance; see `siq compare`.

    Args:
        a: Folder or results file of one system, or a part of its name in `runs`.
        b: The same for the other system.
        runs: Where systems are found by name, which also sets the scale of SIQ: what `read_systems` returned, or
            folders and results files.
        suite: The suite to compare; None takes SIQ if both systems ran it, else the one suite that both ran.
        levels: What must agree for a system to be better: names of levels, `siq`; None means all.
        weights: As for `rank`.
        clip_weights: As for `rank`.
        norms: As for `rank`.
        exclude: As for `rank`.
        allow_mismatch: As for `rank`.
        draws: Number of bootstrap draws; 0 leaves out the intervals, and with them the verdict.
        seed: Seed of draws and permutations.

    Raises:
        SpeechIQError: No system or several have a name, `a` and `b` are the same run, they share no suite, or cannot
            be compared.

    Example:
        ```python
        comparison = speechiq.compare("whisper-base", "whisper-tiny.en", "runs")
        comparison.better
        ```
    """
    options = _options(weights, clip_weights, norms, exclude, allow_mismatch, draws, seed)
    find = partial(select_runs, options=options)
    systems, paths = _split_runs(runs)
    named = _hold(_read_all(systems, paths)) if systems else find(paths) if paths else None
    one, other = (choose_system(str(place), named, find) for place in (a, b))
    required = [level.strip() for level in levels.split(",")] if isinstance(levels, str) else levels
    pairs = list(pair_up(one, other, named, None if required is None else list(required), (str(a), str(b))))
    names = [pair.suite for pair in pairs]
    chosen = suite if suite is not None else SUITE if SUITE in names else names[0] if len(names) == 1 else None
    if chosen not in names:
        raise SpeechIQError(f"suite {suite!r}", f"both systems ran {', '.join(names)}", "give suite= one of these")
    comparison: Comparison = compare_pair(pairs[names.index(chosen)], options).details
    return comparison


def predict(
    runs: Place | Iterable[Place],
    labels: Place | None = None,
    *,
    metrics: Iterable[str] | None = None,
    combine: Iterable[str] = (),
    against: str | None = None,
    only_errors: bool = False,
    only_answerable: bool = False,
    allow_mismatch: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Prediction:
    """Measure how well each metric of transcripts predicts that the task behind them fails; see `siq study predict`.

    Args:
        runs: One or several folders (any depth) or results files of lm-eval.
        labels: File of labels; None takes the answers in the runs.
        metrics: Names of metrics; None means all that the runs have.
        combine: Linear forms of metrics, such as `"llm_semdist_eowl + 0.1*entity_wer"`.
        against: The metric that others are compared with; None means `wer`, or the first metric.
        only_errors: Whether to leave out items whose transcript has no error.
        only_answerable: Whether to leave out items that are answered wrong even from the reference.
        allow_mismatch: As for `rank`.
        draws: Number of bootstrap draws; 0 leaves the intervals out.
        seed: Seed of draws and folds.

    Raises:
        SpeechIQError: The runs or labels cannot be used, or a metric is unknown.

    Example:
        ```python
        speechiq.predict("runs").to_frame()[["auc", "auc_low", "auc_high", "efron", "mcfadden"]]
        ```
    """
    tables = read_tables(_as_paths(runs), allow_mismatch=allow_mismatch)
    units = gather_runs(
        tables,
        read_sources([Path(labels)] if labels is not None else [], tables),
        metrics=None if metrics is None else list(metrics),
        kept=KeptItems(errors=only_errors, answerable=only_answerable),
    )
    return predict_failure(units, combine=list(combine), against=against, draws=draws, seed=seed)


def _options(
    weights: str | None,
    clip_weights: str | None,
    norms: Norms | Place | None,
    exclude: ConfirmedSet | Place | None,
    allow_mismatch: bool,
    draws: int,
    seed: int,
) -> ScoringOptions:
    """Return the options of a ranking or comparison; files are read."""
    rule = Weighting.read(weights, clip_weights)
    scale = norms if norms is None or isinstance(norms, Norms) else norms_files.read_norms(str(norms))
    if scale is not None:
        rule = norms_files.choose_weighting(scale, {"weights": weights, "clip_weights": clip_weights})
    if exclude is None:
        exclude = NOTHING
    elif not isinstance(exclude, ConfirmedSet):
        exclude = unanswerable.read_confirmed(Path(exclude))
    return ScoringOptions(rule, scale, exclude, allow_mismatch, draws, seed)


def _as_paths(paths: Place | Iterable[Place]) -> list[Path]:
    given = [paths] if isinstance(paths, str | PathLike) else list(paths)
    if "" in given:
        raise SpeechIQError("an empty path names no runs", fix="is a variable unset? The current folder is '.'")
    return [Path(path) for path in given]


def _split_runs(runs: Place | System | Iterable[Place | System] | None) -> tuple[list[System], list[Path]]:
    """Return the systems among runs, and the paths among them."""
    if runs is None:
        return [], []
    listed = [runs] if isinstance(runs, System | str | PathLike) else list(runs)
    systems = [run for run in listed if isinstance(run, System)]
    places = [run for run in listed if isinstance(run, str | PathLike)]
    return systems, _as_paths(places)


def _read_all(systems: list[System], paths: list[Path]) -> list[System]:
    """Return some systems and those in some folders; refuse none at all, and two of one name."""
    if paths:
        systems = [*systems, *read_siq_systems(paths, False, levels=choose_levels())]
    if not systems:
        raise SpeechIQError("no runs to rank", fix="give a folder of runs, or what speechiq.read_systems returned")
    counts = Counter(system.name for system in systems)
    name, count = counts.most_common(1)[0]
    if count > 1:
        raise SpeechIQError(
            f"system {name!r}",
            f"{count} of these runs have this name",
            "give one of them, or only folders, of which the newest run counts",
        )
    return systems


def _hold(systems: Sequence[System]) -> SelectedRuns:
    """Return systems of SIQ that were read already, as `suites.find_suites` finds them."""
    tasks = [task for system in systems for task in system.tasks]
    found = Found({SUITE: tasks}, {SUITE: dict(systems[0].levels)}, [])
    return SelectedRuns(found, {SUITE: list(systems)})
