"""Call `siq` inside the process of the tests: how it ends, what it prints, or the error that it refuses with."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError


def call(*arguments: object) -> Result:
    """Return how a command ends."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def succeed(*arguments: object) -> Result:
    """Return how a command ends, which has to succeed."""
    result = call(*arguments)
    assert result.exit_code == 0, (result.exception, result.output)
    return result


def siq(*arguments: object) -> str:
    """Return what a command prints on stdout; it has to succeed."""
    return succeed(*arguments).stdout


def print_and_write(*arguments: object) -> tuple[str, dict[str, Any]]:
    """Return the text that a command prints and the JSON that it writes; it has to succeed."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "out.json")
        printed = succeed(*arguments, "-o", file).output
        return printed, json.loads(file.read_text(encoding="utf-8"))


def as_json(*arguments: object) -> dict[str, Any]:
    """Return the JSON that a command writes; it has to succeed."""
    _, content = print_and_write(*arguments)
    return content


def refusal(*arguments: object) -> str:
    """Return the one line of the error that a command ends with."""
    error = call(*arguments).exception
    assert isinstance(error, SpeechIQError) and "\n" not in str(error)
    return str(error)
