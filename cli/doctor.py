"""Define `siq doctor`: examine this machine and say what would fail."""

from __future__ import annotations

from itertools import chain

import typer

from speechiq.cli.examples import examples
from speechiq.cli.tables import AsJson, print_json, print_table
from speechiq.cli.versions import SHOWN, find_version
from speechiq.core.console import show

EXAMPLES = examples("siq doctor", "siq doctor --json")
SIGNS = {"ok": "ok", "note": "note", "error": "ERROR"}


def doctor(json: AsJson = False) -> None:
    """Examine devices, packages, caches, keys, models and network; exit code 1 if nothing can run.

    The values of keys are never shown. Nothing waits longer than two seconds for the network.
    """
    from speechiq.cli.probes import PROBES

    findings = list(chain.from_iterable(probe() for probe in PROBES))
    errors = [each for each in findings if each.state == "error"]
    versions = {package: find_version(package) for package in SHOWN}
    if json:
        print_json({"ok": not errors, "versions": versions, "findings": [finding._asdict() for finding in findings]})
    else:
        print_table("Versions", list(versions), [tuple(versions.values())])
        rows = [(each.topic, each.name, SIGNS[each.state], each.detail, each.fix) for each in findings]
        print_table("This machine", ["Topic", "Examined", "State", "Found", "Fix"], rows)
        notes = sum(each.state == "note" for each in findings)
        show(f"{len(errors)} errors, {notes} notes: " + (_say_errors(errors[0].name) if errors else "ready to run"))
    if errors:
        raise typer.Exit(1)


def _say_errors(first: str) -> str:
    return f"fix the errors first, beginning with {first}"
