import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch.systems.spec import parse
from speechiq.harness_patch.systems.system import Recognizer
from tests.engines import tiny_recognizers
from tests.engines.opener import build

LLM = "demo:SmolLM2-135M-Instruct"


@pytest.mark.parametrize(
    ("spec", "stages"),
    [
        ("openai/whisper-large-v2+Qwen/Qwen2-7B-Instruct", ["hf", "hf"]),
        ("hf:./asr+hf:~/llm", ["hf", "hf"]),
        ("letter:B", ["letter"]),
        ("gold+vllm:Qwen/Qwen2-7B-Instruct", ["gold", "vllm"]),
        ("gold+local-chat-completions:m+sglang:m", ["gold", "local-chat-completions", "sglang"]),
        ("transcripts:runs/google.jsonl+Qwen/Qwen2-7B-Instruct", ["transcripts", "hf"]),
        ("pocketsphinx:en-us+Qwen/Qwen2-7B-Instruct", ["pocketsphinx", "hf"]),
        ("pocketsphinx:+Qwen/Qwen2-7B-Instruct", ["pocketsphinx", "hf"]),
        ("gold", ["gold"]),
    ],
)
def test_a_spec_names_an_engine_and_a_model_a_stage(spec, stages):
    assert [stage.engine for stage in parse(spec)] == stages


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("a+b+c+d", "4 stages, some empty or too many"),
        ("gold+", "2 stages, some empty"),
        ("bogus:tiny+demo:SmolLM2-135M-Instruct", "no engine 'bogus' for the asr stage; known are faster-.*, gold, hf"),
        ("gold+silence", "no engine 'silence' for the llm stage; known are hf, openai, and any model type of lm-eval"),
        ("gold+bogus:x+hf:y", "no engine 'bogus' for the ger stage; known are hf, openai, and any"),
        ("leter:B", r"no engine 'leter' for the audio stage; did you mean letter\? known are hf, openai"),
        (
            "faster-whispr:tiny",
            r"'faster-whispr' for the audio stage; did you mean faster-whisper\? known are hf, openai",
        ),
        ("vllm:x+hf:y", "no engine 'vllm' for the asr stage; known are faster-whisper, gold"),
        ("pocketsphinx+x/y", "pocketsphinx is an engine without a model; write pocketsphinx:en-us"),
        ("pocketsphinx", "pocketsphinx is an engine without a model; write pocketsphinx:en-us"),
        ("gold+hf:demo:x", "hf:demo:x has a shorter name, and systems are compared by their names; write demo:x"),
        ("letter", "not one of the letters A to Z; write, for example, letter:B"),
    ],
)
def test_an_unknown_spec_is_named_with_the_known_ones(spec, message):
    with pytest.raises(SpeechIQError, match=rf"system .*{message}"):
        build(spec)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"asr_beams": 5}, "asr_beams: no such option of the hf engine; it has .*asr_dtype, asr_language, .*asr_peft"),
        ({"llm_answer": "guess"}, "^llm_answer=guess: unknown; known are generate, likelihood, argmax"),
        ({"llm_anwser": "likelihood"}, r"^llm_anwser: no such .* llm_answer, .*; did you mean llm_answer\?$"),
        ({"asr_nbset": 5}, r"^asr_nbset: no such .*; did you mean asr_nbest\?$"),
        ({"dtype": "bfloat16"}, "dtype: no such model argument; .* llm_dtype"),
    ],
)
def test_an_unknown_option_is_named_with_the_known_ones(demo_models, options, message):
    with pytest.raises(SpeechIQError, match=message):
        build("demo:whisper-tiny.en+demo:SmolLM2-135M-Instruct", **options)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (f"{LLM}+{LLM}", "a llama checkpoint is not a speech recognizer"),
        ("demo:whisper-base+demo:whisper-base", "a whisper checkpoint is not a language model; check the order of"),
        ("./nowhere+demo:SmolLM2-135M-Instruct", "no folder with a config.json"),
        ("letter:1", "letter:1: not one of the letters A to Z"),
        ("letter:", "letter:: not one of the letters A to Z"),
        ("transcripts:nowhere.jsonl+demo:SmolLM2-135M-Instruct", "transcripts:nowhere.jsonl: no such file"),
        ("mine.csv+demo:SmolLM2-135M-Instruct", "mine.csv is a file; name transcripts as transcripts:mine.csv"),
        ("mine.jsonl", "mine.jsonl is a file; name transcripts as transcripts:mine.jsonl$"),
        ("pocketsphinx:de-de+demo:SmolLM2-135M-Instruct", "only the bundled model is known"),
    ],
)
def test_a_checkpoint_of_the_wrong_kind_is_refused_before_it_is_loaded(demo_models, spec, message):
    with pytest.raises(SpeechIQError, match=message):
        build(spec)


def test_a_system_without_stages_has_no_options():
    with pytest.raises(SpeechIQError, match=r"^bogus: no such model argument; letter:B has none"):
        build("letter:B", bogus=1)


def test_demo_is_the_tiny_system_whole(demo_models):
    description = build("demo").describe()
    assert (description["asr"]["model"], description["llm"]["model"]) == ("demo:whisper-tiny.en", LLM)
    assert description["answering"]["way"] == "likelihood"
    assert build("demo", llm_answer="generate").describe()["answering"]["way"] == "generate"


def test_a_corrector_implies_an_n_best_list_where_the_recognizer_has_one(demo_models):
    corrected = f"demo:whisper-tiny.en+{LLM}+{LLM}"
    assert build(corrected).describe()["asr"]["nbest"] == 5
    assert build(corrected, asr_nbest=3).describe()["asr"]["nbest"] == 3
    description = build(f"gold+{LLM}+{LLM}").describe()["asr"]
    assert description["control"] == "gold" and description["corrector"]["tokens_beside"] == 64


@pytest.mark.parametrize(
    ("spec", "role"),
    [
        ("openai:gpt-4o-transcribe", "asr"),
        ("openai:Systran/faster-whisper-small", "asr"),
        ("openai:gpt-4o-audio-preview", "audio"),
        ("faster-whisper:large-v3", "asr"),
        ("Qwen/Qwen2-Audio-7B-Instruct", "audio"),
        ("openai/whisper-large-v3", "audio"),
    ],
)
def test_one_stage_is_an_audio_model_unless_its_name_says_that_it_only_transcribes(spec, role):
    assert [stage.role for stage in parse(spec)] == [role]


@pytest.mark.parametrize("kind", ["whisper", "wav2vec2"])
def test_the_config_of_a_checkpoint_says_that_it_is_a_recognizer(tiny_cascade, tmp_path, kind):
    folder = tiny_cascade.asr if kind == "whisper" else tiny_recognizers.save(kind, tmp_path)
    system = build(str(folder), asr_dtype="float32")
    assert isinstance(system, Recognizer) and system.describe()["kind"] == "recognizer"


@pytest.mark.parametrize("name", ["llm_answer", "asr_answer", "dtype", "speaks"])
def test_an_option_that_a_recognizer_alone_does_not_have_is_refused(name):
    with pytest.raises(SpeechIQError, match=f"^{name}: no such .*"):
        build("gold", **{name: "likelihood"})


def test_a_recognizer_alone_names_the_language_model_that_an_option_needs():
    with pytest.raises(SpeechIQError) as error:
        build("gold", llm_answer="likelihood")
    assert str(error.value) == (
        "llm_answer: no such model argument: gold is a recognizer, whose options begin with asr_; correct it, or add a "
        "language model: gold+LLM"
    )
