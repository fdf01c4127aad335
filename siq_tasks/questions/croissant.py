"""Describe a question file in Croissant 1.0, the JSON-LD by which search engines and loaders know a data set."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from speechiq.core.files.plain import hash_file

VERSION = "http://mlcommons.org/croissant/1.0"
#: Terms of Croissant in the context of its specification; readers warn of any other context.
TERMS = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
#: Field of a question -> what it is.
FIELDS = {
    "id": "the clip, DATASET/NAME",
    "question_id": "the question",
    "question": "the wording of the question",
    "options": "four options, A to D; systems may also choose (E), none of the above",
    "answer": "the letter of the right option",
    "writer": "who wrote the question",
}


def describe(path: Path, questions: Sequence[Mapping[str, Any]], license: str, url: str) -> dict[str, Any]:
    """Return the description of a question file.

    Args:
        path: The file; its description belongs beside it.
        questions: Its rows.
        license: License of the questions, as an address or an SPDX name.
        url: Page of the data set.
    """
    datasets = sorted({str(row["id"]).partition("/")[0] for row in questions})
    count = sum("options" in row for row in questions)
    fields = [field for field in FIELDS if any(field in row for row in questions)]
    return {
        "@context": {
            "@language": "en",
            "@vocab": "https://schema.org/",
            "sc": "https://schema.org/",
            "cr": "http://mlcommons.org/croissant/",
            "dct": "http://purl.org/dc/terms/",
            "rai": "http://mlcommons.org/croissant/RAI/",
            "conformsTo": "dct:conformsTo",
            **{term: f"cr:{term}" for term in TERMS},
            "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
            **{term: {"@id": f"cr:{term}", "@type": "@json"} for term in ("data", "examples")},
        },
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
        "description": FIELDS[field],
        "dataType": "sc:Text",
        **({"repeated": True} if field == "options" else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": field}},
    }
