"""`siq eval`: runs, ranking and report by one command, resumed, refused early, and stopped cleanly."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from speechiq.cli.evaluation import record as evaluation_record
from speechiq.cli.evaluation.checks import check_form
from speechiq.cli.evaluation.record import describe_finished_run, read_evaluation, write_evaluation
from speechiq.cli.main import app
from speechiq.core import console
from speechiq.core.console import VARIABLE, progress_bar
from speechiq.core.errors import SpeechIQError
from speechiq.harness_patch import processes
from speechiq.harness_patch.plan import Plan, lm_eval_command
from tests.commands import call, refusal, succeed
from tests.reducer.conftest import levels
from tests.siq_tasks.questions.server import completion, serving
from tests.warm import run_warm, siq

succeeding = partial(succeed, "eval")
refused_by = partial(refusal, "eval")
siq_eval = partial(call, "eval")

LETTERS = ("letter:A", "letter:B")


def test_one_command_runs_scores_and_reports(instant, tmp_path):
    done = succeeding("good", "fair", "poor", "-o", tmp_path)
    assert instant == ["good", "fair", "poor"] and "Speech IQ" in done.stdout
    rows = {row["system"]: row["rank"] for row in json.loads((tmp_path / "siq.json").read_text())["systems"]}
    assert rows == {"good": 1, "fair": 2, "poor": 3}
    assert "</html>" in (tmp_path / "report.html").read_text()
    assert re.search(r"\[2/3\] fair: finished, \d+ s; about \d+ s left", done.stderr)
    assert "|acc|" not in done.output, "the table of lm-eval is in the log alone"
    for line in ("[1/3] good", "[3/3] poor: finished", f"wrote {tmp_path / 'report.html'}", "good: one clip was cut"):
        assert line in done.stderr


def test_a_system_with_other_prompts_in_the_same_file_is_run_again(instant, tmp_path):
    file = tmp_path / "mine.yaml"
    arguments = ["good", "-o", tmp_path / "out", "--metadata", f"prompts={file}"]
    for text, runs in (("system: So.", 1), ("system: So.", 1), ("system: Not so.", 2)):
        file.write_text(text)
        assert "own prompts system" in siq_eval(*arguments).stderr and len(instant) == runs


def test_finished_systems_are_not_run_again_unless_forced_or_changed(instant, tmp_path):
    succeeding("good", "fair", "-o", tmp_path)
    more = succeeding("good", "fair", "poor", "-o", tmp_path)
    assert instant == ["good", "fair", "poor"] and "2 of 3 systems finished before" in more.stderr
    assert len(json.loads((tmp_path / "siq.json").read_text())["systems"]) == 3
    siq_eval("good", "-o", tmp_path, "--force")
    assert instant == ["good", "fair", "poor", "good"]
    next(tmp_path.glob("poor-*/results_*.json")).unlink()
    siq_eval("poor", "-o", tmp_path)
    assert instant[-1] == "poor" and len(instant) == 5


def test_runs_of_other_settings_are_kept_and_not_mixed(instant, tmp_path):
    succeeding("good", "fair", "poor", "-o", tmp_path)
    noisy = succeeding("good", "fair", "-o", tmp_path, "--metadata", "seed_text=1")
    assert f"{tmp_path} also has 3 runs with others" in noisy.stderr
    assert len(json.loads((tmp_path / "siq.json").read_text())["systems"]) == 2
    again = succeeding("good", "fair", "poor", "-o", tmp_path)
    assert "3 of 3 systems finished before" in again.stderr
    assert instant == ["good", "fair", "poor", "good", "fair"]
    assert len(json.loads((tmp_path / "siq.json").read_text())["systems"]) == 3
    assert "results call both good" in refused_by("good,llm_answer=argmax", "fair", "-o", tmp_path)


def test_a_file_of_somebody_else_is_refused_before_anything_runs(instant, tmp_path):
    (tmp_path / "report.html").write_text("mine")
    assert "--force" in refused_by("good", "fair", "-o", tmp_path) and not instant
    succeeding("good", "fair", "-o", tmp_path, "--force")
    succeeding("poor", "-o", tmp_path)
    (tmp_path / "siq.json").write_text("mine since")
    assert "siq.json" in refused_by("poor", "-o", tmp_path)


def test_after_a_failure_the_others_run_and_the_same_command_goes_on(instant, tmp_path):
    failure = refused_by("good", "broken", "fair", "-o", tmp_path)
    assert "broken: the model is broken; 1 of 3 systems failed" in failure
    assert {run.name for run in read_evaluation(tmp_path).runs} == {"good", "fair"}
    assert not (tmp_path / "siq.json").exists()


def test_one_system_without_norms_has_a_table_a_report_and_advice(instant, tmp_path):
    done = succeeding("good", "-o", tmp_path)
    assert "one system alone has no scale" in " ".join(done.stdout.split())
    assert f"hint: siq score {tmp_path} --norms demo scores on the demo's scale" in done.stderr
    assert "</html>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("system", ["{}", "gold+{}", "transcripts:{}+demo:x", "gold+x,llm_adapter={},llm_dtype=auto"])
@pytest.mark.parametrize("name", ["v=1", "v+1", "v,1"])
def test_a_path_with_a_separator_in_its_name_is_refused_with_the_way_out(tmp_path, system, name):
    tmp_path.joinpath(name).mkdir()
    with pytest.raises(SpeechIQError, match=r"separate stages and options, so .*; rename it, or name a link to it: ln"):
        check_form([system.format(tmp_path / name)])


@pytest.mark.parametrize(
    "arguments, fault",
    [
        (["good", "--tasks", ","], "--tasks: no name given"),
        (["good", "--metadata", "subset"], "--metadata subset: not a key with a value"),
        (["good", "--metadata", "subset=1", "--metadata", "subset=2"], "--metadata subset=2: subset=1 is given too"),
        (["good", "--metadata", "condition=whitee@10dB"], "unknown condition 'whitee'; did you mean white?"),
        (["good", "--metadata", "demo.condition=white@10"], "white@10: 10 has no unit (dB)"),
        (["good", "--metadata", "demo.prompts=nowhere"], "--metadata prompts=nowhere: cannot be read (No such file"),
        (["good", "--gen_kwargs", "max_gen_toks"], "--gen_kwargs max_gen_toks: not a key with a value"),
        (
            ["good", "--norms", "demo", "--tasks", "siq_demo_distance"],
            "--norms demo: they were built on siq_demo_apply, which",
        ),
        (["good", "--batch-size", "0"], "--batch-size 0: give a whole number above 0"),
        (["good", "--device", "gpu:0"], "--device gpu:0: not a kind of device; did you mean cuda?"),
        (["good", "--device", "cud:0"], "--device cud:0: not a kind of device; did you mean cuda?"),
        (["good", "transcripts:none.jsonl+org/model"], "'none.jsonl': no such file; correct the path"),
        (["good", "--include-path", "nowhere"], "--include-path nowhere: no such folder"),
        (["good", "--norms", "nowhere"], "no norms 'nowhere'"),
        (["good", "--norms", "demo", "--limit", "2"], "--limit 2 and --norms demo: norms were built on all clips"),
        ([""], "SYSTEM '': begins with no spec"),
        (["pretrained=demo"], "SYSTEM 'pretrained=demo': begins with no spec"),
        (["letter:B", "--tasks", "siq_dmo"], "--tasks siq_dmo: no such task; did you mean siq_demo?"),
        (["letter:B", "demo:whisper-bse+demo:SmolLM2-135M-Instruct"], "demo:whisper-bse: no such demo model"),
        (["demo:SmolLM2"], "demo:SmolLM2: no such demo model; did you mean demo:SmolLM2-135M-Instruct? known are"),
        (["letter:B", "./nowhere+org/model"], "./nowhere: no folder with a config.json is there"),
        (["letter:B", "faster-whispr:x+hf:y"], "no engine 'faster-whispr' for the asr stage; did you mean faster-whis"),
        (["good,likelihood"], "'likelihood' is not an option; write OPTION=VALUE"),
        (["good", "good"], "2 of the systems are called good"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(instant, tmp_path, arguments, fault):
    assert fault in refused_by(*arguments, "-o", tmp_path / "out")
    assert not instant and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["openai:m,base_url=http://me:hunter2@127.0.0.1:9/v1"],
        ["openai:m,base_url=http://me:hun,ter2@127.0.0.1:9/v1"],
        ["openai:m,base_url=me:hunter2@127.0.0.1:9"],
        ["good", "--metadata", "judge_base_url=http://me:hunter2@127.0.0.1:9/v1"],
    ],
)
def test_a_password_in_an_address_is_refused_and_never_printed(instant, tmp_path, arguments):
    done = siq_eval(*arguments, "-o", tmp_path / "out")
    assert "the address contains a user or password" in str(done.exception)
    assert "ter2" not in done.output + done.stderr + str(done.exception) and not instant


def test_a_limit_of_nothing_is_wrong_usage(instant, tmp_path):
    limited = siq_eval("good", "-o", tmp_path, "--limit", "0")
    assert limited.exit_code == 2 and "--limit" in limited.stderr


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_numpy_does_not_take_is_wrong_usage(instant, tmp_path, seed):
    seeded = siq_eval("good", "-o", tmp_path, "--seed", seed)
    assert seeded.exit_code == 2 and "'--seed'" in seeded.stderr and not instant


def test_spaces_around_names_and_options_mean_nothing(instant, tmp_path):
    succeeding("good ", "fair, dtype=bfloat16", "--tasks", "siq_demo_apply, siq_demo_distance", "-o", tmp_path)
    assert instant == ["good", "fair,dtype=bfloat16"]
    assert read_evaluation(tmp_path).runs[0].settings["tasks"] == ["siq_demo_apply", "siq_demo_distance"]


def test_without_a_folder_the_tasks_name_one(instant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "wrote runs/siq_demo/report.html" in succeeding("good").stderr


@pytest.mark.parametrize("content", ["{", '{"schema": "other"}', "[]"])
def test_a_record_that_is_not_ours_is_refused_and_a_file_is_no_folder(instant, tmp_path, content):
    (tmp_path / "eval.json").write_text(content)
    assert "eval.json" in refused_by("good", "-o", tmp_path)
    assert "choose another folder with --output" in refused_by("good", "-o", tmp_path / "eval.json")


def test_the_record_holds_what_scores_depend_on(tmp_path):
    plan = Plan(("x",), ("siq_demo",), str(tmp_path), device="cpu", batch_size="4", metadata=("subset=all",))
    record = read_evaluation(tmp_path)
    record.add(describe_finished_run("x", "x,llm_answer=argmax", plan, [tmp_path / "a" / "results_1.json"]))
    write_evaluation(record, tmp_path)
    (run_of_x,) = read_evaluation(tmp_path).runs
    assert run_of_x.results == ["a/results_1.json"] and run_of_x.settings["metadata"] == ["subset=all"]
    assert not {"device", "batch_size", "output", "samples"} & run_of_x.settings.keys()


def test_the_command_has_every_option(tmp_path):
    metadata, tokens = ("k=v", "x=[1, 2]"), ("max_gen_toks=9",)
    plan = Plan(("demo",), ("a", "b"), "runs", "8", "cpu", 3, 7, metadata, "mine", gen_kwargs=tokens)
    words = lm_eval_command("demo,llm_answer=argmax", plan)
    for option, value in {
        "--model_args": "pretrained=demo,llm_answer=argmax", "--tasks": "a,b", "--batch_size": "8", "--device": "cpu",
        "--limit": "3", "--seed": "7", "--include_path": "mine", "--output_path": "runs",
    }.items():  # fmt: skip
        assert words[words.index(option) + 1] == value
    assert words[-5:] == ["--metadata", "k=v", "x=[1, 2]", "--gen_kwargs", "max_gen_toks=9"]


def test_a_bar_reports_to_the_process_that_asks(monkeypatch):
    reader, writer = os.pipe()
    monkeypatch.setenv(VARIABLE, str(writer))
    with progress_bar(total=3, verb="model transcribing", unit="clip") as bar:
        bar.update(3)
    os.close(writer)
    with os.fdopen(reader) as lines:
        states = [json.loads(line) for line in lines]
    assert states[-1] == {"verb": "model transcribing", "done": 3, "total": 3, "unit": "clip"}


def test_a_bar_without_a_terminal_is_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(console, "LINE_S", 0.2)
    for _ in progress_bar(range(3), total=3, verb="model transcribing", unit="clip"):
        time.sleep(0.25)
    with progress_bar(total=2, verb="model answering", unit="prompt") as short:
        short.update(2)
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition(" after ")[0] for line in lines] == [
        f"siq: model transcribing: {done} of 3 clips" for done in (1, 2, 3)
    ]
    monkeypatch.setenv("RANK", "1")
    assert progress_bar(total=3, verb="model transcribing", unit="clip").disable, "the first process prints for all"


def test_why_a_run_failed_is_found_in_its_log(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "INFO\nsiq: checking the system\nsiq: error: llm_x: no such option; give another\nException ignored\n"
    )
    assert processes.find_reason(log, 1) == "llm_x: no such option; give another"
    log.write_text("Traceback\nMemoryError\n\n")
    assert processes.find_reason(log, 137) == "lm_eval ended with exit code 137: MemoryError"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments, fault",
    [
        (["letter:B", "--device", "nonsense"], "--device nonsense"),
        (["letter:B", "transcripts:few.jsonl+demo:SmolLM2-135M-Instruct"], "13 of 14 clips have no transcript"),
        (["letter:B", "--tasks", "siq_medasr_apply"], "medasr: no question file"),
        (["letter:B", "--tasks", "siq_demo,siq_demo_distance", "--metadata", "encoder=demo:MiniLM"], "demo:MiniLM"),
        (["letter:B", "--tasks", "siq_medasr_remember", "--metadata", "medasr.subst=5"], "mean medasr.subset?"),
        (["letter:B", "--tasks", "audiobench_demo_judged", "--metadata", "judge=opnai:x"], "opnai"),
        (["letter:B", "--tasks", "siq_demo_reply", "--metadata", "reply_asr=demo:whisper-bse"], "demo:whisper-bse"),
        (["demo,speaks=flit:slt", "letter:B"], "flit"),
        (
            ["letter:B", "--tasks", "audiobench_demo_choice", "--norms", "demo"],
            "only SIQ has norms, and the tasks are of",
        ),
        (["gold"], "task siq_demo_apply: asks questions, and gold only transcribes"),
        (["letter:Z"], "system letter:Z: no question has an option Z; write one of letter:A to letter:E"),
    ],
)
def test_everything_is_checked_before_the_first_run(demo_models, speech_rater, tmp_path, monkeypatch, arguments, fault):
    (tmp_path / "few.jsonl").write_text('{"id": "demo/earnings-1", "text": "Good morning."}\n')
    monkeypatch.setenv("SIQ_QUESTIONS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = siq_eval(*arguments, "-o", "out")
    assert isinstance(done.exception, SpeechIQError) and fault in str(done.exception) and "[1/" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_hub_that_never_answers_ends_the_check_in_one_line(silent_server, tmp_path):
    impatient = "from speechiq.core.checkpoints import names\nnames.NOTICE_S, names.LIMIT_S = 0.1, 0.5\n"
    tmp_path.joinpath("sitecustomize.py").write_text(impatient)
    environment = os.environ | {"HF_ENDPOINT": silent_server, "HF_HUB_OFFLINE": "", "no_proxy": "*"}
    environment |= {"SIQ_CACHE": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])
    arguments = ("letter:B", "--tasks", "siq_medasr_remember", "--dry-run", "-o", "out")
    done = run_warm(siq, "eval", *arguments, cwd=tmp_path, env=environment)
    said = [line for line in done.stderr.splitlines() if not line.startswith("siq: checking")]
    assert done.returncode == 1 and len(said) == 2, done.stderr
    assert said[0].startswith(f"siq: waiting for the hub ({silent_server})") and "HF_HUB_OFFLINE=1" in said[0]
    assert "cannot be loaded and is not in the cache" in said[1] and "--metadata dataset_path=FOLDER" in said[1]


def test_controls_run_from_end_to_end(tiny_cascade, tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "find_warnings", lambda log: ["a clip is silent", f"{log.stem} is slow"])
    options = ["--limit", "2", "--norms", "demo", "--allow-mismatch", "-o", str(tmp_path)]
    options += ["--metadata", f"embedder={tiny_cascade.llm}"]
    planned = siq_eval(*LETTERS, *options, "--dry-run")
    first, *lines = planned.stdout.splitlines()
    assert first.startswith("# 2 systems x 3 tasks: 2 clips, 0.0"), planned.stderr
    docs = {"apply": 6, "remember": 2, "understand": 2}
    expected = [f"# siq_demo_{level}: {number} docs, 2 clips" for level, number in docs.items()]
    expected += [f"# {each}: cached: embedder " for each in LETTERS] + ["lm_eval "] * 2
    assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True)), lines
    assert not list(tmp_path.iterdir())
    done = succeeding(*LETTERS, *options)
    assert {row["system"] for row in json.loads((tmp_path / "siq.json").read_text())["systems"]} == set(LETTERS)
    assert done.stderr.count("a clip is silent") == 1 and done.stderr.count("is slow") == 2
    assert "INFO" not in done.stderr and "</html>" in (tmp_path / "report.html").read_text()
    assert len(list(tmp_path.glob("logs/*.log"))) == 2
    asked = [_clips_of(tmp_path / "letter__B", level) for level in levels(0.5)]
    assert len(asked[0]) == 2 and asked == [asked[0]] * 3, "all levels have the same clips"


def test_what_a_run_warns_of_is_said_below_it(endpoint_key, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    command = ["--tasks", "siq_demo_remember", "--limit", 1, "-o", tmp_path]
    with serving(lambda *_: (200, {}, completion("So it", "length"))) as server:
        done = succeeding(f"openai:ear,base_url={server.url}", *command)
        again = succeeding(f"openai:ear,base_url={server.url}", *command, "--force")
        assert len(server.requests) == 1, "the second run has its transcript from the response cache"
    assert f"{server.url}: openai:ear transcribing: 1 of 1 replies ended at the token limit\n" in done.stderr
    for printed in (done.stdout, again.stdout):
        cut = "1 of 1 transcripts of openai:ear end at a token limit: the model repeats itself, or an endpoint"
        assert cut in " ".join(printed.split()) and "max_gen_toks" not in printed


def _clips_of(folder, level):
    (file,) = folder.glob(f"samples_siq_demo_{level}_*")
    return {json.loads(row)["doc"]["id"] for row in file.read_text().splitlines()}


@pytest.mark.parametrize("arguments", [("audiobench_demo_choice",), ("siq_demo", "--limit", "1")])
def test_any_suite_level_and_limit_ends_with_a_table_a_report_and_a_hint_that_works(demo_models, tmp_path, arguments):
    done = succeeding("letter:B", "--tasks", *arguments, "-o", tmp_path / "my runs")
    assert "letter:B" in done.stdout, done.stderr
    assert "</html>" in (tmp_path / "my runs" / "report.html").read_text()
    for hint in (line for line in done.stderr.splitlines() if line.startswith("siq: hint: ")):
        words = shlex.split(hint.removeprefix("siq: hint: ").partition(" scores on")[0])
        assert CliRunner().invoke(app, words[1:]).exit_code == 0, hint


def test_a_run_under_a_condition_leaves_the_clean_one_finished(demo_models, tmp_path):
    command = ("letter:A", "--tasks", "siq_demo_apply", "--limit", 2, "-o", tmp_path)
    succeeding(*command)
    noisy = succeeding(*command, "--metadata", "condition=white@10dB")
    assert "letter:A [white@10dB]" in noisy.stdout, noisy.stderr
    assert "also has 1 run with others" in noisy.stderr
    assert f"hint: siq study robustness {tmp_path} shows what" in noisy.stderr
    succeed("study", "robustness", tmp_path)
    again = siq_eval(*command)
    assert "1 of 1 system finished before" in again.stderr and "white" not in again.stdout


def test_models_run_from_end_to_end_and_ctrl_c_is_one_line(tiny_cascade, tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_STORE", str(tmp_path / "store"))
    arguments = ["letter:B", f"{tiny_cascade.spec},llm_answer=likelihood", "--limit", "2"]
    arguments += ["--metadata", f"embedder={tiny_cascade.llm}", "-o", str(tmp_path / "out")]
    before = siq_eval(*arguments, "--dry-run")
    assert ": cached: asr 0 of 2 rows; later rows are not counted yet" in before.stdout, before.stderr
    command = [sys.executable, "-m", "speechiq.cli.main", "eval", *arguments]
    stopped = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while len(list(tmp_path.glob("out/logs/*.log"))) < 2 and stopped.poll() is None:
        time.sleep(0.1)
    os.killpg(stopped.pid, signal.SIGINT)
    _, printed = stopped.communicate(timeout=120)
    assert stopped.returncode == 130, printed
    assert printed.splitlines()[-1].startswith("siq: stopped by hand; the same command")
    assert "Traceback" not in printed and "[1/2] letter:B: finished" in printed
    done = succeeding(*arguments)
    assert "1 of 2 systems finished before" in done.stderr
    systems = json.loads((tmp_path / "out" / "siq.json").read_text())["systems"]
    assert {system["system"] for system in systems} == {tiny_cascade.spec, "letter:B"}
    after = siq_eval(*arguments, "--dry-run")
    assert ": cached: asr 2 of 2 rows, text 12 of 12 rows, embedder 8 of 8 rows\n" in after.stdout, after.stderr


def test_a_changed_transcript_file_runs_again(instant, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation_record, "list_own_files", lambda system: [tmp_path / f"{system}.jsonl"])
    for system in ("good", "fair", "poor"):
        (tmp_path / f"{system}.jsonl").write_text(system)
    for _ in range(2):
        succeeding("good", "fair", "poor", "-o", tmp_path / "out")
    assert instant == ["good", "fair", "poor"]
    (tmp_path / "fair.jsonl").write_text("another transcript")
    succeeding("good", "fair", "poor", "-o", tmp_path / "out")
    assert instant == ["good", "fair", "poor", "fair"]


def test_inputs_are_transcripts_questions_and_the_texts_of_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_QUESTIONS", str(tmp_path / "questions"))
    for name in ("mine.jsonl", "questions/medasr.jsonl", "questions/voxpopuli.jsonl", "tasks/calls.csv", "tasks/a.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    plan = Plan((), ("siq_medasr",), str(tmp_path / "out"), include_path=str(tmp_path / "tasks"))
    found = evaluation_record.hash_inputs(f"transcripts:{tmp_path / 'mine.jsonl'}+org/model,llm_dtype=auto", plan)
    assert [Path(file).name for file in found] == ["mine.jsonl", "medasr.jsonl", "calls.csv"]
    assert evaluation_record.hash_inputs("demo", Plan((), ("siq_demo",), str(tmp_path))) == {}
