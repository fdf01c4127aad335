"""Load sets of passages that are read aloud sentence by sentence, with questions in their rows, as in Belebele-FLEURS.

A row is one question. It has its passage, and in `sentence_data` the sentences with one or more recordings of each.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.errors import RowError, SpeechIQError
from speechiq.core.files.tables import read_field, read_number
from speechiq.core.ids import check_plain
from speechiq.core.recordings.audio_file import decode, encode_audio, inspect
from speechiq.engines.options import UNIT, Options
from speechiq.metrics.settings import Subject, read_record
from speechiq.siq_tasks.loaders import clips
from speechiq.siq_tasks.loaders.docs import Loaded, build_docs
from speechiq.siq_tasks.loaders.odd_rows import OddRows
from speechiq.siq_tasks.loaders.question_columns import RowSettings, read_choice
from speechiq.siq_tasks.loaders.row_choice import GROUPS, QUESTIONS
from speechiq.siq_tasks.loaders.rows import Rows, RowSource, load_rows
from speechiq.siq_tasks.questions.file import find_question_fault
from speechiq.siq_tasks.settings import read_task_type, takes

if TYPE_CHECKING:
    from datasets import Dataset

#: Longest pause between two sentences, in seconds.
LONGEST_PAUSE = 10.0
SENTENCES, LANGUAGE = "sentence_data", "dialect"
OPTIONS = ("mc_answer1", "mc_answer2", "mc_answer3", "mc_answer4")
#: Columns of rows; `LANGUAGE` is read if it is there.
COLUMNS = ("link", "question_number", "flores_passage", "question", *OPTIONS, "correct_answer_num")
#: Parts of a sentence with a value per recording, and those of them with error rates, which may be missing.
PER_RECORDING = ("audio", "num_samples", "gender", "speaker_id")
ERROR_RATES = ("whisper_asr_cer", "seamlessm4t_asr_cer")
TEXT = "raw_transcription"
PARTS = ("id", TEXT, *PER_RECORDING)
#: Keys of metadata that this loader reads, with those of every task and of `PassageSettings`.
KEYS = ("dataset_path", "dataset_name", "split", "dataset_revision", "leave_out", "subset", "selection", "ties")
#: Group of a passage whose sentences are of several.
MIXED = "mixed"
COPY = "give the Hub's set or a copy of it"
_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")


class PassageSettings(Options, frozen=True, kw_only=True):
    """Define how the recordings of sentences are joined to passages."""

    recording: Annotated[
        Literal["first", "longest", "lowest_cer"],
        Meta(
            description="Recording of a sentence that is taken; `lowest_cer` is that with the lowest character error "
            "rate, in the mean over the recognizers whose rates the set has."
        ),
    ]
    pause_s: Annotated[
        float, Meta(ge=0, le=LONGEST_PAUSE, extra={UNIT: "seconds"}, description="Silence between two sentences.")
    ]


class SentenceRule(NamedTuple):
    """State how a passage is made of its sentences.

    Attributes:
        recording: Which recording of a sentence is taken: the `first`, the `longest`, or that with the `lowest_cer`, in
            the mean over the recognizers whose error rates the set has. Of equal ones, the first.
        pause_s: Silence between two sentences, in seconds.
    """

    recording: str
    pause_s: float
    language: str

    def choose(self, sentence: Mapping[str, Any]) -> int:
        """Return the number of the recording that is taken.

        >>> sentence = {"num_samples": [2, 9], "whisper_asr_cer": [0.0, 0.2], "seamlessm4t_asr_cer": [0.3, None]}
        >>> [SentenceRule(name, 0.5, "deu_Latn").choose(sentence) for name in ("first", "longest", "lowest_cer")]
        [0, 1, 0]
        """
        costs = [0.0] * len(sentence["num_samples"])
        if self.recording == "longest":
            costs = [-read_number(samples) for samples in sentence["num_samples"]]
        elif self.recording == "lowest_cer":
            rates = [sentence[name] for name in ERROR_RATES if sentence.get(name)]
            costs = [_mean(of_one) for of_one in zip(*rates, strict=True)]
        return costs.index(min(costs)) if costs else 0

    @contextmanager
    def open(self, source: RowSource, unwanted: Collection[str], odd: OddRows) -> Iterator[Rows]:
        """Yield one row per passage, to be read inside the block, with its joined audio and its questions.

        The columns are `id` (a digest of the passage's link and the number of its first question, which is equal in all
        languages), `text` (the sentences), `seconds`, `groups` (`gender` and `speaker`) and `questions`. Passages that
        the user leaves out, by their names in `unwanted`, may be invalid.
        """
        with load_rows(source) as rows:
            reader = _PassageReader(rows, self, source.dataset_path, odd)
            passages = reader.read_all(unwanted)
            columns: dict[str, list[Any]] = {
                "id": [passage.name for passage in passages],
                "text": [" ".join(sentence[TEXT] for sentence in passage.sentences) for passage in passages],
                "seconds": [reader.measure(passage) for passage in passages],
                GROUPS: [_group(passage) for passage in passages],
                QUESTIONS: [reader.read_questions(passage) if passage.sentences else [] for passage in passages],
            }
            yield Rows(len(passages), columns, lambda i: encode_audio([reader.join(passages[i])], "FLAC"))


def _mean(rates: Sequence[float | None]) -> float:
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else math.inf


def read_sentence_rule(metadata: Mapping[str, Any], dataset: str) -> SentenceRule:
    """Return how the passages of a data set, such as `belebele_deu_Latn`, are made, as the metadata of a task say."""
    settings = read_record(PassageSettings, metadata)
    language, name = dataset.partition("_")[2], str(metadata.get("dataset_name"))
    if _CODE.fullmatch(name) and name != language:
        raise SpeechIQError(
            f"metadata.dataset_name: {name}",
            f"not the language of {dataset}, so that one task would have two languages",
            f"run --tasks siq_{dataset.removesuffix(language)}{name}",
        )
    return SentenceRule(settings.recording, float(settings.pause_s), language)


class SpokenPassage(NamedTuple):
    """Hold a passage: its name, the rows with its questions, and its sentences in order, without their audio."""

    name: str
    rows: list[int]
    sentences: list[dict[str, Any]]


class _PassageReader:
    """Read passages from rows of questions; of the audio, only the recordings that are taken."""

    def __init__(self, rows: Dataset, rule: SentenceRule, place: str, odd: OddRows) -> None:
        self.rule, self.place, self.odd = rule, place, odd
        self.odd.rows = len(rows)
        for column in (*COLUMNS, SENTENCES):
            if column not in rows.column_names:
                raise SpeechIQError(place, f"no column {column!r}; it has {', '.join(rows.column_names)}", COPY)
        names = [*COLUMNS, *([LANGUAGE] if LANGUAGE in rows.column_names else [])]
        self.questions = rows.select_columns(names).to_list()
        # In this format nothing is decoded, and only the parts that are read leave the disk.
        self.sentences = rows.select_columns([SENTENCES]).with_format("arrow")

    def read_all(self, unwanted: Collection[str]) -> list[SpokenPassage]:
        """Return the passages whose rows can be read."""
        groups: dict[tuple[str, str], dict[int, int]] = {}
        for i, row in enumerate(self.questions):
            with self.odd.reading(f"{self.place} row {i}", f"row {i}"):
                language = row.get(LANGUAGE) or self.rule.language
                if language != self.rule.language:
                    fault = f"its language is {language!r:.40}, that of the task {self.rule.language}"
                    raise RowError("of another language", fault)
                link, text = read_field(row, "link"), read_field(row, "flores_passage")
                number = read_number(row["question_number"])
                if not number.is_integer():
                    raise RowError("no question_number", f"question_number is {row['question_number']!r:.40}")
                if number in groups.setdefault((link, text), {}):
                    raise RowError("a question that an earlier row has", f"{link:.80}, question {number:g}")
                groups[link, text][int(number)] = i
        passages = []
        for (link, _), numbers in groups.items():
            if not numbers:
                continue
            rows = [numbers[number] for number in sorted(numbers)]
            name = f"{hashlib.sha256(link.encode()).hexdigest()[:8]}-{min(numbers)}"
            if name in unwanted:
                passages.append(SpokenPassage(name, rows, []))
                continue
            with self.odd.reading(f"{self.place} row {rows[0]}", *(f"row {i}" for i in rows)):
                passages.append(SpokenPassage(name, rows, self._read_sentences(rows[0])))
        return passages

    def _open(self, i: int) -> Any:
        """Return the sentences of row i as an array of structs."""
        return self.sentences[i : i + 1].column(SENTENCES).combine_chunks().flatten()

    def _read_sentences(self, i: int) -> list[dict[str, Any]]:
        """Return the sentences of a row in their order, each with its place in the row and the recording taken."""
        array = self._open(i)
        parts = [array.type.field(k).name for k in range(array.type.num_fields)]
        if missing := [part for part in PARTS if part not in parts]:
            fault = f"the sentences have no {missing[0]!r}; they have {', '.join(parts)}"
            raise SpeechIQError(self.place, fault, COPY)
        light = [part for part in (*PARTS, *ERROR_RATES) if part in parts and part != "audio"]
        columns = {part: array.field(part).to_pylist() for part in light}
        columns["audio"] = [[None] * (count or 0) for count in array.field("audio").value_lengths().to_pylist()]
        sentences = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        for place, sentence in enumerate(sentences):
            self._check(sentence)
            taken = self.rule.choose(sentence)
            sentence |= {"place": place, "taken": taken} | {part: sentence[part][taken] for part in PER_RECORDING}
        sentences.sort(key=lambda sentence: sentence["id"])
        if not sentences:
            raise RowError("a passage without recordings", "the passage has no recording")
        if any(a["id"] == b["id"] for a, b in pairwise(sentences)):
            raise RowError("a sentence that cannot be read", "two sentences have the same id")
        return sentences

    def _check(self, sentence: dict[str, Any]) -> None:
        fault, count = "", len(sentence["audio"])
        lengths = {part: len(sentence[part] or ()) for part in (*PER_RECORDING, *ERROR_RATES) if sentence.get(part)}
        if not count:
            fault = "it has no recording"
        elif uneven := [part for part in PER_RECORDING if lengths.get(part) != count]:
            fault = f"it has {count} recordings and {lengths.get(uneven[0], 0)} values of {uneven[0]}"
        elif any(lengths.get(part, count) != count for part in ERROR_RATES):
            fault = f"it has {count} recordings and another number of error rates"
        elif type(sentence["id"]) is not int:
            fault = f"its id is {sentence['id']!r:.40}, not its number in the text"
        elif not all(0 < read_number(samples) < math.inf for samples in sentence["num_samples"]):
            fault = f"num_samples is {sentence['num_samples']!r:.80}"
        elif self.rule.recording == "lowest_cer" and not any(sentence.get(part) for part in ERROR_RATES):
            fault = "it has no error rates for recording=lowest_cer"
        elif not isinstance(sentence[TEXT], str) or not sentence[TEXT].strip():
            fault = f"{TEXT} is {sentence[TEXT]!r:.80}"
        if fault:
            raise RowError("a sentence that cannot be read", f"sentence {sentence['id']}: {fault}")
        sentence[TEXT] = sentence[TEXT].strip()

    def read_questions(self, passage: SpokenPassage) -> list[dict[str, Any]]:
        """Return the questions of a passage, as build_docs takes them; the number of an answer begins at 1."""
        questions = []
        for i in passage.rows:
            row = self.questions[i]
            raw = {"question": row["question"], "choices": [row[name] for name in OPTIONS]}
            raw["answer"] = row["correct_answer_num"]
            with self.odd.reading(f"{self.place} row {i}", f"row {i}") as repairs:
                asked = read_choice(raw, RowSettings(answer_base=1), repairs)
                question = {
                    "id": passage.name,
                    "question_id": f"{passage.name}-q{row['question_number']}",
                    "question": asked["question"],
                    "options": asked["options"],
                    "answer": asked["gold"][0],
                }
                if fault := find_question_fault(question | {"writer": "Belebele", "checkers": [], "prompt_version": 0}):
                    raise RowError("not four different options", fault)
                questions.append(question)
        return questions

    def measure(self, passage: SpokenPassage) -> float:
        """Return the seconds of a passage by the numbers of samples in the set."""
        pauses = self.rule.pause_s * max(0, len(passage.sentences) - 1)
        samples: int = sum(sentence["num_samples"] for sentence in passage.sentences)
        return samples / SAMPLING_RATE + pauses

    def join(self, passage: SpokenPassage) -> np.ndarray:
        """Return the samples of a passage: its sentences, with silence between them."""
        array = self._open(passage.rows[0])
        pause = np.zeros(round(self.rule.pause_s * SAMPLING_RATE), np.float32)
        parts = []
        for sentence in passage.sentences:
            where = f"sentence {sentence['id']}, recording {sentence['taken'] + 1}"
            audio = array.field("audio")[sentence["place"]].as_py()[sentence["taken"]] or {}
            content = audio.get("bytes") or (Path(audio["path"]) if audio.get("path") else None)
            if content is None:
                raise RowError("no audio", f"{where}: the recording is empty")
            parts += [pause, decode(content, 0.0, inspect(content, where).duration)]
        return np.concatenate(parts[1:])


def _group(passage: SpokenPassage) -> dict[str, str]:
    """Return the gender and the speaker of a passage; `mixed` and all speakers in order if sentences differ."""
    genders = {str(sentence["gender"]).lower() for sentence in passage.sentences}
    speakers = dict.fromkeys(str(sentence["speaker_id"]) for sentence in passage.sentences)
    return {"gender": genders.pop() if len(genders) == 1 else MIXED, "speaker": "+".join(speakers)}


def list_columns(**_: Any) -> dict[str, str]:
    """Return the columns that a task reads, `COLUMN.PART` for those of sentences, with the setting of their set."""
    return dict.fromkeys([*COLUMNS, *(f"{SENTENCES}.{part}" for part in PARTS)], "dataset_path")


def list_clips(dataset: Any = None, **metadata: Any) -> list[dict[str, Any]]:
    """Return the passages of a test, each with its questions; see `clips.prepare`."""
    return _prepare(dataset, metadata).clips


@takes(*KEYS, *Subject(PassageSettings).keys)
def load(dataset: Any = None, **metadata: Any) -> Loaded:
    """Load the docs of one task: one per passage, or for Apply one per question, whose id is that of its passage."""
    task_type = read_task_type(metadata)
    settings = task_type.read_settings(metadata)
    test = _prepare(dataset, metadata)
    asked = test.clips if task_type.has_questions else []
    questions = [question | {"id": clip["id"]} for clip in asked for question in clip[QUESTIONS]]
    return Loaded(build_docs(dataset, test.clips, questions, metadata), test.record | settings)


def _prepare(dataset: Any, metadata: dict[str, Any]) -> clips.Prepared:
    rule = read_sentence_rule(metadata, check_plain(dataset, "metadata.dataset"))
    return clips.prepare(dataset=dataset, passages=rule, **metadata)
