"""Test audio models end to end: tiny ones of real architectures, as a user runs them and against transformers."""

import json
import math
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import soundfile
import torch
from transformers import (
    AutoModelForMultimodalLM,
    AutoModelForSeq2SeqLM,
    AutoProcessor,
    Qwen2_5OmniThinkerForConditionalGeneration,
)

from speechiq.core.cache.stages import list_stages
from speechiq.core.clip import SAMPLING_RATE
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.core.usage import recording, usage
from speechiq.engines.audio import hf as audio_llm
from speechiq.engines.audio.hf import AudioLLM
from tests import runs
from tests.engines import tiny
from tests.engines.opener import open_engine
from tests.records import texts

pytestmark = pytest.mark.slow

SLIDING = {"use_sliding_window": True, "sliding_window": 48, "max_window_layers": 1}
KINDS = {"qwen2_audio": {}, "voxtral": {}, "audioflamingo3": {}, "qwen2_audio sliding": SLIDING}
#: Its processor wants torchvision, which `test_audio_llm_omni.py` brings.
KINDS |= {"qwen2_5_omni": {}} if find_spec("torchvision") else {}
LOADERS = {"audioflamingo3": AutoModelForSeq2SeqLM, "qwen2_5_omni": Qwen2_5OmniThinkerForConditionalGeneration}
QUESTIONS = ["Who speaks?", "What is the speech about, in the speaker's own words?", "Why?"]
CONTINUATIONS = [" a man", " nobody at all", " rain"]
SAMPLED = {"do_sample": True, "max_gen_toks": 6}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, demo_models):
    """Return a function that makes a tiny checkpoint once and returns its folder."""
    made = {}

    def get(name, **changes):
        key = name, *changes.items()
        if key not in made:
            made[key] = tiny.make(name, tmp_path_factory.mktemp(name), **changes)
        return made[key]

    return get


@pytest.fixture(params=KINDS)
def folder(request, checkpoint):
    return checkpoint(request.param.split()[0], **KINDS[request.param])


@pytest.fixture(scope="module")
def clips(demo_clips):
    """Return beginnings of clips, of unequal lengths below every model's window."""
    return [clip.part(0.0, 1.5 + i) for i, clip in enumerate(demo_clips[:3])]


def write_down(clips):
    return [Prompt.about("<audio>\nWrite down what is said.", [clip]) for clip in clips]


def ask(clips):
    return [
        Prompt.about(f"Here is a speech:\n<audio>\n{question}", (clip,)) for clip in clips for question in QUESTIONS
    ]


def seeds(prompts, n):
    return [[100 * i + j for j in range(n)] for i in range(len(prompts))]


@cache
def load(folder, **options):
    """Return an engine, one for all tests with these options: its processor takes a second to read."""
    return open_engine(AudioLLM, folder, **{"batch_size": 8} | options)


def evaluate(system, **options):
    return runs.evaluate("hf-audio", ["siq_demo_remember", "siq_demo_apply"], model_args=system, **options)


def test_timed_answers_are_those_of_batches_and_each_encodes_its_clip(checkpoint, clips):
    prompts = ask(clips[:2])
    plain = load(checkpoint("qwen2_audio")).generate(prompts, seeds(prompts, 2), SAMPLED)
    before = usage["encoded_clips"]
    with recording() as recorder:
        assert load(checkpoint("qwen2_audio")).generate(prompts, seeds(prompts, 2), SAMPLED) == plain
    assert usage["encoded_clips"] - before == len(prompts) == len(recorder.latencies)
    assert all(0 < times.first_token < times.total for times in recorder.latencies.values())


@pytest.mark.parametrize(
    ("name", "way"), [("qwen2_audio", "generate"), ("voxtral", "generate"), ("audioflamingo3", "likelihood")]
)
def test_a_model_is_run_by_the_harness(checkpoint, name, way):
    results = evaluate({"pretrained": checkpoint(name), "answer": way}, limit=2, gen_kwargs="max_gen_toks=8")
    system = results["config"]["siq"]["system"]
    assert system["kind"] == "end to end" and system["answering"]["way"] == way
    assert json.dumps(system) and ("sampling" in system) is (way == "generate")
    for rows in results["samples"].values():
        for row in rows:
            assert all(math.isfinite(row[metric]) for metric in row["metrics"])
            assert row["audio_coverage"] == 1.0
    for row in results["samples"]["siq_demo_apply"]:
        (answers,) = row["resps"]
        assert len(answers) == 5 and (len(set(answers)) > 1 or way == "likelihood")


