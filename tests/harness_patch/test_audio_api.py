"""Audio models behind an endpoint: what is sent, and what errors become, over real HTTP."""

import io
import json
import math
import re
import signal
import subprocess
import sys
import threading
import time
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import Prompt, TextPrompt
from speechiq.core.response import CutText
from speechiq.core.usage import recording, usage
from speechiq.engines._shared.remote import PROBE
from speechiq.engines.audio.openai import AudioEndpoint
from speechiq.engines.cached import CachedEngine
from speechiq.engines.text.openai import OpenAIText
from speechiq.harness_patch.audio_api import AudioAPI
from speechiq.reducer import read_systems
from tests.conftest import KEY
from tests.engines.opener import build, open_engine
from tests.records import texts
from tests.siq_tasks.questions.server import Handler, completion, serving
from tests.warm import lm_eval, run_warm

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("endpoint_key")]

SOON = {"Retry-After-Ms": "5"}
SAMPLED = {"until": [], "do_sample": True, "max_gen_toks": 256}
REFUSES = '{"error": {"message": "Unknown name: %s"}}'


@pytest.fixture(scope="module")
def clip(demo_clips):
    return demo_clips[0].part(0.0, 1.5)


def write_down(*clips):
    return [Prompt.about("<audio>\nWrite it down.", [clip]) for clip in clips]


def open_ear(server, **options):
    return open_engine(AudioEndpoint, "ear", batch_size=1, **{"base_url": server.url, "max_retries": 2} | options)


def ask(script, prompt, n=1, settings=SAMPLED, **options):
    """The answers to one prompt, or the one line; and what the server, which samples, was sent about it."""

    def samples(asked, number):
        return ["red", "green", "blue"] if is_probe(asked) else script(asked, number)

    with serving(samples) as server:
        try:
            found = open_ear(server, **options).generate([prompt], [list(range(7, 7 + n))], settings)[0]
        except SpeechIQError as error:
            found = str(error)
        return found, [asked for asked in server.requests if not is_probe(asked["messages"][0]["content"])]


def is_probe(content):
    return content in (PROBE, [{"type": "text", "text": PROBE}])


def read_wav(part):
    data, rate = soundfile.read(io.BytesIO(b64decode(part["input_audio"]["data"])), dtype="float32")
    assert part["input_audio"]["format"] == "wav" and rate == 16_000 and data.ndim == 1
    return data


def test_words_and_audio_go_out_in_the_order_of_the_prompt(clip):
    both = Prompt.about("Here <audio>, then <audio>\n Which?", [clip, replace(clip, offset=2.0)])
    _, (asked,) = ask(lambda *_: "B", both)
    (message,) = asked["messages"]
    kinds = [part.get("text", part["type"]) for part in message["content"]]
    assert message["role"] == "user" and kinds == ["Here", "input_audio", ", then", "input_audio", "Which?"]
    first, second = (read_wav(message["content"][i]) for i in (1, 3))
    np.testing.assert_allclose(first, clip.samples, atol=2**-15)
    assert len(second) == len(first) and not np.array_equal(first, second)


def test_a_prompt_without_a_place_for_its_clip_has_it_first(clip):
    _, (asked,) = ask(lambda *_: "B", Prompt.about("Which?", (clip,)), audio_part="audio_url")
    url, text = asked["messages"][0]["content"]
    assert url["audio_url"]["url"].startswith("data:audio/wav;base64,UklGR") and text["text"] == "Which?"


def test_a_clip_longer_than_the_model_takes_is_asked_about_whole_and_transcribed_in_chunks(clip):
    with serving(lambda prompt, _: " and".join(f" {len(read_wav(p))}" for p in prompt if "text" not in p)) as server:
        ear = open_ear(server, max_audio_s=1, num_concurrent=1)
        (answers,) = ear.generate([Prompt.about("<audio> What?", (clip,))], [[1]], SAMPLED)
        first, second = map(int, answers[0].split(" and "))
        assert first + second == 24_000 and max(first, second) <= 16_000
        (transcript,) = ear.transcribe(write_down(clip))
    assert transcript.text == f"{first} {second}" and transcript.coverage == 1.0
    assert ear.coverage([Prompt.about("<audio>", (clip,))]) == [1.0]


