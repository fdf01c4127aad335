"""Define `siq doctor`: examine devices, packages, caches, keys, models and the hub, and say what would fail."""

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from packaging.requirements import Requirement
from rich.filesize import decimal

from speechiq.cli.commands import examples
from speechiq.cli.options import AsJson, complete_tasks
from speechiq.core.batches import count_cores
from speechiq.core.checkpoints.names import find_hub_fault
from speechiq.core.console import show
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.folders import VARIABLE, cache_dir, store_folder
from speechiq.core.files.plain import check_output_folder, exists

#: The packages that decide scores.
MAIN_PACKAGES = ("speechiq", "lm-eval", "transformers", "torch")
#: Seconds for anything that needs the network.
PATIENCE_S = 2.0
#: Bytes of free disk below which a run may fail: the demo's models and their conversion.
LITTLE_DISK = 2 * 10**9
#: Bytes of memory below which the demo may fail.
LITTLE_MEMORY = 4 * 10**9
KEYS = ("OPENAI_API_KEY", "HF_TOKEN")
SETTINGS = ("SIQ_CACHE", VARIABLE, "SIQ_TASKS", "OPENAI_BASE_URL", "HF_HOME", "HF_ENDPOINT", "HF_HUB_OFFLINE")


class Finding(NamedTuple):
    """Hold the result of an examination; `fix` may be empty, and without that of an error nothing runs."""

    name: str
    detail: str
    fix: str = ""
    is_error: bool = False

    @property
    def state(self) -> str:
        """Return `ok`, `note` or `error`."""
        return "error" if self.is_error else "note" if self.fix else "ok"


def find_version(package: str) -> str | None:
    """Return the version of an installed package, or None if it is not installed.

    >>> find_version("no-such-package") is None
    True
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def list_versions() -> list[str]:
    """Return a line per package that `siq --version` prints, and one for Python."""
    lines = [f"{package} {find_version(package) or 'is not installed'}" for package in MAIN_PACKAGES]
    return [*lines, f"Python {platform.python_version()}"]


def find_devices() -> Iterator[Finding]:
    """Yield processor, memory and accelerators."""
    yield Finding("processor", f"{count_cores()} of {os.cpu_count()} cores, {platform.machine()}, {platform.system()}")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield Finding("memory", decimal(memory), "use models of an endpoint" if memory < LITTLE_MEMORY else "")
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding("torch", f"cannot be imported: {error}", "pip install --force-reinstall torch", is_error=True)
        return
    for number in range(torch.cuda.device_count()):
        device = torch.cuda.get_device_properties(number)
        yield Finding(f"cuda:{number}", f"{device.name}, {decimal(device.total_memory)}")
    if torch.backends.mps.is_available():
        yield Finding("mps", platform.processor())
    if not torch.accelerator.is_available():
        fix = "choose small models, or those of an endpoint"
        if (find_version("torch") or "").endswith("+cpu") and shutil.which("nvidia-smi"):
            fix = "install torch with CUDA: this one is built for the processor"
        yield Finding("accelerator", "none: models run on the processor", fix)


def find_packages() -> Iterator[Finding]:
    """Yield Python, the required packages outside their tested versions, and the extras."""
    try:
        needed = [Requirement(line) for line in requires("speechiq") or ()]
        about = metadata("speechiq")
    except PackageNotFoundError:
        yield Finding("speechiq", "not installed", "pip install --editable . in a clone", is_error=True)
        return
    yield Finding("Python", f"{platform.python_version()} (tested {about['Requires-Python']})")
    always = [each for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
    faults = [fault for each in always if (fault := _compare(each))]
    yield from faults
    yield Finding("required", f"{len(always) - len(faults)} of {len(always)} in their tested versions")
    for extra in about.get_all("Provides-Extra") or ():
        wanted = [
            each for each in needed if each not in always and each.marker and each.marker.evaluate({"extra": extra})
        ]
        if missing := [each.name for each in wanted if find_version(each.name) is None]:
            yield Finding(f"extra {extra}", f"not installed: {', '.join(missing)}", f"pip install '.[{extra}]'")
        yield from (fault for each in wanted if each.name not in missing and (fault := _compare(each)))


def _compare(needed: Requirement) -> Finding | None:
    """Return the fault of a package; None if it is installed in a tested version."""
    version = find_version(needed.name)
    fix = f"pip install '{needed.name}{needed.specifier}'"
    if version is None:
        return Finding(needed.name, "not installed", fix, is_error=True)
    if not needed.specifier.contains(version, prereleases=True):
        return Finding(needed.name, f"{version}, tested {needed.specifier}", fix)
    return None


def find_caches() -> Iterator[Finding]:
    """Yield the folders of fetched and computed files."""
    from huggingface_hub import constants

    yield _examine_folder("speechiq cache", cache_dir(), "SIQ_CACHE")
    yield _examine_folder("hub cache", Path(constants.HF_HUB_CACHE), "HF_HOME")
    responses = store_folder()
    if responses is None:
        yield Finding("response cache", f"off ({VARIABLE}=off)", f"unset {VARIABLE} to resume runs")
    else:
        yield _examine_folder("response cache", responses, VARIABLE)


def _examine_folder(name: str, folder: Path, variable: str) -> Finding:
    try:
        check_output_folder(folder, f"set {variable} to another folder")
    except SpeechIQError as error:
        return Finding(name, str(error).partition(";")[0], f"set {variable} to a folder of yours", is_error=True)
    free = shutil.disk_usage(next(place for place in (folder, *folder.parents) if exists(place))).free
    fix = f"free space, or set {variable} to a folder on another disk" if free < LITTLE_DISK else ""
    return Finding(name, f"{folder}: {decimal(_measure(folder))}, {decimal(free)} free", fix)


def _measure(folder: Path) -> int:
    """Return the bytes of all files below a folder; links are not followed."""
    total = 0
    for place, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, file)).st_size  # noqa: PTH118 (a path object per file is slow)
    return total


def find_keys() -> Iterator[Finding]:
    """Yield whether keys are set, never their values, and the settings of the environment."""
    from huggingface_hub import get_token

    by_login = {"HF_TOKEN": get_token() is not None}
    for name in KEYS:
        yield Finding(
            name, "set" if os.environ.get(name) else "set by `hf auth login`" if by_login.get(name) else "not set"
        )
    for name in filter(os.environ.get, SETTINGS):
        yield Finding(name, "set")


def find_models() -> Iterator[Finding]:
    """Yield the demo's models and the default embedder."""
    from huggingface_hub import try_to_load_from_cache

    from speechiq.metrics.distance.readers import DEFAULT_EMBEDDER
    from speechiq.siq_tasks.demo.fetch import MODELS, find_model_fault

    for name in MODELS:
        fault = find_model_fault(name)
        yield Finding(f"demo:{name}", fault or "complete", "siq demo fetch" if fault else "")
    name = f"embedder {DEFAULT_EMBEDDER}"
    if isinstance(try_to_load_from_cache(DEFAULT_EMBEDDER, "config.json"), str):
        yield Finding(name, "in the hub cache")
    else:
        fix = "accept its license on its page on the hub, then run hf auth login; the demo set does not need it"
        yield Finding(name, "not in the hub cache", fix)


