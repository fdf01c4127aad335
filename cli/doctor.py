"""Define `siq doctor`: examine this machine and say what would fail."""

from __future__ import annotations

from itertools import chain

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AsJson
from speechiq.cli.probes import PROBES, SHOWN, find_version
from speechiq.cli.tables import print_json, print_table
from speechiq.core.console import show

SIGNS = {"ok": "ok", "note": "note", "error": "ERROR"}


@examples("siq doctor", "siq doctor --json")
def doctor(json: AsJson = False) -> None:
    """Examine this machine; exit code 1 if nothing can run.

    Devices, packages, caches, keys, models and network are examined. The values of keys are never shown, and nothing
    waits longer than two seconds for the network.
    """
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
        outcome = f"fix the errors first, beginning with {errors[0].name}" if errors else "ready to run"
        show(f"{len(errors)} errors, {notes} notes: " + outcome)
    if errors:
        raise typer.Exit(1)