def test_the_coverage_of_a_clip_that_is_sent_whole_is_unknown(clip):
    with serving(lambda *_: "B") as server:
        ear = open_ear(server)
        (transcript,) = ear.transcribe(write_down(clip))
        assert math.isnan(transcript.coverage) and math.isnan(ear.coverage([Prompt.about("<audio>", (clip,))])[0])


def test_five_answers_come_from_one_call_sampled_by_the_servers_own_defaults(clip):
    before = usage["calls"]
    answers, (asked,) = ask(lambda *_: list("ABCDE"), Prompt.about("<audio> Which?", (clip,)), n=5)
    assert answers == list("ABCDE") and usage["calls"] == before + 2
    assert asked.keys() == {"model", "messages", "n", "max_completion_tokens"}
    assert (asked["model"], asked["n"], asked["max_completion_tokens"]) == ("ear", 5, 256)


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (SAMPLED | {"temperature": 0.7, "top_p": 0.9, "top_k": 20}, {"temperature": 0.7, "top_p": 0.9, "top_k": 20}),
        ({"do_sample": False, "max_gen_toks": 8}, {"temperature": 0, "max_completion_tokens": 8}),
        ({"until": ["\n"]}, {"temperature": 0, "max_completion_tokens": 256}),
    ],
)
def test_generation_settings_of_the_task_come_before_the_servers(clip, settings, sent):
    _, (asked,) = ask(lambda *_: "B", Prompt.about("<audio>", (clip,)), settings=settings)
    assert asked.items() >= sent.items() and "until" not in asked and "do_sample" not in asked


@pytest.mark.parametrize(
    ("unknown", "seeds"),
    [
        (["n"], [1, 2, 3, 7, 8, 9, 17, 18, 19]),
        (["n", "seed"], [None] * 9),
        ([], [None, 2, 3, 7, 8, 9, 17, 18, 19]),
    ],
    ids=["n refused", "n and seed refused", "n ignored"],
)
def test_a_server_that_gives_no_five_is_asked_one_by_one_and_that_is_remembered(clip, unknown, seeds):
    def script(_prompt, number):
        asked = server.requests[number - 1]
        return next(((400, {}, REFUSES % name) for name in unknown if name in asked), f"B{number}")

    with serving(script) as server:
        ear = open_ear(server, num_concurrent=1)
        prompts = [Prompt.about("<audio> Which?", (clip,))] * 2
        answers = ear.generate(prompts, [[7, 8, 9], [17, 18, 19]], SAMPLED)
        assert len({*answers[0], *answers[1]}) == 6 and ear.describe().get("left_out") == ["n", *unknown[1:]]
    answered = [asked for asked in server.requests if not any(name in asked for name in unknown)]
    assert [asked.get("seed") for asked in answered] == seeds and len(server.requests) == 9 + len(unknown)


def test_a_server_of_llama_cpp_is_asked_one_by_one_after_one_lost_call(clip):
    body = json.dumps({"error": {"code": 500, "message": "Only one completion choice is allowed"}})

    def script(_prompt, number):
        return (500, {}, body) if "n" in server.requests[number - 1] else f"B{number}"

    prompts, settings = [Prompt.about("<audio> Which?", (clip,))], SAMPLED | {"temperature": 0.1}
    with serving(script) as server:
        ear = open_ear(server, num_concurrent=1)
        (answers,) = ear.generate(prompts, [[1, 2, 3, 4, 5]], settings)
        assert answers == ["B2", "B3", "B4", "B5", "B6"] and ear.describe()["left_out"] == ["n"]


@pytest.mark.parametrize("refused", [[], ["stream_options"]])
def test_timed_answers_ask_for_their_tokens_unless_the_server_refuses(clip, refused):
    def script(_prompt, number):
        asked = server.requests[number - 1]
        return next(((400, {}, REFUSES % name) for name in refused if name in asked), "B")

    with serving(script) as server, recording():
        ear = open_ear(server, num_concurrent=1)
        ear.generate([Prompt.about("<audio> Which?", (clip,))] * 2, [[7], [8]], {"do_sample": False})
        assert ear.describe().get("left_out", []) == refused
    first, *others = server.requests
    assert first["stream_options"] == {"include_usage": True} and len(server.requests) == 2 + len(refused)
    assert all(("stream_options" in asked) != bool(refused) and asked["seed"] in (7, 8) for asked in others)


