"""Define the form of a published result: one system, one date (docs/how-to/publish.md describes the fields)."""

import math
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from speechiq.reducer.stats.estimate import Estimate

SCHEMA, VERSION = "speechiq-result", 1
FILE, ROWS, NORMS = "result.json", "rows", "norms"

Text = Annotated[str, Meta(max_length=10_000)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
#: Becomes the name of a file.
TaskName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")]
Count = Annotated[int, Meta(ge=0, le=100_000_000)]


class Declaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what only the people who publish a result know."""

    contamination: Text | None = None
    interests: Text | None = None
    submitter: Text | None = None
    openness: Literal["open", "weights", "closed"] | None = None
    parameters: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    license: Text | None = None
    url: Annotated[str, Meta(pattern="^https?://[^\\s<>\"'`]+$", max_length=500)] | None = None
    withdrawn: dict[str, Text] = {}


class NormsRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name frozen norms by their label, `NAME@EDITION`, and their sha256."""

    label: Text
    sha256: Sha256
    example: bool


class ScoreRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold a score with the ends of its 95 % interval; None for what is not defined."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def estimate(self) -> Estimate:
        """Return the score, in which NaN is not defined."""
        value, low, high = (math.nan if each is None else each for each in (self.value, self.low, self.high))
        return Estimate(value, low, high)


class CategoryRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the score of a category, of a derived column, of a data set or of a group, as its column has it."""

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


class SuiteRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the scores of one suite; `groups` has field -> column -> group -> score."""

    siq: ScoreRecord | None
    categories: dict[str, CategoryRecord]
    derived: dict[str, CategoryRecord]
    datasets: dict[str, dict[str, CategoryRecord]]
    groups: dict[str, dict[str, dict[str, CategoryRecord]]]
    flags: dict[str, float | None]


class RowFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Describe the rows of a task, without compression."""

    sha256: Sha256
    bytes: Count
    count: Count
    texts: bool


class TaskRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold one task of the run: its description, versions and digests, and the direction of its columns (1 or -1)."""

    task: TaskName
    date: Annotated[float, Meta(ge=0, le=253_402_300_799)]
    docs: tuple[Count, Count] | None
    metadata: dict[str, Any]
    signs: dict[str, float]
    versions: dict[str, str]
    rows: RowFile


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the result of one system on one date."""

    system: Annotated[str, Meta(min_length=1, max_length=1000)]
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    control: Text | None
    description: dict[str, Any]
    declaration: Declaration
    commands: list[Text]
    environment: dict[str, Text]
    speechiq: Text
    draws: Count
    seed: Count
    norms: NormsRef | None
    suites: dict[str, SuiteRecord]
    tasks: list[TaskRecord]

    def __post_init__(self) -> None:
        """Refuse a date that no calendar has."""
        datetime.fromisoformat(self.date)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `result.json`, which the package has as `result.schema.json`."""
    _, parts = msgspec.json.schema_components([Result], ref_template="#/$defs/{name}")
    schema = parts.pop("Result")
    schema["properties"] |= {"schema": {"const": SCHEMA}, "version": {"const": VERSION}, "sha256": {"type": "string"}}
    schema["required"] += ["schema", "version", "sha256"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": parts}
