"""Test prompts of the user's own: what a file may have, what each model receives, and what results record."""

import json

import numpy as np
import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.prompt import OwnPrompts
from speechiq.harness_patch.systems.build import build_system
from speechiq.harness_patch.systems.cascade import Instructed
from speechiq.metrics import similarity
from speechiq.siq_tasks.conditions.prompts import (
    PLACEHOLDERS,
    digest_prompts,
    read_prompt_file,
    read_prompts,
    write_request,
)
from speechiq.siq_tasks.loaders.audio import transcription_prompt
from tests.records import named
from tests.runs import evaluate, load_task
from tests.siq_tasks.questions.server import serving

OWN = {
    "transcribe": "Type this: <audio>",
    "answer": "{question}\n{options}\nYou heard <audio>. Which one?",
    "correct": "Pick one of\n{hypotheses}\nand mend it.",
    "background": "Where is [{text}] said, in one word?",
    "summary": "[{text}] in one word:",
    "system": "Be brief.",
}
QUESTION = {"question": "Who?", "options": ["a", "b", "c", "d"]}


def write(path, prompts):
    path.write_text(json.dumps(prompts), encoding="utf-8")
    return str(path)


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "mine.json", OWN)


def test_every_prompt_has_its_placeholders():
    assert {*similarity.PROMPTS, *OwnPrompts._fields, "answer"} == PLACEHOLDERS.keys() == OWN.keys()


def test_yaml_and_json_are_read_without_blank_space_around_a_prompt(tmp_path, file):
    other = tmp_path / "mine.yaml"
    other.write_text("system: |\n  Be brief.\nsummary: '[{text}] in one word: '\n")
    assert read_prompt_file(file) == OWN
    assert read_prompt_file(str(other)) == {"system": "Be brief.", "summary": "[{text}] in one word:"}


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ({"answers": "?"}, "unknown prompt 'answers'; did you mean answer[?] known are transcribe, answer, correct"),
        ({"transcribe": "Write it down."}, "transcribe: has no <audio>; write <audio> where it belongs"),
        ({"answer": "<audio> {options}"}, "answer: has no {question};"),
        ({"answer": "<audio> {question}"}, "answer: has no {options};"),
        ({"correct": "Mend it."}, "correct: has no {hypotheses};"),
        ({"summary": "In one word"}, "summary: has no {text};"),
        ({"background": "{text} {text}"}, "background: has {text} 2 times; write it once"),
        ({"transcribe": "<audio> {{ question }}"}, "transcribe: has '{{'; write <audio>, and no template"),
        ({"system": ""}, "system: not a text; write one, or leave it out"),
        ({"system": ["Be", "brief"]}, "system: not a text"),
        ({}, "has no prompt; write lines such as"),
        (["system"], "not a mapping of keys to values; write lines such as"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, prompts, message):
    name = write(tmp_path / "mine.json", prompts)
    with pytest.raises(SpeechIQError, match=rf"^--metadata prompts=.*mine\.json: {message}"):
        read_prompts({"prompts": name})


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(SpeechIQError, match=r"gone\.yaml: cannot be read \(No such file .*\); correct the path"):
        read_prompts({"prompts": str(tmp_path / "gone.yaml")})
    (tmp_path / "odd.yaml").write_text("system: [")
    with pytest.raises(SpeechIQError, match=r"odd\.yaml: not valid YAML"):
        read_prompts({"prompts": str(tmp_path / "odd.yaml")})


def test_a_task_reads_its_prompts_and_those_of_the_stages(file):
    stages = {key: OWN[key] for key in ("transcribe", "correct", "system")}
    assert read_prompts({"prompts": file}) == {"prompts": stages}
    assert read_prompts({"prompts": file}, ["answer"]) == {"prompts": stages | {"answer": OWN["answer"]}}
    assert read_prompts({}, ["answer"]) == {}


def test_a_task_without_a_prompt_of_its_own_is_as_without_the_file(tmp_path):
    task = load_task("siq_demo_remember", prompts=write(tmp_path / "mine.json", {"answer": OWN["answer"]}))
    plain = load_task("siq_demo_remember")
    assert not {"prompts", "prompts_sha256"} & task.config.metadata.keys()
    assert task.eval_docs[0] == plain.eval_docs[0]
    assert task.doc_to_text(task.eval_docs[0]) == plain.doc_to_text(plain.eval_docs[0])


def test_option_e_is_in_the_language_of_the_prompt():
    request = write_request("apply", OWN, "Keine")
    assert request.splitlines()[:2] == ["{{question}}", "(A) {{options[0]}}"]
    assert request.splitlines()[-2:] == ["(E) Keine", "You heard <audio>. Which one?"]
    assert write_request("remember", OWN, "") == "Type this: <audio>" and write_request("reply", OWN, "") is None


def test_a_task_has_its_request_and_records_all_prompts_with_a_digest(file):
    task = load_task("siq_demo_apply", **{"demo.prompts": file})
    doc = task.eval_docs[0]
    lines = [f"({letter}) {text}" for letter, text in zip("ABCD", doc["options"], strict=True)]
    shown = [doc["question"], *lines, "(E) None of the above", "You heard <audio>. Which one?"]
    assert task.doc_to_text(doc).splitlines() == shown
    read = {key: text for key, text in OWN.items() if key not in similarity.PROMPTS}
    about = task.config.metadata
    assert about["prompts"] == doc["prompts"] == read and about["prompts_sha256"] == digest_prompts(read)
    assert digest_prompts(read) == digest_prompts(dict(reversed(read.items()))) != digest_prompts({"system": "So."})