def test_a_server_that_gives_one_answer_to_all_seeds_is_refused_before_it_gets_a_clip(clip):
    with serving(lambda *_: "red") as server:
        with pytest.raises(SpeechIQError, match=r"^openai:ear: gives the same answer for every seed"):
            open_ear(server).generate([Prompt.about("<audio>", (clip,))], [[1, 2]], SAMPLED)
        assert len(server.requests) == 3
        for seeds, settings in (([1], SAMPLED), ([1, 2], SAMPLED | {"temperature": 0.1})):
            answers = open_ear(server).generate([Prompt.about("<audio>", (clip,))], [seeds], settings)
            assert answers == [["red"] * len(seeds)]


@pytest.mark.parametrize("fault", [(400, {}, REFUSES % "seed"), (404, {}, "{}"), (500, SOON, "{}")])
def test_a_server_that_takes_no_prompt_without_audio_is_not_asked_whether_it_samples(clip, fault):
    with serving(lambda prompt, _: fault if is_probe(prompt) else ["B"] * 2) as server:
        ear = open_ear(server)
        for _ in range(2):
            assert ear.generate([Prompt.about("<audio>", (clip,))], [[1, 2]], SAMPLED) == [["B", "B"]]
        *asked, first, second = server.requests
    assert first["n"] == second["n"] == 2 and "left_out" not in ear.describe()
    assert asked and all(is_probe(one["messages"][0]["content"]) for one in asked)


def no_zero(_prompt, number, server):
    """As some models of OpenAI refuse it."""
    if "temperature" in server.requests[number - 1]:
        return 400, {}, '{"error": {"message": "Unsupported value: temperature does not support 0 with this model."}}'
    return f"so it was {number}"


def test_a_model_that_refuses_temperature_0_transcribes_and_corrects_without_it(clip):
    with serving(lambda *asked: no_zero(*asked, server)) as server:
        ear = open_ear(server, num_concurrent=1)
        whole = ear.identity()
        assert ear.sampling({"max_gen_toks": 8}) == {"do_sample": False, "temperature": 0}
        transcripts = ear.transcribe(write_down(clip, clip.part(0.0, 1.0)))
        assert texts(transcripts) == ["so it was 2", "so it was 3"]
        assert ear.describe()["left_out"] == ["temperature"] and ear.identity() == whole
        assert ear.sampling({"max_gen_toks": 8}) == {"do_sample": False}
        corrector = open_engine(OpenAIText, "pen", batch_size=1, base_url=server.url)
        assert corrector.generate([TextPrompt("Correct it.")], [[3]], {"do_sample": False}) == [["so it was 5"]]
    assert [asked.get("seed") for asked in server.requests[3:]] == [3, 3]


@pytest.mark.parametrize("settings", [SAMPLED, {"do_sample": False}])
def test_a_mark_in_a_text_without_clips_is_a_word(settings):
    text = "What does <audio> mean in a prompt?"
    answers, (asked,) = ask(lambda *_: "a place", Prompt.about(text, ()), settings=settings)
    assert answers == ["a place"] and asked["messages"][0]["content"] == [{"type": "text", "text": text}]


def test_with_own_seeds_a_call_an_answer_is_made_from_the_start(clip):
    answers, requests = ask(lambda *_: "B", Prompt.about("<audio>", (clip,)), n=3, seed_per_call=True, num_concurrent=1)
    assert len(answers) == 3 and [asked["seed"] for asked in requests] == [7, 8, 9]


def test_what_is_refused_for_a_reason_of_its_own_stays_an_error(clip):
    message, requests = ask(lambda *_: (400, {}, REFUSES % "audio"), Prompt.about("<audio>", (clip,)), n=5)
    assert message.startswith("openai:ear at 127.0.0.1: answered 400, ") and "Unknown name: audio" in message
    assert [(asked.get("n"), asked.get("seed")) for asked in requests] == [(5, None), (None, 7), (None, None)]


def test_a_clip_is_written_down_once_at_temperature_0_by_the_levels_own_words(clip):
    with serving(lambda *_: " hello there ") as server:
        ear = CachedEngine(open_ear(server), None)
        assert texts(ear.transcribe(write_down(clip, clip))) == ["hello there"] * 2
        assert texts(ear.transcribe([Prompt.about("Write it down.", [clip])])) == ["hello there"]
        (asked,) = server.requests
    assert asked["temperature"] == 0 and "seed" not in asked and "max_completion_tokens" not in asked
    assert asked["messages"][0]["content"][1] == {"type": "text", "text": "Write it down."}


