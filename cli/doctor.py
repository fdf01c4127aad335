"""Define `siq doctor`: examine this machine and say what would fail."""

from typing import Annotated

import typer

from speechiq.cli.commands import examples
from speechiq.cli.options import AsJson, complete_tasks
from speechiq.cli.probes import PROBES, SHOWN, find_sources, find_version
from speechiq.cli.tables import print_json, print_table
from speechiq.core.console import show


@examples("siq doctor", "siq doctor --tasks audiobench", "siq doctor --json")
def doctor(
    tasks: Annotated[
        str | None,
        typer.Option(help="Also ask the Hub for the data sets of a task or group.", autocompletion=complete_tasks),
    ] = None,
    json: AsJson = False,
) -> None:
    """Examine this machine; exit code 1 if nothing can run.

    Devices, packages, caches, keys, models and network are examined. The values of keys are never shown, and nothing
    waits longer than two seconds for the network, or five seconds per data set.
    """
    findings = [(topic, finding) for topic, probe in PROBES.items() for finding in probe()]
    findings += [("Data sets", finding) for finding in (find_sources(tasks) if tasks else ())]
    errors = [each for _, each in findings if each.state == "error"]
    versions = {package: find_version(package) for package in SHOWN}
    rows = [(topic, each.name, each.state, each.detail, each.fix) for topic, each in findings]
    if json:
        records = [dict(zip(("topic", "name", "state", "detail", "fix"), row, strict=True)) for row in rows]
        print_json({"ok": not errors, "versions": versions, "findings": records})
    else:
        print_table("Versions", list(versions), [tuple(versions.values())])
        print_table("This machine", ["Topic", "Examined", "State", "Found", "Fix"], rows)
        notes = sum(each.state == "note" for _, each in findings)
        outcome = f"fix the errors first, beginning with {errors[0].name}" if errors else "ready to run"
        show(f"{len(errors)} errors, {notes} notes: {outcome}")
    if errors:
        raise typer.Exit(1)