def test_as_a_recognizer_it_is_asked_for_transcripts_alike_on_all_levels(
    checkpoint, tiny_cascade, tmp_path, monkeypatch
):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    system = {"pretrained": f"{checkpoint('qwen2_audio')}+{tiny_cascade.llm}", "llm_answer": "likelihood"}
    results = evaluate(system, samples={"siq_demo_remember": [0, 1, 2], "siq_demo_apply": [0, 3, 6]})
    remembered, applied = (results["samples"][f"siq_demo_{level}"] for level in ("remember", "apply"))
    assert [row["doc"]["audio"]["sha256"] for row in applied] == [row["doc"]["audio"]["sha256"] for row in remembered]
    (asr,) = (stage for stage in list_stages(tmp_path) if stage.stage["stage"] == "audio")
    kept = "".join(file.read_text() for file in asr.folder.glob("*.jsonl"))
    written = {row["filtered_resps"][0] for row in remembered}
    assert asr.rows == len(written) == 3 and all(json.dumps(text) in kept for text in written)
    assert results["config"]["siq"]["usage"]["encoded_clips"] == 6, "two chunks per clip"


def test_answers_and_transcripts_depend_on_clip_and_seed_not_on_the_batch(folder, clips):
    prompts = ask(clips)
    together, alone = load(folder), load(folder, batch_size=1)
    transcripts = together.transcribe(write_down(clips))
    assert transcripts == alone.transcribe(write_down(clips)) and len(set(transcripts)) > 1
    answers = together.generate(prompts, seeds(prompts, 5), SAMPLED)
    assert answers == alone.generate(prompts, seeds(prompts, 5), SAMPLED)
    assert all(len(five) == 5 for five in answers) and len({tuple(five) for five in answers}) == len(prompts)
    scores, scores_alone = (
        [scored.logprob for group in model.loglikelihood(prompts, [CONTINUATIONS] * 9) for scored in group]
        for model in (together, alone)
    )
    assert scores == pytest.approx(scores_alone, abs=1e-3) and all(map(math.isfinite, scores))


@torch.inference_mode()
def test_texts_and_likelihoods_are_those_of_transformers_itself(folder, clips, tmp_path):
    prompts = ask(clips[1:])
    engine = load(folder)
    found = engine.generate(prompts, seeds(prompts, 1), {"do_sample": False, "max_gen_toks": 6})
    scored = engine.loglikelihood(prompts, [CONTINUATIONS] * len(prompts))
    auto = next((loader for name, loader in LOADERS.items() if name in folder), AutoModelForMultimodalLM)
    model, processor = auto.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)
    for prompt, (text,), scores in zip(prompts, found, scored, strict=True):
        soundfile.write(tmp_path / "clip.wav", prompt.clips[0].samples, SAMPLING_RATE)
        before, after = prompt.text.split("<audio>")
        audio = {"type": "audio", "path": str(tmp_path / "clip.wav")}
        content = [{"type": "text", "text": before}, audio, {"type": "text", "text": after}]
        inputs = processor.apply_chat_template(
            [[{"role": "user", "content": content}]], return_tensors="pt",
            **({} if "voxtral" in folder else {"add_generation_prompt": True, "tokenize": True, "return_dict": True}),
        )  # fmt: skip
        output = model.generate(**inputs, max_new_tokens=6, do_sample=False)
        start = inputs["input_ids"].shape[1]
        assert text == processor.tokenizer.decode(output[0, start:], skip_special_tokens=True)
        for continuation, score in zip(CONTINUATIONS, scores, strict=True):
            more = torch.tensor([processor.tokenizer(continuation, add_special_tokens=False).input_ids])
            inputs["input_ids"] = torch.cat([inputs["input_ids"][:, :start], more], 1)
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
            logprobs = model(**inputs).logits[0, start - 1 : -1].log_softmax(-1)
            assert score.logprob == pytest.approx(logprobs.gather(1, more.T).sum().item(), abs=1e-3)
            assert score.is_greedy == torch.equal(logprobs.argmax(-1), more[0])