def run(tasks, prompts, system, **options):
    """Run tasks with a system behind the endpoint, and return what its models were sent, and the results."""
    with serving(lambda *_: "B") as server:
        arguments = {name: value.replace("URL", server.url) for name, value in system.items()}
        results = evaluate(
            "hf-audio", tasks, model_args=arguments, limit=1, metadata={"prompts": prompts} | options,
            gen_kwargs="do_sample=false",
        )  # fmt: skip
        return [asked["messages"] for asked in server.requests], results


@pytest.mark.usefixtures("endpoint_key")
def test_an_audio_model_is_sent_the_request_and_the_system_turn(file):
    system = {"pretrained": "openai:ear", "base_url": "URL"}
    sent, results = run(["siq_demo_remember", "siq_demo_apply"], file, system)
    assert {json.dumps(messages[0]) for messages in sent} == {'{"role": "system", "content": "Be brief."}'}
    texts = [[part.get("text", "AUDIO") for part in messages[1]["content"]] for messages in sent]
    assert ["Type this:", "AUDIO"] in texts
    assert any(parts[0].endswith("You heard") and parts[1:] == ["AUDIO", ". Which one?"] for parts in texts)
    assert results["config"]["siq"]["system"]["system"] == "Be brief."
    assert {about["metadata"]["prompts_sha256"] for about in results["configs"].values()} == {
        digest_prompts({key: text for key, text in OWN.items() if key not in (*similarity.PROMPTS, *left_out)})
        for left_out in ((), ("answer",))
    }


@pytest.mark.usefixtures("endpoint_key")
def test_a_corrector_and_a_language_model_are_sent_their_prompts(file):
    system = {"pretrained": "gold+openai:mend+openai:m", "ger_base_url": "URL", "llm_base_url": "URL"}
    sent, results = run(["siq_demo_apply"], file, system)
    (corrected,) = [messages for messages in sent if "Pick one of" in messages[0]["content"]]
    assert len(corrected) == 1 and corrected[0]["content"].startswith("Pick one of\n1. ")
    asked = [messages for messages in sent if messages != corrected]
    assert all([turn["role"] for turn in messages] == ["system", "user"] for messages in asked)
    assert all(messages[1]["content"].endswith("Which one?") for messages in asked) and asked
    assert results["config"]["siq"]["system"]["asr"]["corrector"]["prompt"] == OWN["correct"]


def test_a_recognizer_that_is_an_audio_model_transcribes_with_the_own_request():
    asked = []

    class Ear:
        def transcribe(self, prompts, on_result):
            asked.extend(prompt.text for prompt in prompts)

    Instructed(Ear(), OWN["transcribe"]).transcribe([named("a")])
    Instructed(Ear()).transcribe([named("a")])
    assert asked == [OWN["transcribe"], transcription_prompt()]


def test_a_system_without_a_place_for_prompts_refuses_them(tmp_path, tiny_cascade):
    likely = f"pretrained=gold+{tiny_cascade.llm},llm_answer=likelihood"
    for prompts, message in (
        ({"answer": OWN["answer"]}, "--metadata prompts: answer: llm_answer=likelihood uses a prompt of its own"),
        ({"system": "Be brief."}, "llm_system: llm_answer=likelihood has no system turn; leave it out, or give llm_"),
    ):
        name = write(tmp_path / "mine.json", prompts)
        with pytest.raises(SpeechIQError, match=message):
            evaluate("hf-audio", ["siq_demo_apply"], model_args=likely, limit=1, metadata={"prompts": name})


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("gold+huggingface:m", {}, "--metadata prompts: system: the huggingface engine has no system turn; leave it"),
        ("gold+x/y", {"llm_system": "So."}, "--metadata prompts: system: llm_system is given too; leave one"),
    ],
)
def test_an_engine_without_system_turns_refuses_one(spec, options, message):
    with pytest.raises(SpeechIQError, match=message):
        build_system(spec, options, device="cpu", batch_size=1, seed=0, prompts=OwnPrompts(system="Be brief."))


def test_understand_embeds_with_the_own_prompts(monkeypatch):
    embedded = []

    def embed(texts, *_, **__):
        embedded.extend(texts)
        return np.ones((len(texts), 2))

    monkeypatch.setattr(similarity, "embed", embed)
    monkeypatch.setattr(similarity, "warn_unknown_script", lambda *_: None)
    doc = {"id": "a", "text": "so {it} goes", "prompts": {"background": OWN["background"], "system": "Be brief."}}
    assert similarity.Embed().apply(["so"], [doc | {"embedder": "x"}])[0][:2] == pytest.approx([1.0, 1.0])
    usual = similarity.PROMPTS["summary"]
    expected = {OWN["background"].replace("{text}", text) for text in ("so", "so {it} goes")}
    assert set(embedded) == expected | {usual.replace("{text}", text) for text in ("so", "so {it} goes")}
