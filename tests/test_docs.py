"""The code blocks of the docs: Python is executed, and commands are parsed by the programs that they call."""

import re
import shlex
import subprocess
import tomllib
from configparser import ConfigParser
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from accelerate.commands.launch import launch_command_parser
from lm_eval._cli.harness import HarnessCLI
from lm_eval.config.evaluate_config import EvaluatorConfig
from typer.main import get_command

from speechiq.cli.demo import LLM, RECOGNIZERS
from speechiq.cli.main import app
from speechiq.engines.options import list_names, read_options
from speechiq.engines.registry import find_backend
from speechiq.engines.text.lm_eval import LMEvalText
from speechiq.harness_patch.systems.build import ALIASES
from speechiq.harness_patch.systems.spec import parse
from speechiq.harness_patch.systems.system import OWN
from speechiq.metrics.judge.rubric import read_rubric
from speechiq.metrics.judge.settings import JudgeOptions
from speechiq.siq_tasks.index import Function, read_task
from tests.reducer.conftest import write_run
from tests.test_rooms import ROOMS

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
VARIABLE = re.compile(r"[A-Z_]+=")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS = [found for page in PAGES for found in BLOCK.findall(page.read_text(encoding="utf-8"))]
ARGUMENTS = sorted(
    {
        f"pretrained={cell}"
        for cell in re.findall(r"\| `pretrained=(\S+)`", (ROOT / "docs/how-to/systems.md").read_text())
    }
)
SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")


def read_lines(block: str) -> list[str]:
    """Return the commands of a block; a line that ends with a backslash goes on in the next."""
    lines = (line.strip() for line in block.replace("\\\n", " ").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


#: Commands in the tables of questions and of papers.
CELLS = re.findall(r"\| `(siq [^`]+)`", (ROOT / "docs/index.md").read_text(encoding="utf-8"))
CELLS += re.findall(r"`(siq [^`]+)`", (ROOT / "docs/how-to/papers.md").read_text(encoding="utf-8"))
COMMANDS = sorted({line for kind, block in BLOCKS if kind == "bash" for line in read_lines(block)} | set(CELLS))
#: Commands that messages, pages and docstrings name, and plain words that are given to some.
SOURCES = [file for room in ROOMS for ending in ("py", "js", "j2") for file in ROOT.glob(f"{room}/**/*.{ending}")]
NAMED = sorted(
    {
        line
        for file in SOURCES
        for line in re.findall(r"(?:`|<code>)(siq [^`<\n]+)(?:`|</code>)", file.read_text(encoding="utf-8"))
    }
)
GIVEN = {"distillmos", "results", "runs"}
PYTHON = [block for kind, block in BLOCKS if kind == "python"]
RUBRICS = [block for kind, block in BLOCKS if kind == "yaml" and "\nkind: " in block]
YAML = [block for kind, block in BLOCKS if kind == "yaml" and block not in RUBRICS]
TOML = [block for kind, block in BLOCKS if kind == "toml"]
#: Published results of the demo.
REGISTRY = ROOT / "docs/registry"
CONFIGS = sorted(file for file in ROOT.glob("docs/**/*.yaml") if REGISTRY not in file.parents)


def check_make(arguments):
    subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, check=True, capture_output=True)


def option_names(backend):
    """Return the names of all options of an engine."""
    return {option.name for option in backend.list_options()}


def check_lm_eval(arguments):
    command = arguments[0] if arguments[0] in ("ls", "run", "validate") else "run"
    given = HarnessCLI()._parser.parse_args([command, *arguments[arguments[0] == command :]])
    if command == "run":
        check_run(EvaluatorConfig.from_cli(given) if given.config else given)


def check_run(given):
    """Check a run of a speech system: its spec, and the options of its engines."""
    options = dict(given.model_args)
    spec = options.pop("pretrained") if given.model == "hf-audio" else f"openai:{options.pop('model')}"
    *_, last = stages = parse(ALIASES.get(spec, (spec,))[0])
    if "speaks" in options:
        voice = options.pop("speaks").partition(":")[0]
        speaker = find_backend("reply", last.engine) if voice == OWN else find_backend("speech", voice)
        spoken = {name for name in options if name.startswith("speaks_")}
        assert {name.removeprefix("speaks_") for name in spoken} <= option_names(speaker)
        options = {name: value for name, value in options.items() if name not in spoken}
    assert given.model in ("hf-audio", "audio-api") and given.log_samples and given.output_path
    for name in options.keys() - {f"{last.prefix}answer", "store"}:
        stage = next(stage for stage in stages if name.startswith(stage.prefix))
        backend = find_backend(stage.kind, stage.engine)
        assert backend.load() is LMEvalText or name.removeprefix(stage.prefix) in option_names(backend), name
    check_judge(given.metadata or {})


def check_judge(metadata):
    """Check the options of a judge: its own, or those of its engine."""
    given = {name: value for name, value in metadata.items() if name.startswith("judge_")}
    if given:
        backend = find_backend("text", metadata["judge"].partition(":")[0])
        values = {name.removeprefix("judge_"): value for name, value in given.items()}
        own = list_names(JudgeOptions)
        assert backend.load() is LMEvalText or values.keys() <= own | option_names(backend)
        read_options(JudgeOptions, {name: value for name, value in values.items() if name in own}, engine="judge")


