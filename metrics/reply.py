"""Score spoken replies: what was spoken, what was written, how clear and how natural it sounds.

`Reply` and `score` are what tasks of lm-eval name. The reply of a system that speaks is transcribed by a recognizer of
the user's choice, once per reply, and judged by its transcript (WildSpeech-Bench, section 4); what the system wrote is
judged as well, which measures the cost of speaking. A system that only writes is judged on its text, and marked
(`spoken` is 0).

A network predicts how people rate the speech: a mean opinion score from 1 (bad) to 5 (excellent) for how it sounds, not
for its words. Models that cannot work are refused before any system runs; they are loaded only for new replies. What
they say is cached on disk, by the content of the clip.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np
from lm_eval.api.filter import Filter
from msgspec import Meta

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import cached
from speechiq.core.checkpoints.names import DEMO, resolve
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.console import progress_bar
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, hash_file, is_file
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.core.response import Response, response_of
from speechiq.core.suggestions import did_you_mean
from speechiq.core.usage import counted_as, measured, usage
from speechiq.engines.asr.controls import Gold
from speechiq.engines.cached import CachedEngine
from speechiq.engines.options import OpenOptions, Options
from speechiq.engines.registry import list_backends
from speechiq.metrics.columns import higher, lower, mean, returns
from speechiq.metrics.judge.free_answers import JudgedItem, as_stored, case_of, score_judgment
from speechiq.metrics.judge.judging import Case, Judgment, judge_cases
from speechiq.metrics.judge.settings import judging_of, read_judging
from speechiq.metrics.models import open_cache, open_engine
from speechiq.metrics.rules.exact_match import count_keywords
from speechiq.metrics.settings import Subject, Text, read_record
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.units import FEWEST_WORDS, is_other_language
from speechiq.metrics.words.wer import wer

QUALITY, SHA256 = "speech_quality", "speech_quality_sha256"
DEFAULT_RATER, OFF = "distillmos", "off"
#: What can be written, for errors.
KNOWN = "distillmos, utmos:FILE, off"
DISTILLMOS = "demo:distillmos"
#: Length (s) below which nothing can be rated.
SHORTEST_S = 0.1
UTMOS_FILE = "utmos22_strong_step7459_v1.pt"
UTMOS_PAGE = "https://github.com/tarepan/SpeechMOS/releases/tag/v1.0.0"
RECOGNIZER, PREFIX = "reply_asr", "reply_asr_"
#: The paper's recognizer (section 4).
DEFAULT_ASR = "openai/whisper-large-v3"
RUBRIC = "points_1_10"


class ReplySettings(Options, frozen=True, kw_only=True):
    """Define what transcribes spoken replies, and what rates how they sound."""

    reply_asr: Annotated[
        Text,
        Meta(
            description="Recognizer that transcribes spoken replies, `[ENGINE:]MODEL` of any recognizer ([spoken "
            "replies](../how-to/spoken_replies.md))."
        ),
    ] = DEFAULT_ASR
    speech_quality: Annotated[
        Text,
        Meta(
            description="What rates how spoken replies sound: distillmos, `utmos:FILE` or off "
            "([UTMOS](../how-to/spoken_replies.md#utmos))."
        ),
    ] = DEFAULT_RATER


#: What the metadata of tasks with spoken replies set, in addition to their judge.
REPLIES = (Subject(ReplySettings), Subject(OpenOptions, PREFIX))


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that docs and results of spoken replies record; the `read_settings` of the type `reply`.

    The metadata are those of `read_judging`, `reply_asr`, `reply_asr_*` and `speech_quality` (see `read_rater`).
    """
    settings = read_record(ReplySettings, metadata)
    recognizer, quality = settings.reply_asr, settings.speech_quality
    rater = read_rater(quality)
    options = read_reply_asr(recognizer, metadata)
    reply = {RECOGNIZER: recognizer, QUALITY: quality} | ({"options": options} if options else {})
    recorded = {RECOGNIZER: recognizer, **({QUALITY: rater.name, SHA256: rater.sha256} if rater else {QUALITY: OFF})}
    return read_judging(metadata, RUBRIC).record() | recorded | {"reply": reply}