@pytest.mark.parametrize(
    ("reply", "answer", "logged"),
    [
        (completion("", content=None, refusal="I must not."), ["I must not."], ""),
        (completion("", "content_filter"), ["[content filter]"], "were cut off by a content filter"),
        (completion("It is", "content_filter"), ["It is"], "were cut off by a content filter"),
        (completion("It is (B", "length"), ["It is (B"], "ended at the token limit"),
    ],
    ids=["refusal", "content filter", "content filter later", "cut off"],
)
def test_a_refusal_or_what_a_filter_left_is_what_the_system_answers(clip, reply, answer, logged, caplog):
    answers = ask(lambda *_: (200, {}, reply), Prompt.about("<audio>", (clip,)))[0]
    assert answers == answer
    assert [isinstance(text, CutText) for text in answers] == [logged == "ended at the token limit"]
    assert caplog.messages == [f"openai:ear answering: 1 of 1 replies {logged}"] if logged else not caplog.messages


def test_a_prompt_that_a_filter_keeps_back_is_an_answer_that_says_so_and_is_counted(clip, caplog):
    filtered = 400, {}, '{"error": {"message": "policy", "code": "content_filter"}}'
    assert ask(lambda *_: filtered, Prompt.about("<audio>", (clip,)), n=3)[0] == ["[content filter]"] * 3
    assert caplog.messages == ["openai:ear answering: 3 of 3 replies were cut off by a content filter"]


def wait(_prompt, _number):
    time.sleep(0.6)
    return "B"


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        (lambda *_: (500, SOON, '{"error": {"message": "out of memory"}}'), {}, "answered 500, .*out of memory"),
        (lambda *_: (429, SOON, "{}"), {}, "answered 429, .*; try a larger timeout or a smaller num_concurrent"),
        (lambda *_: (401, {}, '{"error": {"message": "no such key: {key}"}}'), {}, r"\*\*\*.*; check OPENAI_API_KEY"),
        (lambda *_: (413, {}, "{}"), {}, "answered 413, .*max_audio_s=SECONDS"),
        (wait, {"timeout": 0.2, "max_retries": 0}, "no answer in time; try a larger timeout"),
        (lambda *_: (200, SOON, completion([None])), {}, r"sent a reply without text \(it ended by stop\)"),
        (lambda *_: (200, {}, completion("", "length")), {}, "before it had any text.*max_gen_toks=4096"),
    ],
)  # fmt: skip
def test_what_fails_for_good_is_one_line_and_never_an_empty_answer(clip, script, options, message):
    found, _ = ask(script, Prompt.about("<audio>", (clip,)), **options)
    assert isinstance(found, str) and found.startswith("openai:ear") and "\n" not in found
    assert re.search(message, found) and KEY not in found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "http://127.0.0.1:9/v1", "max_retries": 0}, "at 127.0.0.1: no connection; check base_url"),
        ({"base_url": "localhost:8000/v1"}, "base_url: 'localhost:8000/v1' is not an address; give one like http://"),
        ({"audio_part": "mp3"}, "audio_part=mp3: unknown; give audio_url or input_audio"),
        ({"num_concurrent": 0}, "^num_concurrent=0: not a whole number of 1 or more; give one"),
        ({"timeout": "soon"}, "^timeout=soon: not a number of seconds from 0.01"),
        ({"max_audio_s": 0.5}, "^max_audio_s=0.5: not a number of seconds from 1 to 86400"),
        ({"api_key": KEY}, "api_key: no such option of the openai engine; it has .*key_variable"),
    ],
)
def test_what_cannot_run_is_named_before_anything_runs(options, message):
    with pytest.raises(SpeechIQError, match=message) as refused:
        build("openai:ear", **options)
    assert KEY not in str(refused.value)


def test_a_key_that_is_refused_is_reported_before_anything_runs(monkeypatch):
    monkeypatch.setattr(Handler, "do_GET", lambda handler: handler._send(401, {}, '{"error": "not {key}"}'))
    with serving(lambda *_: "B") as server, pytest.raises(SpeechIQError, match=r"answered 401, .*; check OPENAI_"):
        build("openai:ear", base_url=server.url)


@pytest.mark.parametrize("status", [403, 404])
def test_an_endpoint_that_shows_no_list_of_models_will_do(monkeypatch, status):
    monkeypatch.setattr(Handler, "do_GET", lambda handler: handler._send(status, {}, "{}"))
    with serving(lambda *_: "B") as server:
        build("openai:ear", base_url=server.url)


