"""Call `transformers serve` by the clients of endpoints: the demo's Whisper, and tiny models of texts and of audio."""

import jiwer
import pytest

from speechiq.core.checkpoints.names import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt
from speechiq.engines.asr.openai import OpenAIASR
from speechiq.engines.audio.openai import AudioEndpoint
from speechiq.engines.text.hf import TransformersLLM
from speechiq.engines.text.openai import OpenAIText
from speechiq.metrics.words.normalizer import normalize
from tests.engines.opener import open_engine
from tests.engines.text.test_lm_eval_text import ASKED, GREEDY, SAMPLED, copy_checkpoint
from tests.served import transformers_serve


@pytest.fixture(scope="module")
def url(demo_models, tmp_path_factory):
    with transformers_serve(tmp_path_factory.mktemp("serve") / "log", "--dtype", "float32") as url:
        yield url


@pytest.fixture(scope="module")
def ear(tiny_ear, tmp_path_factory):
    """Make a tiny audio model that samples by itself."""
    return str(copy_checkpoint(tiny_ear, tmp_path_factory.mktemp("served") / "ear", do_sample=True))


def open_ear(model, url, **options):
    return open_engine(AudioEndpoint, model, batch_size=1, base_url=url, **options)


def test_a_served_whisper_transcribes_a_long_clip_to_its_end_in_chunks(url, demo_clips, references):
    longest = max(demo_clips, key=lambda clip: clip.duration)
    shortest = min(demo_clips, key=lambda clip: clip.duration)
    model = resolve("demo:whisper-tiny.en")
    asr = open_engine(OpenAIASR, model, batch_size=1, base_url=url, max_audio_s=30, num_concurrent=2)
    for transcript, clip in zip(asr.transcribe([longest, shortest]), [longest, shortest], strict=True):
        reference = normalize(references[clip])
        assert jiwer.wer(reference, normalize(transcript.text)) < 0.25
        assert normalize(transcript.text).split()[-4:] == reference.split()[-4:]


def test_a_served_audio_model_transcribes_answers_five_times_and_repeats_itself_by_seeds(url, ear, demo_clips):
    one, other = (clip.part(0.0, 1.0) for clip in demo_clips[:2])
    prompts = [Prompt.about("Hear <audio> now. Which?", (one,)), Prompt.about("Hear <audio> now. Which?", (other,))]
    seeds = [[1, 2, 3, 4, 5]] * 2
    seeded = {"seed_per_call": True, "num_concurrent": 1}  # this server's seed is of its process, not of a call
    first, second = open_ear(ear, url, **seeded).generate(prompts, seeds, SAMPLED)
    assert len(set(first)) == 5 and first != second
    as_url = open_ear(ear, url, audio_part="audio_url", **seeded).generate(prompts, seeds, SAMPLED)
    assert as_url == [first, second]
    (answers,) = open_ear(ear, url).generate(prompts[:1], seeds[:1], SAMPLED)
    assert len(set(answers)) == 5 and answers[1:] == first[1:]


def test_a_served_language_model_answers_as_it_does_itself_and_samples_if_its_checkpoint_does(
    url, tiny_cascade, tmp_path
):
    asked, plain = (ASKED[1:], [[1, 2]]), tiny_cascade.llm
    ours = open_engine(TransformersLLM, plain, batch_size=2).generate(*asked, GREEDY)
    sampler = str(copy_checkpoint(plain, tmp_path / "sampler", do_sample=True))
    llm = open_engine(OpenAIText, plain, base_url=url)
    ((text, _),) = llm.generate(*asked, GREEDY)
    assert text.strip() == ours[0][0]
    ((one, other),) = open_engine(OpenAIText, sampler, base_url=url).generate(*asked, SAMPLED)
    assert one != other
    line = "gives the same answer for every seed, so its answers to a question would be the same; let its server sample"
    with pytest.raises(SpeechIQError, match=line):
        llm.generate(*asked, SAMPLED)


def test_a_model_that_is_not_on_the_server_is_one_line(url, demo_clips):
    with pytest.raises(SpeechIQError, match=r"^openai:/nowhere at 127\.0\.0\.1: answered \d+, "):
        clip = demo_clips[0].part(0.0, 1.0)
        open_ear("/nowhere", url, max_retries=1).generate([Prompt.about("<audio>", (clip,))], [[1]], SAMPLED)
