"""The help of every command: panels, examples that work, short options, near misses, versions, completion."""

from __future__ import annotations

import os
import shlex
from importlib.metadata import version

import pytest
from typer.main import get_command

from speechiq.cli.commands import COMMANDS as TABLE
from speechiq.cli.commands import PROMPT
from speechiq.cli.main import app
from speechiq.cli.options import complete_norms, complete_system, complete_tasks
from tests.commands import call, succeed
from tests.conftest import run


def walk(command, words=("siq",)):
    """Yield every command of `siq` with its words."""
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*words, name))


COMMANDS = dict(walk(get_command(app)))
LEAVES = {words: command for words, command in COMMANDS.items() if not hasattr(command, "commands")}
EXAMPLES = [
    (words, line.removeprefix(PROMPT).replace("\\[", "["))
    for words, command in COMMANDS.items()
    for line in (command.epilog or "").splitlines()
    if line.startswith(PROMPT)
]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_a_command_has_a_help_that_begins_with_a_verb_and_examples(words):
    command = LEAVES[words]
    assert command.help.partition("\n")[0] == TABLE[" ".join(words[1:])].help
    assert command.help[0].isupper() and command.help.split()[0] not in ("The", "A", "This")
    options = {name: option for option in command.params for name in option.opts if name.startswith("-")}
    assert not {"--csv", "--markdown", "--latex"} & options.keys(), "what is written is named by --output"
    assert ("--output" in options) == ("-o" in options)
    if words != ("siq", "run"):  # lm-eval prints its help
        assert any(example[0] == words for example in EXAMPLES), "no example at the foot of the help"
        shown = succeed(*words[1:], "-h")
        assert "Examples" in shown.stdout


@pytest.mark.parametrize("example", [example for _, example in EXAMPLES])
def test_an_example_is_a_command_that_parses(example):
    program, *arguments = shlex.split(example)
    command, context = get_command(app), None
    assert program == "siq"
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(command.name, arguments, parent=context)


def test_the_first_page_is_short_and_grouped_by_purpose():
    shown = call("-h").stdout
    panels = ["Run", "Score", "Prepare", "Machine"]
    places = [shown.index(f" {panel} ─") for panel in panels]
    assert places == sorted(places) and len([name for name in TABLE if " " not in name]) <= 17


def test_versions_are_printed():
    shown = call("--version").stdout
    assert all(f"{name} {version(name)}\n" in shown for name in ("speechiq", "lm-eval", "transformers", "torch"))


HEAVY = ("torch", "transformers", "lm_eval")


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--version"], HEAVY),
        (["list", "systems", "--json"], HEAVY),
        (["--help"], (*HEAVY, "numpy", "scipy", "speechiq.reducer")),
    ],
)
def test_a_quick_command_imports_nothing_heavy(arguments, unwanted):
    code = f"import sys; from speechiq.cli.main import app; app({arguments}, standalone_mode=False); "
    done = run("python", "-c", f"{code} assert not {{*{unwanted}}} & sys.modules.keys()")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments, near",
    [
        (["scor"], "score"),
        (["list", "norm"], "norms"),
        (["score", ".", "--weigths", "equal"], "--weights"),
        (["list", "systems", "faster-whispr"], "did you mean faster-whisper?"),
        (["list", "tasks", "siq_demo_aply"], "did you mean siq_demo_apply?"),
        (["list", "tasks", "earings22"], "did you mean earnings22?"),
        (["score", ".", "--weights", "equl"], "did you mean equal?"),
        (["list", "norms", "dmeo"], "did you mean demo@1?"),
        (["data", "check", "q.jsonl", "--dataset", "medasrr"], "did you mean medasr?"),
    ],
)
def test_a_near_miss_is_answered_with_the_name_that_exists(arguments, near):
    done = call(*arguments)
    assert done.exit_code != 0
    assert near in " ".join(f"{done.stderr} {done.exception}".split())


def test_names_are_completed():
    assert complete_tasks("siq_demo_ap") == ["siq_demo_apply"]
    assert "siq_demo,siq_all" in complete_tasks("siq_demo,siq_al")
    assert complete_norms("d") == ["demo@1"]
    assert "letter:B" in complete_system("let") and "gold+" in complete_system("go")
    assert "gold+openai:" in complete_system("gold+op")


@pytest.mark.slow
def test_a_shell_can_be_given_completion():
    shown = run(
        "siq", "--show-completion", "bash", env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    )
    assert shown.returncode == 0 and "_SIQ_COMPLETE" in shown.stdout


def test_an_option_has_one_meaning_in_all_commands():
    meanings = {}
    for command in LEAVES.values():
        for option in command.params:
            if option.opts[0] in ("--seed", "--bootstrap", "--allow-mismatch", "--judge-option", "--norms"):
                meanings.setdefault(option.opts[0], set()).add(option.help.partition(";")[0].rstrip("."))
    assert {name: len(texts) for name, texts in meanings.items()} == dict.fromkeys(meanings, 1)
