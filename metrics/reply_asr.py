"""Transcribe spoken replies by a recognizer of the user's choice, once, or several times if its texts differ.

WildSpeech-Bench transcribes each reply three times (section 2.2): its authors' program makes up to ten rounds until
three have no loop, and takes the first three if all have one. A recognizer that samples (`reply_asr_temperature`) has a
seed for each round; one that does not would write the same text again, so that it makes one round.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from speechiq.core.checkpoints.names import DEMO
from speechiq.core.clip import Clip
from speechiq.core.errors import SpeechIQError
from speechiq.core.response import Response
from speechiq.core.suggestions import suggest
from speechiq.core.usage import counted_as
from speechiq.engines.asr.controls import Gold
from speechiq.engines.cached import CachedEngine
from speechiq.engines.options import OpenOptions, pick_prefixed, read_options
from speechiq.engines.registry import list_backends
from speechiq.metrics.judge.judging import say_first
from speechiq.metrics.models import open_engine

RECOGNIZER, PREFIX = "reply_asr", "reply_asr_"
#: Most rounds, those with a loop included.
MOST_ROUNDS = 10
#: Number of equal sentences in a row that are a loop, and characters of the shortest sentence that counts.
LOOP, SHORTEST = 3, 4
_SENTENCE_END = re.compile(r"[.!?]")


class ReplyAsrOptions(OpenOptions, frozen=True, kw_only=True):
    """Define the options of the recognizer of replies; all others are options of its engine."""

    rounds: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_ROUNDS,
            description="Transcripts of each reply, each of them judged; more than one need a recognizer that samples "
            "([rounds](../how-to/spoken_replies.md#several-transcripts-of-a-reply)).",
        ),
    ] = 1


class SpokenReply(NamedTuple):
    """Hold a reply with sound, in a form that can be sent between processes, and the recognizer that transcribes it.

    `rounds` is the number of transcripts that the user wants.
    """

    clip: Clip
    recognizer: str
    options: Mapping[str, Any]
    rounds: int = 1

    def open(self, number: int = 0) -> CachedEngine:
        """Return the recognizer of a round, which counts from 0; see `open_reply_asr`."""
        return open_reply_asr(self.recognizer, _seeded(self.options, number))

    def keep(self, transcripts: Sequence[str]) -> None:
        """Add transcripts that another process made, one per round, to the response cache of this process."""
        for number, transcript in enumerate(transcripts):
            self.open(number).keep("transcribe", self.clip, result=Response(transcript))

    def needs(self, transcripts: Sequence[str]) -> bool:
        """Return whether another round is needed after those that gave some transcripts."""
        if not transcripts or self.rounds == 1:
            return not transcripts
        missing = sum(not has_loop(text) for text in transcripts) < self.rounds
        return missing and len(transcripts) < MOST_ROUNDS and bool(self.open().engine.is_random)

    def choose(self, transcripts: Sequence[str]) -> list[str]:
        """Return the transcripts that are judged: the first ones without a loop, or the first ones if all have one."""
        if self.rounds == 1:
            return list(transcripts[:1])
        kept = [text for text in transcripts if not has_loop(text)]
        return (kept or list(transcripts))[: self.rounds]


def _seeded(options: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return the options of a round: the first one has the user's seed, by default 0, and each has the next one."""
    return {**options, "seed": int(options.get("seed", 0)) + number} if number else options


def has_loop(text: str) -> bool:
    """Return whether a text has the same sentence several times in a row, as recognizers write that lost the thread.

    >>> has_loop("Thank you. Thank you! Thank you."), has_loop("No. No. No. Thank you. Well, thank you.")
    (True, False)
    """
    sentences = [part.strip().lower() for part in _SENTENCE_END.split(text)]
    runs = groupby(sentence for sentence in sentences if len(sentence) >= SHORTEST)
    return any(len(list(run)) >= LOOP for _, run in runs)


def read_reply_asr(name: str, metadata: Mapping[str, Any]) -> ReplyAsrOptions:
    """Return the options `reply_asr_*` of a recognizer, `[ENGINE:]MODEL`, in metadata, after checking both.

    If it does not sample, a line says that several rounds are one.
    """
    options = read_options(ReplyAsrOptions, pick_prefixed(metadata, PREFIX), engine=RECOGNIZER, prefix=PREFIX)
    opened = open_reply_asr(name, options.others)
    if options.rounds > 1 and not opened.engine.is_random:
        _say_one_round(name, options.rounds)
    return options


@cache
def _say_one_round(name: str, rounds: int) -> None:
    say_first(
        f"{PREFIX}rounds={rounds}: {name} writes the same text each time, so each reply is transcribed once; "
        f"{PREFIX}temperature=0.4 lets hf (Whisper) and openai sample, judge_draws={rounds} repeats the judgment"
    )


def open_reply_asr(name: str, options: Mapping[str, Any]) -> CachedEngine:
    """Return a recognizer whose model is not yet loaded, the same object for the same settings."""
    known = list_backends("asr")
    engine, colon, model = name.partition(":")
    if not colon or name.startswith(DEMO):
        engine, model = "hf", name
    if engine not in known:
        raise SpeechIQError(f"{RECOGNIZER}={name}", f"no recognizer engine {engine!r}", suggest(engine, sorted(known)))
    opened = open_engine("asr", engine, model, options, prefix=PREFIX, stage="reply transcript", also=["rounds"])
    if isinstance(opened.engine, Gold):
        raise SpeechIQError(f"{RECOGNIZER}={name}", "does not listen to audio", "name a recognizer")
    return opened


def find_audible(docs: Sequence[Mapping[str, Any]], responses: Sequence[Response]) -> dict[int, SpokenReply]:
    """Return place -> spoken reply of the responses with sound, of docs whose `reply` names a recognizer.

    Digital silence is left out: it has no words, and recognizers may make some up.
    """
    found = {}
    for place, (doc, response) in enumerate(zip(docs, responses, strict=True)):
        clip = response.audio
        if "reply" in doc and clip is not None and clip.samples.any():
            how = doc["reply"]
            found[place] = SpokenReply(clip, how[RECOGNIZER], how.get("options") or {}, how.get("rounds") or 1)
    return found


def transcribe_replies(replies: Sequence[SpokenReply]) -> list[list[str]]:
    """Return the transcripts of each reply, one per round; a recognizer is loaded once a round, for new replies."""
    texts: list[list[str]] = [[] for _ in replies]
    for number in range(MOST_ROUNDS):
        places = [place for place, reply in enumerate(replies) if reply.needs(texts[place])]
        if not places:
            break
        found = _transcribe_round([replies[place] for place in places], number)
        for place, text in zip(places, found, strict=True):
            texts[place].append(text)
    return texts


def _transcribe_round(replies: Sequence[SpokenReply], number: int) -> list[str]:
    places: dict[CachedEngine, list[int]] = defaultdict(list)
    for place, reply in enumerate(replies):
        places[reply.open(number)].append(place)
    texts: dict[int, str] = {}
    for engine, own in places.items():
        with counted_as("transcribing replies"):
            responses = engine.transcribe([replies[place].clip for place in own])
        texts |= {place: response.text for place, response in zip(own, responses, strict=True)}
    return [texts[place] for place in range(len(replies))]
