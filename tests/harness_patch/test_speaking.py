"""Systems with a voice: what is spoken, when, and what is refused before anything runs."""

from contextlib import contextmanager

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.core.usage import usage
from speechiq.engines.cached import CachedEngine
from speechiq.engines.speech.hf import TransformersSpeech
from speechiq.harness_patch.systems.answering import REPLY, Generate, Question
from speechiq.harness_patch.systems.system import Speaking
from tests.core.recordings import in_clip_folder
from tests.engines.opener import build, open_engine
from tests.records import named


class Writes:
    """A model that answers each prompt with fixed texts."""

    hears = True

    def __init__(self):
        self.log = []

    @contextmanager
    def keep_loaded(self):
        self.log.append("loaded")
        yield
        self.log.append("freed")

    def generate(self, prompts, seeds, settings):
        return [[f"answer {k}" for k, _ in enumerate(row)] for row in seeds]

    def coverage(self, prompts):
        return [1.0] * len(prompts)

    def describe(self):
        return {"kind": "audio"}


@pytest.fixture
def speaking(tiny_voice, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    return lambda: speak(Writes(), CachedEngine(open_engine(TransformersSpeech, tiny_voice), tmp_path / "store"))


def speak(model, voice):
    return Speaking(model, Generate("answer"), 1, voice)


def ask(name, purpose):
    return Question(Prompt.about("<audio>", [named(name)]), {}, purpose=purpose)


def test_only_replies_are_spoken_and_a_rerun_speaks_nothing(speaking):
    questions = [ask("0", REPLY), ask("1", "answer")]
    before = usage["spoken_texts"]
    (first, second), (silent, _) = speaking().answer(questions, 2)
    assert usage["spoken_texts"] - before == 2
    assert in_clip_folder(first.audio.source)
    assert first.audio != second.audio and (first.text, first.coverage) == ("answer 0", 1.0)
    assert silent.audio is None
    assert speaking().answer(questions, 2)[0] == [first, second] and usage["spoken_texts"] - before == 2
    assert speaking().answer([ask("1", "answer")], 1)[0][0].audio is None
    assert speaking().describe()["speaks"]["model_type"] == "vits"


BAD = {
    "no engine": ("slt", "speaks=slt: not a voice; write ENGINE:MODEL"),
    "own": ("own", "speaks=own: a recognizer with a language model has no voice of its own; give speaks=ENGINE:MODEL"),
    "no model": ("flite:", "speaks=flite:: not a voice"),
    "unknown engine": ("festival:kal", "festival"),
    "missing voice": ("hf:./no/such/voice", "no/such/voice"),
}


@pytest.mark.parametrize(("voice", "message"), BAD.values(), ids=BAD)
def test_a_voice_that_cannot_speak_is_refused_in_one_line(voice, message):
    with pytest.raises(SpeechIQError) as refused:
        build("gold+a/model", speaks=voice)
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_missing_program_and_options_without_a_voice_are_refused():
    with pytest.raises(SpeechIQError, match=r"flite: no program 'no/flite'.*speaks_program=PATH"):
        build("gold+a/model", speaks="flite:slt", speaks_program="no/flite")
    line = "speaks_dtype: the system does not speak; give speaks=ENGINE:MODEL or speaks=own"
    with pytest.raises(SpeechIQError, match=line):
        build("gold+a/model", speaks_dtype="float16")


class Speaks:
    """Act as a voice, and record when it speaks."""

    def __init__(self, log):
        self.log = log

    def speak(self, texts, seeds):
        self.log.append("speaks")
        return [named(text) for text in texts]


def test_the_model_that_writes_is_freed_before_the_voice_is_loaded():
    system = Writes()
    speaking = speak(system, Speaks(system.log))
    with speaking.keep_loaded():
        speaking.answer([ask("0", REPLY)], 1)
    assert system.log == ["loaded", "freed", "speaks"]