def test_the_model_is_named_once():
    with pytest.raises(SpeechIQError, match=r"^audio-api: pretrained=y next to model=x; leave out one of them"):
        AudioAPI(model="x", pretrained="y")


def test_the_key_comes_from_the_environment_alone(monkeypatch):
    with serving(lambda *_: "B") as server:
        monkeypatch.setenv("OTHER_KEY", "sk-other")
        system = build("openai:ear", base_url=server.url, key_variable="OTHER_KEY")
        description = json.dumps(system.describe())
        assert "sk-" not in description and "ear" in description and server.url in description
        monkeypatch.delenv("OPENAI_API_KEY")
        build("openai:ear", base_url=server.url)


def test_likelihood_is_refused_since_an_endpoint_has_no_log_likelihoods(clip):
    with serving(lambda *_: "B") as server:
        with pytest.raises(
            SpeechIQError, match="answer=likelihood: openai:ear has no log-likelihoods; use answer=generate"
        ):
            build("openai:ear", base_url=server.url, answer="likelihood")
        with pytest.raises(SpeechIQError, match="an endpoint has no log-likelihoods; run it on tasks that generate"):
            build("openai:ear", base_url=server.url).loglikelihood([Prompt.about("<audio>", (clip,))], [" yes"])


def hash_ear(prompt, number):
    """Knows the words it is asked for a transcript by; else a letter by the audio's bytes. First it is busy."""
    if number == 1:
        return 429, {"Retry-After": "0.01"}, '{"error": {"message": "slow down, {key}"}}'
    if is_probe(prompt):
        return ["red", "green", "blue"]
    (wav,) = (read_wav(part) for part in prompt if part["type"] == "input_audio")
    words = " ".join(part["text"] for part in prompt if part["type"] == "text")
    if words.startswith("Write down what is said"):
        return f"received {len(wav)} samples"
    return ["ABCDE"[(int(np.abs(wav).sum()) + i) % 5] for i in range(5)]


def test_the_demo_as_a_user_runs_it(tiny_cascade, tmp_path):
    with serving(hash_ear) as server:
        arguments = f"model=ear-1,base_url={server.url},num_concurrent=3"
        command = "--tasks", "siq_demo", "--limit", "2", "--output_path", "out", "--log_samples", "--device", "cpu"
        command += "--metadata", f"embedder={tiny_cascade.llm}"
        done = run_warm(lm_eval, "--model", "audio-api", "--model_args", arguments, *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (results,) = tmp_path.joinpath("out").rglob("results_*.json")
    description = json.loads(results.read_text())["config"]["siq"]
    assert description["pretrained"] == "openai:ear-1" and description["system"]["answering"] == {"way": "generate"}
    samples = {file.name.split("_2")[0]: file for file in results.parent.glob("samples_*.jsonl")}
    rows = {name: [json.loads(line) for line in file.read_text().splitlines()] for name, file in samples.items()}
    for row in rows["samples_siq_demo_remember"]:
        assert row["filtered_resps"] == [f"received {round(row['doc']['audio']['duration'] * 16_000)} samples"]
        assert math.isnan(row["audio_coverage"])
    for row in rows["samples_siq_demo_apply"]:
        assert len(set(row["resps"][0])) == 5 and row["unparsed"] == 0
    (system,) = read_systems([tmp_path / "out"])
    assert system.flags.incomplete_audio is None and system.flags.unparsed == 0
    assert len(server.requests) == 1 + 2 + 1 + 2
    everything = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(KEY in text for text in [*everything, done.stdout, done.stderr])


def test_ctrl_c_ends_a_run_at_once_in_one_line_and_leaves_no_results(tmp_path):
    held, enough = threading.Event(), threading.Event()

    def script(_prompt, number):
        if number > 3:
            enough.set()
            held.wait(120)
        return "hello"

    program = str(Path(sys.executable).with_name("lm_eval"))
    with serving(script) as server:
        arguments = f"model=ear,base_url={server.url},num_concurrent=1"
        command = "--tasks", "siq_demo_remember", "--output_path", "out", "--device", "cpu"
        process = subprocess.Popen(
            [program, "--model", "audio-api", "--model_args", arguments, *command],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        try:
            assert enough.wait(120)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
            held.set()
    assert process.returncode != 0 and "Traceback" not in errors
    assert errors.splitlines()[-1] == "siq: stopped by hand after 3 of 14"
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]