def test_transcripts_that_are_cut_off_are_counted(checkpoint, clips, monkeypatch, caplog):
    engine = load(checkpoint("qwen2_audio"))
    monkeypatch.setattr(audio_llm, "TOKENS_BESIDE", 0)
    monkeypatch.setattr(audio_llm, "TOKENS_PER_S", 200)
    whole = engine.transcribe(write_down(clips))
    caplog.clear()
    monkeypatch.setattr(audio_llm, "TOKENS_PER_S", 20)
    cut = engine.transcribe(write_down(clips))
    assert all(text.startswith(beginning) for text, beginning in zip(texts(whole), texts(cut), strict=True))
    count = sum(text != beginning for text, beginning in zip(whole, cut, strict=True))
    assert 0 < count < len(clips) and count == sum(transcript.at_limit for transcript in cut)
    assert caplog.messages == [
        f"{engine.checkpoint.name} transcribing: {count} of 3 transcripts were cut off after 0 tokens and 20 per second"
    ]


def test_a_clip_is_encoded_once_and_read_once_for_its_questions(folder, clips):
    engine, prompts = load(folder), ask(clips)
    usage.clear()
    with engine.keep_loaded():
        engine.transcribe(write_down(clips))
        assert usage["encoded_clips"] == usage["prefills"] == 3
        engine.generate(prompts, seeds(prompts, 5), SAMPLED)
        assert (usage["encoded_clips"], usage["prefills"]) == (3, 6)
        engine.loglikelihood(prompts, [CONTINUATIONS] * 9)
        assert (usage["encoded_clips"], usage["prefills"]) == (3, 9)
    engine.generate(prompts[:1], [[0]], SAMPLED)
    assert usage["encoded_clips"] == 4


def test_prompts_without_clips_are_read_as_text(checkpoint, clips):
    engine = load(checkpoint("qwen2_audio"))
    texts = "Name a colour of <audio>.", "Say something about the sea and the boats."
    mixed = [*ask(clips[:1]), *map(Prompt.about, texts)]
    found = engine.generate(mixed, seeds(mixed, 2), SAMPLED)
    for prompt, row, answers in zip(mixed, seeds(mixed, 2), found, strict=True):
        assert engine.generate([prompt], [row], SAMPLED) == [answers]


def test_the_models_own_sampling_is_used_and_recorded(checkpoint, clips):
    folder = checkpoint("qwen2_audio", initializer_range=0.31)
    defaults = Path(folder, "generation_config.json")
    defaults.write_text(json.dumps(json.loads(defaults.read_text()) | {"top_k": 1, "temperature": 0.7}))
    engine, prompts = load(folder), ask(clips)
    five = engine.generate(prompts, seeds(prompts, 5), SAMPLED)
    assert all(len(set(answers)) == 1 for answers in five)
    expected = {"do_sample": True, "repetition_penalty": 1.3, "temperature": 0.7, "top_k": 1}
    assert engine.sampling(SAMPLED) == expected
    free = engine.generate(prompts, seeds(prompts, 5), SAMPLED | {"top_k": 50})
    assert any(len(set(answers)) > 1 for answers in free)


@pytest.fixture(scope="module")
def long_clip(demo_clips):
    return max(demo_clips, key=lambda clip: clip.duration)


