"""The code blocks of the docs: Python is executed, each command is checked against what would run it."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from accelerate.commands.launch import launch_command_parser
from lm_eval._cli.harness import HarnessCLI
from lm_eval.config.evaluate_config import EvaluatorConfig
from typer.main import get_command

from speechiq.cli.main import app
from speechiq.engines.registry import find
from speechiq.engines.text.lm_eval_model_types import ModelType
from speechiq.harness_patch.systems.build import ALIASES
from speechiq.harness_patch.systems.spec import parse
from speechiq.siq_tasks.demo.run import SYSTEMS
from tests.reducer.conftest import write_run

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
VARIABLE = re.compile(r"[A-Z_]+=")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
BLOCKS = [found for page in PAGES for found in BLOCK.findall(page.read_text(encoding="utf-8"))]
ARGUMENTS = sorted(
    {
        f"pretrained={cell}"
        for cell in re.findall(r"\| `pretrained=(\S+)`", (ROOT / "docs/how-to/systems.md").read_text())
    }
)
COMMANDS = sorted(
    {line for kind, block in BLOCKS if kind == "bash" for line in block.replace("\\\n", " ").splitlines()}
)
PYTHON = [block for kind, block in BLOCKS if kind == "python"]


def check_make(arguments):
    subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, check=True, capture_output=True)


def check_lm_eval(arguments):
    told = HarnessCLI()._parser.parse_args(["run", *(arguments[1:] if arguments[0] == "run" else arguments)])
    if told.config:
        told = EvaluatorConfig.from_cli(told)
    options = told.model_args
    spelling = options.pop("pretrained") if told.model == "hf-audio" else f"openai:{options.pop('model')}"
    *_, last = stages = parse(ALIASES.get(spelling, (spelling,))[0])
    assert told.model in ("hf-audio", "audio-api") and told.log_samples and told.output_path
    for name in options.keys() - {f"{last.prefix}answer"}:
        stage = next(stage for stage in stages if name.startswith(stage.prefix))
        engine = find(stage.kind, stage.engine).load()
        assert engine is ModelType or name.removeprefix(stage.prefix) in engine.option_names(), name


def check_accelerate(arguments):
    assert arguments[0] == "launch"
    launcher, asked = arguments[1 : arguments.index("-m")], arguments[arguments.index("-m") + 1 :]
    launch_command_parser().parse_args([*launcher, "script.py"])
    assert asked[0] == "lm_eval"
    check_lm_eval(asked[1:])


def check_siq(arguments):
    command, context = get_command(app), None
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(command.name, arguments, parent=context)


def check_pip(arguments):
    assert arguments == ["install", ".[demo]"]


CHECKS = {
    "make": check_make,
    "lm_eval": check_lm_eval,
    "siq": check_siq,
    "pip": check_pip,
    "accelerate": check_accelerate,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_docs_is_one_that_exists(command):
    program, *arguments = [word for word in shlex.split(command) if not VARIABLE.match(word)]
    CHECKS[program](arguments)


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_row_of_the_table_of_systems_is_spelled_as_the_parser_reads_it(arguments):
    command = "--model hf-audio --model_args {} --tasks siq_demo --log_samples --output_path runs"
    check_lm_eval(command.format(arguments).split())


@pytest.mark.parametrize("block", PYTHON)
def test_python_of_the_docs_runs(block, tmp_path, monkeypatch, capsys):
    for system, acc in (("worse", 0.0), ("better", 1.0)):
        levels = {"remember": 0.5 - acc / 4, "understand": 0.5 + acc / 4}
        scores = {level: {"a": value, "b": value} for level, value in levels.items()}
        write_run(tmp_path / "runs" / system, scores | {"apply": {"a": {"q": acc}, "b": {"q": acc}}}, system)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    written = [page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html")]
    shown = capsys.readouterr().out + "".join(written)
    assert "better" in shown or "runs" not in block, "a block that reads the runs shows their systems"


def test_the_table_of_the_readme_names_the_demos_systems():
    readme = ROOT.joinpath("README.md").read_text()
    assert all(f" {system} " in readme for system in SYSTEMS)
