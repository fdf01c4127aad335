"""Define the form of a published result, version 1 (docs/reference/results.md): one system, one date."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

SCHEMA = "speechiq-result"
VERSION = 1
FILE, ROWS, NORMS = "result.json", "rows", "norms"

Text = Annotated[str, msgspec.Meta(max_length=10_000)]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
#: A task's name, which becomes that of a file.
TaskName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
Count = Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what only the people who publish a result know.

    Attributes:
        contamination: Which test data the system may have seen in training; `none known` if nothing is known.
        interests: How they are related to the system, such as `authors of the system`; `none` if they are not.
        submitter: Who publishes the result.
        openness: Whether weights and training data are public, the weights alone, or neither.
        parameters: Number of parameters of all models of the system, in billions.
        license: License of the system.
        url: Page of the system.
        withdrawn: Category whose score is withdrawn -> the reason.
    """

    contamination: Text | None = None
    interests: Text | None = None
    submitter: Text | None = None
    openness: Literal["open", "weights", "closed"] | None = None
    parameters: Annotated[float, msgspec.Meta(gt=0, le=1e6)] | None = None
    license: Text | None = None
    url: Annotated[str, msgspec.Meta(pattern="^https?://[^\\s<>\"'`]+$", max_length=500)] | None = None
    withdrawn: dict[str, Text] = {}


class NormsRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name frozen norms: the label `NAME@EDITION`, their sha256, and whether they are only an example."""

    label: Text
    sha256: Sha256
    example: bool


class ScoreRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a score with the ends of its 95 % interval; None for what is not defined."""

    value: float | None
    low: float | None
    high: float | None


class CategoryRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the score of a category, of a further column, of a data set or of a group.

    Attributes:
        column: Column of the sample rows.
        direction: Whether a higher or a lower score is better.
        unit: Heading of the score; one that ends in % shows the fraction in percent.
        chance: Score of guessing; None without one.
        score: The score, as the column has it: an error rate falls with ability.
        z: Z on the norms; None without norms.
        clips: Number of its clips, of their clusters, and of its items (clips or questions).
        undefined: Number of items without a score.
        judge: Name of the judge; None without one.
    """

    column: Text
    direction: Literal["higher", "lower"]
    unit: Text
    chance: float | None
    score: ScoreRecord
    z: ScoreRecord | None
    clips: Count
    clusters: Count
    items: Count
    undefined: Count
    judge: Text | None


class GroupRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the scores of the groups by a field of docs, such as the language, for categories of one measure."""

    field: Text
    categories: list[Text]
    groups: dict[str, CategoryRecord]


class SuiteRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the scores of one suite.

    Attributes:
        siq: SIQ on the norms of the result; None for another suite, and without norms.
        categories: Category, such as a level -> its score.
        further: Further column -> its score, such as a micro-average.
        datasets: Data set -> category -> its score on that set alone; empty if there is one set.
        groups: Scores by group.
        flags: Failure that scores do not show -> its share.
    """

    siq: ScoreRecord | None
    categories: dict[str, CategoryRecord]
    further: dict[str, CategoryRecord]
    datasets: dict[str, dict[str, CategoryRecord]]
    groups: list[GroupRecord]
    flags: dict[str, float | None]


class RowFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe the rows of a task: `rows/TASK.jsonl.gz`.

    Attributes:
        sha256: Digest of the rows without compression.
        bytes: Their size without compression.
        count: Their number.
        texts: Whether they have references, questions, transcripts and answers.
    """

    sha256: Sha256
    bytes: Count
    count: Count
    texts: bool


class TaskRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one task of the run.

    Attributes:
        task: Its name.
        date: Start of its run, in seconds since 1970.
        docs: Number of docs that were run, and of all docs of the task; None if that was not recorded.
        metadata: Its description, versions and digests; see docs/tutorials/new_suite.md.
        signs: Column of the rows -> 1 if a higher value is better, -1 if a lower one is.
        versions: Package -> its version in the run.
        rows: Its rows.
    """

    task: TaskName
    date: Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799)]
    docs: tuple[Count, Count] | None
    metadata: dict[str, Any]
    signs: dict[str, float]
    versions: dict[str, str]
    rows: RowFile


class SpeedRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the speed of one kind of work; `rtfx` is seconds of audio per second of work."""

    work: Text
    rtfx: float | None
    audio_seconds: float
    work_seconds: float


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the result of one system on one date.

    Attributes:
        system: Name of the system.
        date: Start of its newest run, UTC.
        control: `gold`, `silence` or `letter:X` for a control; None for any other system.
        description: Stages, models and settings of the system, as its run recorded them.
        declaration: What its publishers declare.
        commands: The commands that make the same run.
        environment: Settings of the run by words: device, batch size, seed, duration.
        speeds: Speeds of its work.
        speechiq: Version of speechiq that made the result.
        draws: Number of bootstrap draws of the intervals.
        seed: Seed of the draws.
        norms: The norms of SIQ; None without them, and then SIQ is None too.
        suites: Suite -> its scores.
        tasks: The tasks, by name.
    """

    system: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    control: Text | None
    description: dict[str, Any]
    declaration: Declaration
    commands: list[Text]
    environment: dict[str, Text]
    speeds: list[SpeedRecord]
    speechiq: Text
    draws: Count
    seed: Count
    norms: NormsRef | None
    suites: dict[str, SuiteRecord]
    tasks: list[TaskRecord]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `result.json`; the package has it as `reducer/publishing/result.schema.json`."""
    _, parts = msgspec.json.schema_components([Result], ref_template="#/$defs/{name}")
    properties = parts["Result"]["properties"] | {
        "schema": {"const": SCHEMA},
        "version": {"const": VERSION},
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    }
    required = ["schema", "version", *parts["Result"]["required"], "sha256"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **parts.pop("Result"),
        "title": f"{SCHEMA} {VERSION}",
        "properties": properties,
        "required": required,
        "$defs": parts,
    }
