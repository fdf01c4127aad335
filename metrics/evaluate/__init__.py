"""Offer the metrics as modules of Hugging Face's `evaluate`, loaded from disk without network."""

from pathlib import Path

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import suggest

MODULES = ("wer", "similarity", "choice", "meteor", "judge")


def path(name: str) -> str:
    """Return the path of a module, for `evaluate.load`.

    Args:
        name: One of `MODULES`, such as `wer`.

    >>> Path(path("wer")).name
    'speechiq_wer.py'
    """
    if name not in MODULES:
        raise SpeechIQError(f"evaluate module {name!r}", "unknown", suggest(name, MODULES))
    return str(Path(__file__).with_name(f"speechiq_{name}.py"))
