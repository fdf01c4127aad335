"""The reference of a doc gets to `gold`, and to no other engine."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import msgspec
import pytest
from lm_eval.api.instance import Instance

from speechiq.core.batches import drop
from speechiq.core.response import Response, response_of
from speechiq.engines.asr.checkpoint import CheckpointASR
from speechiq.engines.asr.controls import Gold, Silence, TranscriptFile
from speechiq.engines.asr.openai import OpenAIASR
from speechiq.engines.asr.pocketsphinx import PocketSphinxASR
from speechiq.engines.audio.hf import AudioLLM
from speechiq.engines.audio.openai import AudioEndpoint
from speechiq.engines.text.hf import TransformersLLM
from speechiq.engines.text.lm_eval import LMEvalText
from speechiq.engines.text.openai import OpenAIText
from speechiq.harness_patch.hf_audio import HFAudio
from tests.engines.opener import open_engine
from tests.records import items
from tests.siq_tasks.questions.server import serving

LLM = "demo:SmolLM2-135M-Instruct"
SECRET = "The xylophone was auctioned in Ouagadougou."
RECOGNIZERS = (CheckpointASR, PocketSphinxASR, OpenAIASR, Silence, TranscriptFile)
PROMPTED = (AudioLLM, AudioEndpoint)
WRITES = (TransformersLLM, LMEvalText, OpenAIText, *PROMPTED)


def texts_in(thing, seen):
    """All texts that an object leads to by the package's own objects and plain containers."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, str):
        yield thing
    elif isinstance(thing, Mapping):
        for pair in thing.items():
            yield from texts_in(pair, seen)
    elif isinstance(thing, list | tuple | set | frozenset):
        for part in thing:
            yield from texts_in(part, seen)
    elif is_dataclass(thing):
        yield from texts_in([getattr(thing, field.name) for field in fields(thing)], seen)
    elif isinstance(thing, msgspec.Struct):
        yield from texts_in(msgspec.structs.asdict(thing), seen)
    elif type(thing).__module__.startswith("speechiq."):
        yield from texts_in(vars(thing), seen)


@pytest.fixture
def calls(monkeypatch):
    """What every engine but `gold` was given: each call's engine and arguments. Nothing is computed."""
    calls = []

    def stand_in(kind, verb, answer):
        def run(engine, given, *more, on_result=drop):
            calls.append((verb, engine, given, *more))
            found = [answer(*row) for row in zip(given, *more[:1], strict=True)]
            on_result(range(len(found)), found)
            return found

        monkeypatch.setattr(kind, verb, run)

    for kind in (*RECOGNIZERS, *PROMPTED):
        stand_in(kind, "transcribe", lambda _: Response("so it was", coverage=1.0))
    for kind in PROMPTED:
        stand_in(kind, "coverage", lambda _: 1.0)
    for kind in WRITES:
        stand_in(kind, "generate", lambda _, seeds: ["B"] * len(seeds))
    return calls


def run(system, clip, **options):
    """The texts of one transcript and one answer."""
    model = HFAudio(pretrained=system, device="cpu", store="off", **options)
    doc = {"id": "a", "text": SECRET, "question": "What?"}
    settings = {"until": [], "max_gen_toks": 256}
    asked = {"purpose": "answer", "question": "What?", "options": ["one", "two"]}
    requests = [
        Instance("generate_until", doc, ("<audio>\nWrite.", settings, {"audio": [audio]}), 0, ("task", 0, 1))
        for audio in (items(clip, purpose="transcribe"), items(clip, **asked))
    ]
    return model.generate_until(requests)


@pytest.mark.parametrize(
    "system",
    [
        f"demo:whisper-tiny.en+{LLM}",
        f"demo:whisper-tiny.en+{LLM}+{LLM}",
        f"silence+huggingface:{LLM}",
        f"pocketsphinx:en-us+{LLM}",
        f"transcripts:FILE+{LLM}",
        "openai:scribe+openai:pen",
        "openai:ear",
        "AUDIO",
        f"AUDIO+{LLM}",
    ],
)
def test_no_engine_but_gold_can_get_the_reference(system, calls, tiny_ear, demo_clips, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-4711")
    tmp_path.joinpath("FILE").write_text('{"id": "a", "text": "so it was"}\n')
    system = system.replace("FILE", str(tmp_path / "FILE")).replace("AUDIO", tiny_ear)
    with serving(lambda *_: "B") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        transcript, answer = run(system, demo_clips[0])
    assert (transcript, answer) == ("so it was", "B")
    assert {verb for verb, *_ in calls} >= {"transcribe", "generate"}
    assert not any(hasattr(engine, "references") for _, engine, *_ in calls)
    found = list(texts_in(calls, {}))
    assert demo_clips[0].source.sha256 in found, "the search finds what is there"
    assert not [text for text in found if "xylophone" in text or "Ouagadougou" in text]


def test_gold_gets_it(calls, demo_models, demo_clips):
    transcript, answer = run(f"gold+{LLM}", demo_clips[0])
    assert transcript == SECRET and response_of(transcript).coverage == 1.0 and answer == "B"
    assert hasattr(open_engine(Gold, "", batch_size=1), "references")
    ((_, _, (prompt,), *_),) = calls
    assert SECRET in prompt.text