class SpokenReply(NamedTuple):
    """Hold a reply with sound, in a form that can be sent between processes, and the recognizer that transcribes it."""

    clip: Clip
    recognizer: str
    options: Mapping[str, Any]

    def open(self) -> CachedEngine:
        """Return the recognizer; see `open_reply_asr`."""
        return open_reply_asr(self.recognizer, self.options)

    def keep(self, transcript: str) -> None:
        """Add a transcript that another process made to the response cache of this process, unless it is there."""
        self.open().keep("transcribe", self.clip, result=Response(transcript))


def read_reply_asr(name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options `reply_asr_*` of a recognizer, `[ENGINE:]MODEL`, in metadata, after checking both."""
    options = {key.removeprefix(PREFIX): value for key, value in metadata.items() if key.startswith(PREFIX)}
    open_reply_asr(name, options)
    return options


def open_reply_asr(name: str, options: Mapping[str, Any]) -> CachedEngine:
    """Return a recognizer whose model is not yet loaded, the same object for the same settings."""
    known = list_backends("asr")
    engine, colon, model = name.partition(":")
    if not colon or name.startswith(DEMO):
        engine, model = "hf", name
    if engine not in known:
        raise SpeechIQError(
            f"{RECOGNIZER}={name}", f"no recognizer engine {engine!r}", f"known are {', '.join(sorted(known))}"
        )
    opened = open_engine("asr", engine, model, options, prefix=PREFIX, stage="reply transcript")
    if isinstance(opened.engine, Gold):
        raise SpeechIQError(f"{RECOGNIZER}={name}", "does not listen to audio", "name a recognizer")
    return opened


def find_audible(docs: Sequence[Mapping[str, Any]], responses: Sequence[Response]) -> dict[int, SpokenReply]:
    """Return place -> spoken reply of the responses with sound, of docs whose `reply` names a recognizer.

    Digital silence is left out: it has no words, and recognizers may make some up.
    """
    return {
        place: SpokenReply(clip, doc["reply"][RECOGNIZER], doc["reply"].get("options") or {})
        for place, (doc, response) in enumerate(zip(docs, responses, strict=True))
        if "reply" in doc and (clip := response.audio) is not None and clip.samples.any()
    }


def transcribe_replies(replies: Sequence[SpokenReply]) -> list[str]:
    """Return the transcript of each reply; a recognizer is loaded once, and only for new replies."""
    places: dict[CachedEngine, list[int]] = defaultdict(list)
    for place, reply in enumerate(replies):
        places[reply.open()].append(place)
    texts: dict[int, str] = {}
    for engine, own in places.items():
        with counted_as("transcribing replies"):
            responses = engine.transcribe([replies[place].clip for place in own])
        texts |= {place: response.text for place, response in zip(own, responses, strict=True)}
    return [texts[place] for place in range(len(replies))]


class Network(Protocol):
    """Define a network that rates speech."""

    def rate(self, samples: np.ndarray) -> float:
        """Return the opinion score of one sound: float32, shape (samples,), mono, 16 kHz."""


class Rater(NamedTuple):
    """Describe a network that rates speech, not yet loaded; scores depend on name and sha256 of the file of weights."""

    name: str
    weights: Path
    sha256: str

    def load(self) -> Network:
        """Return the network on the CPU."""
        if self.name == "utmos":
            from speechiq.engines._shared.opinion_scores import load_utmos

            return load_utmos(self.weights)
        from speechiq.engines._shared.opinion_scores import load_distillmos

        return load_distillmos(self.weights)


def read_rater(setting: Any) -> Rater | None:
    """Return the rater of speech: `distillmos`, `utmos:FILE`, or None for `off`; refuse missing or damaged weights."""
    if setting == OFF:
        return None
    name, _, place = str(setting).partition(":")
    if name not in _FINDERS:
        raise SpeechIQError(
            f"{QUALITY}={setting!s:.80}", "unknown", f"{did_you_mean(name, [*_FINDERS, OFF])}known are {KNOWN}"
        )
    weights = _FINDERS[name](place)
    state = weights.stat()
    return Rater(name, weights, _hash(weights, state.st_size, state.st_mtime_ns))


def rater_of(doc: Mapping[str, Any]) -> Rater | None:
    """Return the rater of the reply to a doc; refuse weights that changed since the doc was made."""
    rater = read_rater(doc["reply"][QUALITY])
    if rater is not None and rater.sha256 != doc[SHA256]:
        raise SpeechIQError(f"{QUALITY}={doc['reply'][QUALITY]}", "the file was changed during the run", "run it again")
    return rater


def speech_quality(clips: Sequence[Clip], rater: Rater) -> list[float]:
    """Return the predicted opinion score of each clip: 1 to 5, NaN for silence and for less than 0.1 s."""

    def compute(new: list[Clip], on_result: OnResult) -> None:
        network = rater.load()
        seconds = sum(clip.duration for clip in new)
        bar = progress_bar(total=len(new), verb=f"{rater.name} rating speech", unit="clip")
        with bar, measured("rating replies", seconds):
            for place, clip in enumerate(new):
                on_result([place], [rate(clip.samples, network)])
                usage["speech_ratings"] += 1
                bar.update()

    stage = {"stage": "speech quality", "model": rater.name, "weights_sha256": rater.sha256}
    rows = cached(open_cache(stage), clips, lambda clip: clip.key, compute, float | None)
    return [math.nan if row is None else float(row) for row in rows]


def rate(samples: np.ndarray, network: Network) -> float | None:
    """Return the score of samples (float32, mono, 16 kHz); None for silence, too few, or not finite values."""
    if len(samples) < SHORTEST_S * SAMPLING_RATE or not np.isfinite(samples).all() or not samples.any():
        return None
    score = network.rate(samples)
    return score if math.isfinite(score) else None


@cache
def _hash(file: Path, size: int, changed: int) -> str:
    """Return the sha256 of a file; it is read again if its size or time of change differs."""
    return hash_file(file)


def _find_distillmos(place: str) -> Path:
    if place:
        raise SpeechIQError(f"{QUALITY}=distillmos:{place}", "takes no file", f"write {QUALITY}=distillmos")
    file = Path(resolve(DISTILLMOS), "model.safetensors")
    if not is_file(file):
        raise SpeechIQError(QUALITY, f"{DISTILLMOS} was not fetched", "run `siq demo fetch distillmos` (16 MB)")
    return file


def _find_utmos(place: str) -> Path:
    if not place:
        raise SpeechIQError(
            f"{QUALITY}=utmos",
            "names no weights",
            f"download {UTMOS_FILE} from {UTMOS_PAGE} and write {QUALITY}=utmos:FOLDER/{UTMOS_FILE}",
        )
    from speechiq.engines._shared.opinion_scores import check_utmos

    file = expand(place)
    check_utmos(file)
    return file


#: Name of a network -> what finds and checks the file of its weights.
_FINDERS: dict[str, Callable[[str], Path]] = {"distillmos": _find_distillmos, "utmos": _find_utmos}


class Reply(Filter):
    """Transcribe, judge and rate the replies to all docs of a task, as an lm-eval filter; all name the same models."""

    def apply(self, resps: Iterable[str], docs: Sequence[Mapping[str, Any]]) -> list[JudgedItem]:
        """Return an item per reply: texts, transcripts, audio, scores and what the judge wrote."""
        responses = [response_of(text) for text in resps]
        if not responses:
            return []
        judging, rater = judging_of(docs[0]), rater_of(docs[0])
        spoken = [place for place, response in enumerate(responses) if response.audio is not None]
        clips = [clip for place in spoken if (clip := responses[place].audio)]
        audible = find_audible(docs, responses)
        found = transcribe_replies(list(audible.values()))
        transcripts = dict.fromkeys(spoken, "") | dict(zip(audible, found, strict=True))
        quality = dict(zip(spoken, speech_quality(clips, rater), strict=True)) if rater else {}
        cases = [case_of(doc, response.text) for doc, response in zip(docs, responses, strict=True)]
        cases += [case_of(docs[place], transcripts[place]) for place in spoken]
        judgments = judge_cases(cases, judging)
        written, of_speech = judgments[: len(responses)], dict(zip(spoken, judgments[len(responses) :], strict=True))
        return [
            _item(response, transcripts.get(place), of_speech.get(place), written[place], quality.get(place))
            for place, response in enumerate(responses)
        ]


def _item(
    response: Response, transcript: str | None, of_speech: Judgment | None, written: Judgment, quality: float | None
) -> JudgedItem:
    judged = of_speech or written
    return JudgedItem(
        answer=response.text if transcript is None else transcript,
        written=response.text,
        audio=None if response.audio is None else _describe(response.audio),
        **as_stored(judged),
        **as_stored(written, "_written"),
        speech_quality=None if quality is None or math.isnan(quality) else quality,
        coverage=response.coverage,
    )


def stored_cases(doc: Mapping[str, Any], item: Mapping[str, Any]) -> list[Case]:
    """Return the texts of a stored item of `Reply` to judge again: of the speech, then of the writing."""
    return [case_of(doc, str(item["answer"])), case_of(doc, str(item["written"]))]


def renew(item: Mapping[str, Any], judgments: Sequence[Judgment]) -> JudgedItem:
    """Return a stored item of `Reply` with the judgments of its cases in `stored_cases`; audio and texts stay."""
    of_speech, written = judgments
    coverage = {"coverage": math.nan if item["coverage"] is None else item["coverage"]}
    return JudgedItem(dict(item) | as_stored(of_speech) | as_stored(written, "_written") | coverage)


def _describe(clip: Clip) -> dict[str, Any]:
    """Return the items of a stored clip, in the form of a doc's audio."""
    path = clip.source.path if isinstance(clip.source, AudioFile) else ""
    return {"path": path, "sha256": clip.source.sha256, "duration": clip.duration}


@returns(
    higher("judge_points", "judge", "text_score", "speech_gap", "judge_agreement", aggregation=mean),
    lower("unjudged"),
    lower("speech_text_wer", aggregation=mean),
    higher("speech_quality", aggregation=mean),
    lower("response_seconds", aggregation=mean),
    lower("words"),
    higher("spoken"),
    lower("silent", "not_english", "refusal", "empty_answer"),
    higher("keyword_share", aggregation=mean),
    higher("audio_coverage"),
)
def score(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one reply, an item of `Reply`; the `process_results` of tasks with spoken replies.

    Its columns are `judge_points` (what was spoken, on the rubric's scale; what was written, if nothing was spoken),
    `judge` (the same as a share of the scale), `text_score` (what was written), `speech_gap` (spoken - written; NaN if
    nothing was spoken), `judge_agreement`, `unjudged`, `speech_text_wer` (word error rate of the transcript against the
    written text; NaN without both), `speech_quality` (opinion score 1 to 5; NaN for silence), `response_seconds` (NaN
    if nothing was spoken), `words`, `spoken`, `silent` (spoken, but without a word), `not_english`, `refusal`,
    `empty_answer`, `keyword_share` (share of `keywords` of the doc), `audio_coverage`.

    >>> item = {"answer": "the red car", "written": "The red car.", "audio": {"duration": 1.5}, "scores": [7.0],
    ...         "texts": [""], "scores_written": [8.0], "texts_written": [""], "speech_quality": 3.5, "coverage": 1.0}
    >>> row = score({"judging": {"scale": [1, 10]}, "keywords": ["red", "car|auto"]}, [item])
    >>> row["judge_points"], row["speech_gap"], row["speech_text_wer"], row["response_seconds"], row["keyword_share"]
    (7.0, -1.0, 0.0, 1.5, 1.0)
    """
    item = results[0]
    answer, written = str(item["answer"]), str(item["written"])
    audio, quality = item["audio"], item["speech_quality"]
    judged, is_spoken = score_judgment(doc, item), audio is not None
    points_written = mean(value for value in item["scores_written"] if value is not None)
    return {
        **judged,
        "text_score": points_written,
        "speech_gap": judged["judge_points"] - points_written if is_spoken else math.nan,
        "speech_text_wer": wer(written, answer) if is_spoken and normalize(written) else math.nan,
        "speech_quality": math.nan if quality is None else float(quality),
        "response_seconds": float(audio["duration"]) if is_spoken else math.nan,
        "words": float(len(normalize(answer).split())),
        "spoken": float(is_spoken),
        "silent": float(is_spoken and judged["empty_answer"]),
        "not_english": float(not is_english(answer)),
        "keyword_share": count_keywords(answer, tuple(doc.get("keywords") or ())),
        "audio_coverage": float(item["coverage"]),
    }


def is_english(text: str) -> bool:
    """Return whether a text is in English, or too short to decide, by py3langid.

    Only a clear finding counts: short replies in Latin letters have no certain language, and count as English.

    >>> is_english("Take the bus to Paris."), is_english("Der Zug fährt um acht Uhr ab."), is_english("Hola.")
    (True, False, True)
    >>> is_english("我不知道"), is_english("")
    (False, True)
    """
    letters = [char for char in text if char.isalpha()]
    latin = sum(char < "\u0250" for char in letters)
    if latin < len(letters) / 2:
        return False
    if len(text.split()) < FEWEST_WORDS:
        return True
    return not is_other_language(text, "en")
