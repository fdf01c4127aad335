"""Describe a question file in Croissant 1.0, the JSON-LD by which search engines and loaders know a data set."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.files.plain import hash_file
from speechiq.siq_tasks.index import read_mapping

VERSION = "http://mlcommons.org/croissant/1.0"
#: `context`, and the `fields` of a question with what each is.
_SHARED = read_mapping(Path(__file__).with_name("_croissant.yaml"))


def describe(path: Path, questions: Sequence[Mapping[str, Any]], license: str, url: str) -> dict[str, Any]:
    """Return the description of a question file, to be written beside it.

    `license` is an address or an SPDX name, `url` the page of the data set.
    """
    datasets = sorted({str(row["id"]).partition("/")[0] for row in questions})
    count = sum("options" in row for row in questions)
    fields = [field for field in _SHARED["fields"] if any(field in row for row in questions)]
    return {
        "@context": _SHARED["context"],
        "@type": "sc:Dataset",
        "name": f"{'-'.join(datasets)}-questions",
        "description": f"{count} questions about the recordings of {', '.join(datasets)}, for SpeechIQ.",
        "conformsTo": VERSION,
        "license": license,
        "url": url,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path.name,
                "name": path.name,
                "contentUrl": path.name,
                "encodingFormat": "application/jsonlines",
                "sha256": hash_file(path),
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "questions",
                "name": "questions",
                "field": [_describe_field(field, path.name) for field in fields],
            }
        ],
    }


def _describe_field(field: str, file: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"questions/{field}",
        "name": f"questions/{field}",
        "description": _SHARED["fields"][field],
        "dataType": "sc:Text",
        **({"repeated": True} if field == "options" else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field}},
    }
