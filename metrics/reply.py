"""Score spoken replies: what was spoken, what was written, how clear and how natural it sounds.

`Reply` and `score` are what tasks of lm-eval name. The reply of a system that speaks is transcribed (`reply_asr.py`),
and judged by its transcript (WildSpeech-Bench, section 2.2); what the system wrote is judged as well, which measures
the cost of speaking. A system that only writes is judged on its text, and marked (`spoken` is 0).

The benchmark's replies are in English: by `language_rule=lowest` one in another language gets the lowest points, as in
its authors' program, whatever the judge gave.

A network predicts how people rate the speech: a mean opinion score from 1 (bad) to 5 (excellent) for how it sounds, not
for its words. Models that cannot work are refused before any system runs; they are loaded only for new replies. What
they say is cached on disk, by the content of the clip.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from lm_eval.api.filter import Filter
from msgspec import Meta

from speechiq.core.batches import OnResult
from speechiq.core.cache.stage_cache import cached
from speechiq.core.checkpoints.names import resolve
from speechiq.core.clip import SAMPLING_RATE, Clip
from speechiq.core.console import progress_bar
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import expand, is_file
from speechiq.core.recordings.audio_file import AudioFile, file_sha256
from speechiq.core.response import Response, response_of
from speechiq.core.suggestions import did_you_mean
from speechiq.core.usage import measured, usage
from speechiq.engines.options import Options, only_given
from speechiq.metrics.columns import higher, lower, mean, returns
from speechiq.metrics.judge.free_answers import JudgedItem, as_number, as_stored, case_of, score_judgment
from speechiq.metrics.judge.judging import Case, Judgment, judge_cases
from speechiq.metrics.judge.settings import judging_of, read_judging
from speechiq.metrics.models import open_cache
from speechiq.metrics.reply_asr import (
    PREFIX,
    RECOGNIZER,
    ReplyAsrOptions,
    find_audible,
    read_reply_asr,
    transcribe_replies,
)
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
#: Item of a reply that was transcribed several times; the first transcript is its answer.
TRANSCRIPTS = "transcripts"
#: Length (s) below which nothing can be rated.
SHORTEST_S = 0.1
UTMOS_FILE = "utmos22_strong_step7459_v1.pt"
UTMOS_PAGE = "https://github.com/tarepan/SpeechMOS/releases/tag/v1.0.0"
#: The paper's recognizer (section 2.2).
DEFAULT_ASR = "openai/whisper-large-v3"
RUBRIC = "points_1_10"
LANGUAGE_RULE, LOWEST = "language_rule", "lowest"


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
    language_rule: Annotated[
        Literal["lowest", "off"],
        Meta(
            description="Points of a reply that is certainly not in English: the lowest, or with off what the judge "
            "gave."
        ),
    ] = "off"


#: What the metadata of tasks with spoken replies set, in addition to their judge.
REPLIES = (Subject(ReplySettings), Subject(ReplyAsrOptions, PREFIX))


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that docs and results of spoken replies record; the `read_settings` of the type `reply`.

    The metadata are those of `read_judging`, of `ReplySettings`, and `reply_asr_*`. What they leave out and `off` are
    not recorded.
    """
    settings = read_record(ReplySettings, metadata)
    recognizer, quality = settings.reply_asr, settings.speech_quality
    rater = read_rater(quality)
    asr = read_reply_asr(recognizer, metadata)
    rounds = asr.rounds if asr.rounds > 1 else None
    reply = {RECOGNIZER: recognizer, QUALITY: quality, **only_given(options=asr.others, rounds=rounds)}
    recorded = {RECOGNIZER: recognizer, **({QUALITY: rater.name, SHA256: rater.sha256} if rater else {QUALITY: OFF})}
    rules = {LANGUAGE_RULE: LOWEST} if settings.language_rule == LOWEST else {}
    rules |= only_given(reply_asr_rounds=rounds)
    return read_judging(metadata, RUBRIC).record() | recorded | rules | {"reply": reply}


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
    return Rater(name, weights, file_sha256(weights))


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
    return list(map(as_number, rows))


def rate(samples: np.ndarray, network: Network) -> float | None:
    """Return the score of samples (float32, mono, 16 kHz); None for silence, too few, or not finite values."""
    if len(samples) < SHORTEST_S * SAMPLING_RATE or not np.isfinite(samples).all() or not samples.any():
        return None
    score = network.rate(samples)
    return score if math.isfinite(score) else None


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
        heard: dict[int, list[str]] = {place: [""] for place in spoken}
        for place, texts in zip(audible, transcribe_replies(list(audible.values())), strict=True):
            heard[place] = audible[place].choose(texts)
        quality = dict(zip(spoken, speech_quality(clips, rater), strict=True)) if rater else {}
        cases = [case_of(doc, response.text) for doc, response in zip(docs, responses, strict=True)]
        cases += [case_of(docs[place], text) for place in spoken for text in heard[place]]
        judgments = judge_cases(cases, judging)
        written, rest = judgments[: len(responses)], iter(judgments[len(responses) :])
        of_speech = {place: _join([next(rest) for _ in heard[place]]) for place in spoken}
        return [
            _item(response, heard.get(place), of_speech.get(place), written[place], quality.get(place))
            for place, response in enumerate(responses)
        ]


