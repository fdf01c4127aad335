"""Call `siq` inside the process of the tests: what it prints, or the error that it refuses with."""

from typer.testing import CliRunner

from speechiq.cli.main import app
from speechiq.core.errors import SpeechIQError


def siq(*arguments: object) -> str:
    """Return what a command prints on stdout; it has to succeed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.exception, result.output)
    return result.stdout


def refusal(*arguments: object) -> str:
    """Return the one line of the error that a command ends with."""
    error = CliRunner().invoke(app, [str(argument) for argument in arguments]).exception
    assert isinstance(error, SpeechIQError) and "\n" not in str(error)
    return str(error)
