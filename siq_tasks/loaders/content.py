"""Compute the digest of what docs ask and how they are scored, by which runs on other content are told apart."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from speechiq.core.transforms import read_transforms
from speechiq.siq_tasks.conditions.spec import LISTEN
from speechiq.siq_tasks.loaders.entities import CLASSES, ENTITIES
from speechiq.siq_tasks.loaders.row_choice import CLUSTER

QUESTION_ITEMS = ("question_id", "question", "options", "answer")
#: Items besides the question by which an answer or its interval is computed; part of the digest of docs that have them.
SCORED_BY = ("accepted", "checklist", "keywords", "checks", "grades", ENTITIES, CLASSES, CLUSTER)


def describe_content(doc: Mapping[str, Any]) -> str:
    """Return the audio, reference, question and answer of a doc as a line of JSON; see `digest_content`."""
    content = [
        *map(doc["audio"].get, ("sha256", "offset")),
        *map(doc.get, ("id", "text", *QUESTION_ITEMS)),
        *(transform.key for transform in read_transforms(doc["audio"].get("transforms") or "[]")),
        *([item, doc[item]] for item in SCORED_BY if doc.get(item)),
        *([item, doc["audio"][item]] for item in (LISTEN,) if doc["audio"].get(item)),
    ]
    return json.dumps(content)


def digest_content(docs: Iterable[Mapping[str, Any]]) -> str:
    """Return the sha256 of the audio, references, questions and answers of docs, independent of order and paths.

    Further right answers, checklists, keywords, meanings of scores, entities and their classes, the cluster and
    `listen` count if a doc has them.

    >>> clip = {"id": "a", "audio": {"sha256": "0a", "path": "here"}, "text": "Yes."}
    >>> digest_content([clip]) == digest_content([clip | {"audio": {"sha256": "0a", "path": "there"}}])
    True
    >>> digest_content([clip]) == digest_content([clip | {"text": "No."}])
    False
    >>> digest_content([clip]) == digest_content([clip | {"accepted": []}])
    True
    >>> digest_content([clip]) == digest_content([clip | {"accepted": ["Sure."]}])
    False
    """
    return hashlib.sha256("\n".join(sorted(map(describe_content, docs))).encode()).hexdigest()


def digest_doc(doc: Mapping[str, Any]) -> bytes:
    """Return the sha256 of what `describe_content` says about a doc."""
    return hashlib.sha256(describe_content(doc).encode()).digest()


def join_digests(digests: Iterable[bytes]) -> str:
    """Return the sha256 of the digests of docs in any order: for docs that are too many to hold their texts.

    >>> join_digests([b"a", b"b"]) == join_digests([b"b", b"a"])
    True
    """
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()