def test_a_clip_beyond_the_window_is_split_into_chunks(checkpoint, long_clip):
    engine = load(checkpoint("qwen2_audio"))
    chunks = engine.inputs.limits.chunks(long_clip)
    assert len(chunks) == 2 and max(chunk.duration for chunk in chunks) <= 30
    assert sum(len(chunk.samples) for chunk in chunks) == len(long_clip.samples)
    assert engine.coverage([Prompt.about("<audio>What?", (long_clip,))]) == [1.0]
    one, two = (
        engine.prompts.ask(engine.inputs.parts(Prompt.about("<audio>What?", (clip,))))
        for clip in (chunks[0], long_clip)
    )
    assert len(two.features["input_features"]) == 2 and len(two.ids) > len(one.ids)
    usage.clear()
    (transcript,) = engine.transcribe(write_down([long_clip]))
    assert usage["encoded_clips"] == 2 and transcript.coverage == 1.0
    assert engine.describe()["longest_chunk_s"] == 30


def test_a_model_that_takes_one_chunk_states_its_coverage(checkpoint, long_clip):
    engine = load(checkpoint("audioflamingo3_of_30_s"))
    prompt = Prompt.about("<audio>What?", (long_clip,))
    assert engine.coverage([prompt]) == [30 / long_clip.duration]
    assert len(engine.inputs.parts(prompt)[0]) == 30 * SAMPLING_RATE
    usage.clear()
    assert engine.transcribe(write_down([long_clip]))[0].coverage == 1.0 and usage["encoded_clips"] == 2


def test_the_context_bounds_what_a_prompt_holds(checkpoint, long_clip):
    engine = load(checkpoint("qwen2_audio", max_position_embeddings=1536))
    prompt = Prompt.about("<audio>What?", (long_clip,))
    (share,) = engine.coverage([prompt])
    assert 0.3 < share < 0.6
    fed = engine.prompts.ask(engine.inputs.parts(prompt))
    assert 350 < len(fed.ids) <= 512 + 10


def test_a_window_is_not_taken_for_shorter_than_it_is(checkpoint, long_clip):
    for name in ("voxtral", "audioflamingo3"):
        engine = load(checkpoint(name))
        assert [chunk.key for chunk in engine.inputs.limits.chunks(long_clip)] == [long_clip.key]
        assert "longest_chunk_s" not in engine.describe()


def test_transcripts_may_be_asked_for_by_the_words_of_the_task(checkpoint, clips):
    own, words = load(checkpoint("voxtral")), load(checkpoint("voxtral"), asked_by="task")
    assert own.describe()["transcription"]["asked_by"] == "processor" and not own.asks_in_words
    assert words.describe()["transcription"]["asked_by"] == "task" and words.asks_in_words
    assert own.identity() != words.identity()
    (prompt,) = write_down(clips[:1])
    assert words.inputs.for_transcript(prompt, 9).ids == own.prompts.ask(own.inputs.parts(prompt)).ids
    assert words.inputs.for_transcript(prompt, 9).ids != own.inputs.for_transcript(prompt, 9).ids
    assert len(words.transcribe(write_down(clips[:1]))) == 1


def test_a_request_that_a_processor_does_not_have_is_refused(checkpoint):
    with pytest.raises(SpeechIQError, match=r"^asked_by=processor: .* has no such prompt for transcripts; give task$"):
        load(checkpoint("qwen2_audio"), asked_by="processor")


def test_words_beyond_the_context_are_refused_by_their_clip(checkpoint, clips):
    engine = load(checkpoint("qwen2_audio"))
    long = Prompt.about("<audio>\n" + "so it goes " * 2000, (replace(clips[0], id="demo/a"),))
    line = r"prompt about demo/a has [\d,]{5} tokens .* model takes 4,096"
    with pytest.raises(SpeechIQError, match=line):
        engine.generate([long], [[1]], SAMPLED)
    with pytest.raises(SpeechIQError, match=line):
        engine.loglikelihood([long], [[" so"]])


def test_a_transcript_ends_with_the_context(checkpoint, clips, monkeypatch, caplog):
    monkeypatch.setattr(audio_llm, "TOKENS_PER_S", 10_000)
    engine = load(checkpoint("qwen2_audio", max_position_embeddings=1400))
    monkeypatch.setattr(engine, "context", len(engine.prompts.ask(engine.inputs.parts(ask(clips[:1])[0])).ids) + 20)
    (response,) = engine.transcribe([Prompt.about("<audio>", clips[:1])])
    assert len(engine.tokenizer(response.text, add_special_tokens=False).input_ids) < 60