def find_hub() -> Iterator[Finding]:
    """Yield whether the model hub answers within `PATIENCE_S`."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        yield Finding("model hub", "offline (HF_HUB_OFFLINE)", "unset HF_HUB_OFFLINE to download")
    elif fault := find_hub_fault(PATIENCE_S):
        fix = "check HF_ENDPOINT, network and proxy, or use folders and demo:NAME, which need no hub"
        yield Finding("model hub", fault, fix)
    else:
        yield Finding("model hub", f"{constants.ENDPOINT} answers")


def find_sources(tasks: str) -> Iterator[Finding]:
    """Yield whether the source of each data set of a task or group has what is read."""
    from speechiq.siq_tasks.catalog.sources import check_sources
    from speechiq.siq_tasks.loaders.hub_sets import HubError

    try:
        for dataset, outcome in check_sources(tasks, {}):
            if isinstance(outcome, SpeechIQError):
                yield Finding(dataset, f"{outcome.thing}: {outcome.fault}", outcome.fix)
            else:
                yield Finding(dataset, outcome)
    except HubError as error:
        yield Finding(tasks, f"{error.thing}: {error.fault}", error.fix)


#: Topic -> its examinations.
PROBES: dict[str, Callable[[], Iterator[Finding]]] = {
    "Machine": find_devices,
    "Packages": find_packages,
    "Caches": find_caches,
    "Keys": find_keys,
    "Models": find_models,
    "Network": find_hub,
}


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
    from speechiq.cli.listing import print_json, print_table

    findings = [(topic, finding) for topic, probe in PROBES.items() for finding in probe()]
    findings += [("Data sets", finding) for finding in (find_sources(tasks) if tasks else ())]
    errors = [each for _, each in findings if each.state == "error"]
    versions = {package: find_version(package) for package in MAIN_PACKAGES}
    rows = [(topic, each.name, each.state, each.detail, each.fix) for topic, each in findings]
    if json:
        records = [dict(zip(("topic", "name", "state", "detail", "fix"), row, strict=True)) for row in rows]
        print_json({"ok": not errors, "versions": versions, "findings": records})
    else:
        print_table("Versions", list(versions), [tuple(versions.values())])
        for shown in dict.fromkeys(topic for topic, *_ in rows):
            print_table(shown, ["Examined", "State", "Found", "Fix"], [row for topic, *row in rows if topic == shown])
        notes = sum(each.state == "note" for _, each in findings)
        outcome = f"fix the errors first, beginning with {errors[0].name}" if errors else "ready to run"
        show(f"{len(errors)} errors, {notes} notes: {outcome}")
    if errors:
        raise typer.Exit(1)
