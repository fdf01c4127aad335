"""Read the settings of a task from its metadata: records with types and descriptions, as the options of engines are."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from msgspec import Meta

from speechiq.engines.options import OpenOptions, OptionInfo, Options, describe_options, list_names, read_options

#: A name of a file, a model or a column.
Text = Annotated[str, Meta(pattern=r"^[^\0]+$")]
#: How a text gets into a prompt: as plain text, or as a user's turn of the model's own chat template.
Template = Literal["plain", "chat"]
#: The number format in which a model computes.
Dtype = Literal["float32", "bfloat16", "float16"]

Record = TypeVar("Record", bound=Options)


class Subject(NamedTuple):
    """Name the record of the settings about one subject, and what its keys of metadata begin with.

    >>> class Clips(Options, frozen=True, kw_only=True):
    ...     subset: Annotated[int, Meta(description="Number of clips.")] = 9
    >>> Subject(Clips).keys, Subject(OpenOptions, "judge_").keys
    (frozenset({'subset'}), frozenset({'judge_*'}))
    """

    record: type[Options]
    prefix: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """Return the keys of metadata; `PREFIX*` are all keys that begin so."""
        names = list_names(self.record)
        if issubclass(self.record, OpenOptions):
            names = {*names, "*"}
        return frozenset(self.prefix + name for name in names)

    def describe(self) -> list[OptionInfo]:
        """Return the description of each key, for the page of the documentation."""
        return [info._replace(name=self.prefix + info.name) for info in describe_options(self.record)]


def read_record(record: type[Record], metadata: Mapping[str, Any]) -> Record:
    """Return the settings that metadata have for a record, ignoring the rest; a key that is null has its default.

    Raises:
        SpeechIQError: A value has another type, or is none of those that are known.

    >>> class Clips(Options, frozen=True, kw_only=True):
    ...     ties: Literal["id", "order"] = "id"
    >>> read_record(Clips, {"ties": "order", "split": "test"}).ties, read_record(Clips, {"ties": None}).ties
    ('order', 'id')
    >>> read_record(Clips, {"ties": "size"})
    Traceback (most recent call last):
    ...
    speechiq.core.errors.SpeechIQError: ties=size: unknown; give id or order
    """
    names = list_names(record)
    given = {name: metadata[name] for name in sorted(names) if metadata.get(name) is not None}
    return read_options(record, given, engine="task")


def record_of(record: type[Record], doc: Mapping[str, Any]) -> Record:
    """Return the settings that a doc has, which were checked when it was made."""
    return record(**{name: doc[name] for name in record.__struct_fields__ if name in doc})
