"""Run what takes the place of a recognizer: the ceiling (`gold`), the floor (`silence`), and transcripts in a file."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from speechiq.core.batches import OnResult, drop
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, hash_file, is_file
from speechiq.core.files.tables import AUDIO, FORMS, check_columns, read_clip_texts, read_name, read_number
from speechiq.core.ids import compose, find_listed
from speechiq.core.response import Response, distinct_texts
from speechiq.engines.base import ASREngine, Setup
from speechiq.engines.options import Options


class Control(ASREngine):
    """Share what the controls have in common: they hear nothing, and no model runs."""

    hears = False

    def count_parameters(self) -> int:
        """Return 0: no model runs."""
        return 0

    def describe(self) -> dict[str, Any]:
        """Return the name of the control; see `Engine.describe`."""
        return {"control": type(self).__name__.lower()}


class Gold(Control):
    """Return the reference text, as a perfect recognizer would; the system's owner sets `references` here alone."""

    def __init__(self, model: str, options: Options, setup: Setup) -> None:
        self.references: Mapping[Clip, str] = {}

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Return the reference text of each clip."""
        if missing := [clip.name for clip in clips if clip not in self.references]:
            raise SpeechIQError(
                "pretrained=gold+...",
                f"{missing[0]} comes without a reference text",
                "run `gold` on tasks whose docs have a `text`",
            )
        return [Response(self.references[clip], coverage=1.0) for clip in clips]


class Silence(Control):
    """Return empty transcripts: answers that are then right do not need the speech."""

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Return an empty transcript per clip, with coverage 0."""
        return [Response("", coverage=0.0) for _ in clips]


COVERAGE = "audio_coverage"
#: Columns of a transcript, the first that a row has; in manifests of NeMo `text` is the reference.
TEXTS = ("pred_text", "text")
FIX = "write id (or audio) and text, or in a .jsonl id and nbest, a list of texts"


class TranscriptFile(ASREngine):
    """Read a file with a transcript per clip: `{"id": "earnings22/4468654_0012", "text": "..."}`, or another form.

    It is a table with the columns `id` or `audio` and `text`, a manifest of NeMo (`audio_filepath`, and `pred_text` or
    `text`), or a `text` file of Kaldi or ESPnet. A clip without an id has the name of its audio file. The data set
    before the `/` may be left out if no two clips of the run have the same name after it; a line with it comes first.

    Instead of `text` a line of JSON may have `nbest`, a list of texts, best first. The first one is the transcript; a
    corrector gets all that differ in words. `audio_coverage`, seconds that were transcribed / seconds of the clip, is
    optional. Lines about other clips are ignored.
    """

    hears = False

    def __init__(self, model: str, options: Options, setup: Setup) -> None:
        self.file = expand(model)
        if not is_file(self.file):
            raise SpeechIQError(f"transcripts:{model}", "no such file", FORMS)
        self.texts: dict[str, Response] = {}
        for _, where, row in read_clip_texts(self.file):
            key, text = _read(row, where)
            if key in self.texts:
                raise SpeechIQError(where, f"id {key!r} is a duplicate", "delete a line, or give each its id")
            self.texts[key] = text
        self.sha256 = hash_file(self.file)

    def transcribe(self, clips: Sequence[Clip], on_result: OnResult = drop) -> list[Response]:
        """Return the transcript of each clip."""
        names = {clip.id: find_listed(compose(clip.id), self.texts) for clip in clips}
        found = {key: name for key, name in names.items() if name is not None}
        if missing := [key for key in names if key not in found]:
            raise SpeechIQError(
                self.file,
                f"{len(missing)} of {len(names)} clips have no transcript, {missing[0]!r} among them",
                f"the file has ids such as {next(iter(self.texts), None)!r}: write a line per clip, with the ids that "
                "`siq list tasks` lists",
            )
        keys: dict[str, str] = {}
        for key, name in found.items():
            if keys.setdefault(name, key) != key:
                raise SpeechIQError(
                    self.file, f"id {name!r} could be {keys[name]!r} or {key!r}", "write the data set before it"
                )
        return [self.texts[found[clip.id]] for clip in clips]

    def describe(self) -> dict[str, Any]:
        """Return the name of the file and its number of lines; see `Engine.describe`."""
        return {"transcripts": self.file.name, "sha256": self.sha256, "clips": len(self.texts)}


def _read(row: Mapping[str, Any], where: str) -> tuple[str, Response]:
    if AUDIO not in row:
        check_columns(row, ["id"], where, FORMS)
    key = read_name(row, where)
    texts = row.get("nbest", [next((row[column] for column in TEXTS if column in row), None)])
    if not isinstance(texts, list) or not texts:
        raise SpeechIQError(where, "nbest is not a list of texts", FIX)
    text = texts[0]
    if invalid := [value for value in texts if not isinstance(value, str)]:
        raise SpeechIQError(where, f"not a transcript: {invalid[0]!r:.80} is not a text", FIX)
    if row.get("text", text) != text and "nbest" in row:
        raise SpeechIQError(where, "text is not the first of nbest", "keep one of them")
    given = row.get(COVERAGE, "") != ""
    coverage = read_number(row[COVERAGE]) if given else math.nan
    if given and not 0 <= coverage <= 1:
        raise SpeechIQError(where, f"{COVERAGE}={row[COVERAGE]!r:.80}", "give a share of the clip, 0 to 1")
    listed = distinct_texts(texts) if "nbest" in row else ()
    return key, Response(text, coverage=coverage, hypotheses=listed)