def check_accelerate(arguments):
    assert arguments[0] == "launch"
    launcher, module = arguments[1 : arguments.index("-m")], arguments[arguments.index("-m") + 1 :]
    launch_command_parser().parse_args([*launcher, "script.py"])
    assert module[0] == "lm_eval"
    check_lm_eval(module[1:])


def check_siq(arguments):
    command, context = get_command(app), None
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(command.name, arguments, parent=context)


def check_named(line):
    """Check a command that a message or page names: its words and options exist; what is given to it is not parsed."""
    command, words = get_command(app), line.split()[1:]
    while words and words[0] in getattr(command, "commands", ()):
        name, *words = words
        command = command.commands[name]
    names = {"--help", "--version"}.union(*(option.opts for option in command.params))
    assert {word for word in words if word.startswith("-")} <= names
    assert not words or words[0] in GIVEN or not re.fullmatch("[a-z_]+", words[0])


def check_pip(arguments):
    verb, *switches, package = arguments
    assert verb == "install" and set(switches) <= {"-e", "--editable"}
    extras = re.fullmatch(r"(?:\.|speechiq)(?:\[([\w,-]+)\])?", package)[1]
    assert set(extras.split(",") if extras else ()) <= set(SETUP["options.extras_require"])


def check_python(arguments):
    if arguments[0] == "-m":
        assert find_spec(arguments[1])
    else:
        assert ROOT.joinpath(arguments[0]).is_file()


def check_git(arguments):
    assert arguments == ["clone", "ADDRESS_OF_THIS_REPOSITORY", "speechiq"]


def check_cd(arguments):
    assert arguments == ["speechiq"], "the folder of the clone"


def check_source(arguments):
    assert arguments == [".venv/bin/activate"]


def check_export(arguments):
    assert not arguments, "only variables, which have been removed"


CHECKS = {
    "accelerate": check_accelerate,
    "cd": check_cd,
    "export": check_export,
    "git": check_git,
    "lm_eval": check_lm_eval,
    "make": check_make,
    "pip": check_pip,
    "python": check_python,
    "siq": check_siq,
    "source": check_source,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_docs_is_one_that_exists(command):
    program, *arguments = [word for word in shlex.split(command) if not VARIABLE.match(word)]
    CHECKS[program](arguments)


@pytest.mark.parametrize("command", NAMED)
def test_a_command_that_the_program_names_is_one_that_exists(command):
    check_named(command)


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_row_of_the_table_of_systems_is_written_as_the_parser_reads_it(arguments):
    command = "--model hf-audio --model_args {} --tasks siq_demo --log_samples --output_path runs"
    check_lm_eval(command.format(arguments).split())


@pytest.mark.parametrize("block", YAML)
def test_yaml_of_the_docs_is_a_task(block, tmp_path):
    file = tmp_path / "task.yaml"
    file.write_text(re.sub("^include: .*\n", "", block, flags=re.MULTILINE), encoding="utf-8")
    task = read_task(file)
    assert "task" in task or "group" in task
    for function in (value for value in task.values() if isinstance(value, Function)):
        module = function.rpartition(".")[0]
        assert not module.startswith("speechiq.") or ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py").is_file()


@pytest.mark.parametrize("block", RUBRICS)
def test_a_rubric_of_the_docs_is_one(block, tmp_path):
    file = tmp_path / "rubric.yaml"
    file.write_text(block, encoding="utf-8")
    assert read_rubric(str(file)).labels


@pytest.mark.parametrize("block", TOML)
def test_toml_of_the_docs_is_valid(block):
    assert tomllib.loads(block)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.name)
def test_a_config_file_of_the_docs_is_one_of_lm_eval(config):
    keys = yaml.safe_load(config.read_text(encoding="utf-8"))
    assert keys.keys() <= {field.name for field in fields(EvaluatorConfig)}
    check_lm_eval(["run", "--config", str(config)])


@pytest.mark.parametrize("block", PYTHON)
def test_python_of_the_docs_runs(block, tmp_path, monkeypatch, capsys):
    for system, acc in (("worse", 0.0), ("better", 1.0)):
        levels = {"remember": 0.5 - acc / 4, "understand": 0.5 + acc / 4}
        scores = {level: {"a": value, "b": value} for level, value in levels.items()}
        write_run(tmp_path / "runs" / system, scores | {"apply": {"a": {"q": acc}, "b": {"q": acc}}}, system)
    (tmp_path / "results").symlink_to(REGISTRY / "results")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    written = [page.read_text(encoding="utf-8") for page in tmp_path.glob("*.html")]
    shown = capsys.readouterr().out + "".join(written)
    assert "better" in shown or "runs" not in block, "a block that reads the runs shows their systems"


def test_the_table_of_questions_has_every_group_of_commands():
    groups = {command.split()[1] for command in CELLS}
    assert groups == set(get_command(app).commands) - {"run"}, "siq run is lm_eval itself"


def test_the_table_of_the_readme_names_the_demos_systems():
    readme = ROOT.joinpath("README.md").read_text()
    assert f"(each system ends in +{LLM})" in readme
    assert all(f" {recognizer} " in readme for recognizer in RECOGNIZERS)
