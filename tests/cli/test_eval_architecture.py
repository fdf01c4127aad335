"""Test `siq eval --architecture`: the four systems, their options, and the command that compares them."""

from __future__ import annotations

import shlex

import pytest

from speechiq.cli.evaluation.command import list_quartet
from speechiq.core.prompt import Prompt
from speechiq.harness_patch import processes
from speechiq.harness_patch.systems.build import build_system
from speechiq.siq_tasks.loaders.audio import transcription_prompt
from tests.commands import refusal, siq, succeed
from tests.reducer.studies.test_architecture import SKILLS, write_system
from tests.siq_tasks.questions.server import serving

THREE = ("--architecture", "org/audio", "org/text", "org/asr")
FOUR = ["org/audio", "org/audio+org/text", "org/asr+org/text", "gold+org/text"]


@pytest.mark.parametrize(
    ("stages", "systems"),
    [
        (("org/audio", "org/text", "org/asr"), FOUR),
        (
            ("org/audio,dtype=bfloat16,answer=argmax", "org/text,answer=argmax,dtype=float16", "org/asr,num_beams=5"),
            [
                "org/audio,dtype=bfloat16,answer=argmax",
                "org/audio+org/text,asr_dtype=bfloat16,llm_answer=argmax,llm_dtype=float16",
                "org/asr+org/text,asr_num_beams=5,llm_answer=argmax,llm_dtype=float16",
                "gold+org/text,llm_answer=argmax,llm_dtype=float16",
            ],
        ),
        (
            ("openai:gpt-4o-audio-preview", "openai:gpt-4o", "openai:whisper-1"),
            [
                "openai:gpt-4o-audio-preview",
                "openai-chat:gpt-4o-audio-preview+openai:gpt-4o",
                "openai:whisper-1+openai:gpt-4o",
                "gold+openai:gpt-4o",
            ],
        ),
    ],
)
def test_three_stages_are_four_systems(stages, systems):
    assert list_quartet(*stages) == systems


def test_a_dry_run_prints_the_commands_of_all_systems(instant, tmp_path):
    printed = siq("eval", "letter:B", *THREE, "-o", tmp_path, "--dry-run")
    assert [line for line in printed.splitlines() if line.startswith("lm_eval")] == [
        f"lm_eval --model hf-audio --model_args pretrained={system} --tasks siq_demo --batch_size auto --log_samples "
        f"--output_path {tmp_path}"
        for system in ("letter:B", *FOUR)
    ]
    assert not instant


def test_the_end_names_the_command_that_compares_them(instant, tmp_path, monkeypatch):
    def write(system, plan, log, show):
        log.write_text("")
        write_system(plan.folder / "runs", system, SKILLS[system])

    monkeypatch.setattr(processes, "run_with_log", write)
    printed = succeed("eval", *THREE, "-o", tmp_path).stderr
    (line,) = [line for line in printed.splitlines() if line.startswith("siq: next: ")]
    program, *words = shlex.split(line.removeprefix("siq: next: "))
    assert program == "siq" and "joint training" in siq(*words)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "SYSTEM: none is named; name systems, or give --architecture MODEL LLM ASR"),
        (("--architecture", "a+b", "c", "d"), "--architecture 'a+b': not one stage; give MODEL LLM ASR"),
        (("--architecture", "a", ",x=1", "d"), "--architecture ',x=1': begins with no stage"),
        (("--architecture", "bogus:a", "b", "c"), "no engine 'bogus' for the audio stage"),
    ],
)
def test_a_mistyped_stage_is_one_line(tmp_path, options, message):
    assert message in refusal("eval", *options, "-o", tmp_path)


@pytest.mark.usefixtures("endpoint_key")
def test_an_endpoint_transcribes_for_a_cascade_as_it_does_alone(demo_clips, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path))
    clip = demo_clips[0].part(0.0, 1.5)
    prompts = [Prompt.about(transcription_prompt(), [clip])]
    with serving(lambda *_: "so it goes") as server:
        url = {"base_url": server.url}
        options = {"device": "cpu", "batch_size": 1, "seed": 1}
        (alone,) = build_system("openai:ear", dict(url), **options).transcribe(prompts)
        asked = len(server.requests)
        given = {f"{stage}_base_url": server.url for stage in ("asr", "llm")}
        (heard,) = build_system("openai-chat:ear+openai:reader", given, **options).transcribe(prompts)
        assert alone.text == heard.text == "so it goes"
        assert len(server.requests) == asked, "the second transcript is that of the response cache"
