"""Score spoken replies: what was spoken, what was written, how clear and how natural it sounds.

`Reply` and `score` are what tasks of lm-eval name. The reply of a system that speaks is transcribed by a recognizer of
the user's choice and judged by its transcript (WildSpeech-Bench, section 4); what the system wrote is judged as well,
which measures the cost of speaking. A system that only writes is judged on its text, and marked (`spoken` is 0).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from lm_eval.api.filter import Filter
from msgspec import Meta

from speechiq.core.clip import Clip
from speechiq.core.recordings.audio_file import AudioFile
from speechiq.core.response import Response, response_of
from speechiq.engines.options import OpenOptions, Options
from speechiq.metrics.columns import higher, lower, mean, returns
from speechiq.metrics.judge.free_answers import JudgedItem, as_stored, case_of, score_judgment
from speechiq.metrics.judge.judging import Case, Judgment, judge_cases
from speechiq.metrics.judge.settings import judging_of, read_judging
from speechiq.metrics.reply.rater import DEFAULT, OFF, SHA256, rater_of, read_rater, speech_quality
from speechiq.metrics.reply.rater import KEY as QUALITY
from speechiq.metrics.reply.transcript import DEFAULT as DEFAULT_ASR
from speechiq.metrics.reply.transcript import KEY, PREFIX, find_audible, read_reply_asr, transcribe_replies
from speechiq.metrics.rules.exact_match import count_keywords
from speechiq.metrics.settings import Subject, Text, read_record
from speechiq.metrics.words.normalizer import normalize
from speechiq.metrics.words.units import FEWEST_WORDS, is_other_language
from speechiq.metrics.words.wer import wer

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
    ] = DEFAULT


#: What the metadata of tasks with spoken replies set, in addition to their judge.
REPLIES = (Subject(ReplySettings), Subject(OpenOptions, PREFIX))


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what docs and results of a task with spoken replies record; the `read_settings` of the type `reply`.

    The metadata are those of `read_judging`, `reply_asr`, `reply_asr_*` and `speech_quality` (see `read_rater`).
    """
    settings = read_record(ReplySettings, metadata)
    recognizer, quality = settings.reply_asr, settings.speech_quality
    rater = read_rater(quality)
    options = read_reply_asr(recognizer, metadata)
    reply = {KEY: recognizer, QUALITY: quality} | ({"options": options} if options else {})
    recorded = {KEY: recognizer, **({QUALITY: rater.name, SHA256: rater.sha256} if rater else {QUALITY: OFF})}
    return read_judging(metadata, RUBRIC).record() | recorded | {"reply": reply}


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
    """Return what is judged about a stored item of `Reply`, to judge it again: the speech, then the text."""
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