def _join(judgments: Sequence[Judgment]) -> Judgment:
    """Return the draws of several transcripts of one reply as those of one answer."""
    scores, texts, reasons = (sum(parts, ()) for parts in zip(*judgments, strict=True))
    return Judgment(scores, texts, reasons)


def _item(
    response: Response,
    heard: Sequence[str] | None,
    of_speech: Judgment | None,
    written: Judgment,
    quality: float | None,
) -> JudgedItem:
    judged = of_speech or written
    several = {TRANSCRIPTS: list(heard)} if heard and len(heard) > 1 else {}
    return JudgedItem(
        answer=heard[0] if heard else response.text,
        written=response.text,
        audio=None if response.audio is None else _describe(response.audio),
        **as_stored(judged),
        **as_stored(written, "_written"),
        speech_quality=None if quality is None or math.isnan(quality) else quality,
        coverage=response.coverage,
        **several,
    )


def stored_cases(doc: Mapping[str, Any], item: Mapping[str, Any]) -> list[Case]:
    """Return the texts of a stored item of `Reply` to judge again: each transcript, then what was written."""
    heard = item.get(TRANSCRIPTS) or [item["answer"]]
    return [case_of(doc, str(text)) for text in (*heard, item["written"])]


def renew(item: Mapping[str, Any], judgments: Sequence[Judgment]) -> JudgedItem:
    """Return a stored item of `Reply` with the judgments of its cases in `stored_cases`; audio and texts stay."""
    *of_speech, written = judgments
    coverage = {"coverage": as_number(item["coverage"])}
    return JudgedItem(dict(item) | as_stored(_join(of_speech)) | as_stored(written, "_written") | coverage)


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
    lower("answer_words"),
    higher("spoken"),
    lower("silent", "not_english", "refusal", "empty_answer"),
    higher("keyword_share", aggregation=mean),
    higher("audio_coverage"),
)
def score(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one reply, an item of `Reply`; the `process_results` of tasks with spoken replies.

    Its columns are `judge_points` (what was spoken, on the rubric's scale; what was written, if nothing was spoken),
    `judge` (the same as a share of the scale), `text_score` (what was written), `speech_gap` (spoken - written; NaN if
    nothing was spoken), `judge_agreement` (of the judge, whatever the language), `unjudged`, `speech_text_wer` (word
    error rate of the transcript against the written text; NaN without both), `speech_quality` (opinion score 1 to 5;
    NaN for silence), `response_seconds` (NaN if nothing was spoken), `answer_words`, `spoken`, `silent` (spoken, but
    without a word), `not_english`, `refusal`, `empty_answer`, `keyword_share` (share of `keywords` of the doc),
    `audio_coverage`.

    >>> item = {"answer": "the red car", "written": "The red car.", "audio": {"duration": 1.5}, "scores": [7.0],
    ...         "texts": [""], "scores_written": [8.0], "texts_written": [""], "speech_quality": 3.5, "coverage": 1.0}
    >>> row = score({"judging": {"scale": [1, 10]}, "keywords": ["red", "car|auto"]}, [item])
    >>> row["judge_points"], row["speech_gap"], row["speech_text_wer"], row["response_seconds"], row["keyword_share"]
    (7.0, -1.0, 0.0, 1.5, 1.0)
    """
    item = results[0]
    answer, written = str(item["answer"]), str(item["written"])
    audio = item["audio"]
    judged, is_spoken = score_judgment(doc, item), audio is not None
    if _breaks_rule(doc, answer):
        judged |= {"judge_points": float(doc["judging"]["scale"][0]), "judge": 0.0, "unjudged": 0.0}
    points_written = mean(value for value in item["scores_written"] if value is not None)
    if _breaks_rule(doc, written):
        points_written = float(doc["judging"]["scale"][0])
    return {
        **judged,
        "text_score": points_written,
        "speech_gap": judged["judge_points"] - points_written if is_spoken else math.nan,
        "speech_text_wer": wer(written, answer) if is_spoken and normalize(written) else math.nan,
        "speech_quality": as_number(item["speech_quality"]),
        "response_seconds": float(audio["duration"]) if is_spoken else math.nan,
        "answer_words": float(len(normalize(answer).split())),
        "spoken": float(is_spoken),
        "silent": float(is_spoken and judged["empty_answer"]),
        "not_english": float(not is_english(answer)),
        "keyword_share": count_keywords(answer, tuple(doc.get("keywords") or ())),
        "audio_coverage": float(item["coverage"]),
    }


def _breaks_rule(doc: Mapping[str, Any], text: str) -> bool:
    return doc.get(LANGUAGE_RULE) == LOWEST and not is_english(text)


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
