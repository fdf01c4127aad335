"""Examine this machine for `siq doctor`: devices, packages, caches, keys, models and the hub."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from packaging.requirements import Requirement
from rich.filesize import decimal

from speechiq.core.cache.folder import VARIABLE, cache_dir, store_folder
from speechiq.core.checkpoints.hub import find_hub_fault, within
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import check_output_folder, exists

#: The packages that decide scores.
SHOWN = ("speechiq", "lm-eval", "transformers", "torch")
#: Seconds for anything that needs the network.
PATIENCE_S = 2.0
#: Bytes of free disk below which a run may fail: the demo's models and their conversion.
LITTLE_DISK = 2 * 10**9
#: Bytes of memory below which the demo may fail.
LITTLE_MEMORY = 4 * 10**9
KEYS = ("OPENAI_API_KEY", "HF_TOKEN")
SETTINGS = ("SIQ_CACHE", VARIABLE, "SIQ_TASKS", "OPENAI_BASE_URL", "HF_HOME", "HF_ENDPOINT", "HF_HUB_OFFLINE")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class Finding(NamedTuple):
    """The result of one examination.

    Attributes:
        topic: The group of examinations.
        name: What was examined.
        state: `ok`; `note` for what only some uses need; `error` if nothing runs without it.
        detail: What was found.
        fix: What the user can do; empty if nothing is needed.
    """

    topic: str
    name: str
    state: Literal["ok", "note", "error"]
    detail: str
    fix: str = ""


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
    lines = [f"{package} {find_version(package) or 'is not installed'}" for package in SHOWN]
    return [*lines, f"Python {platform.python_version()}"]


def find_devices() -> Iterator[Finding]:
    """Yield processor, memory and accelerators."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if sys.platform == "linux" else cores
    yield Finding("Machine", "processor", "ok", f"{usable} of {cores} cores, {platform.machine()}, {platform.system()}")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    little = memory < LITTLE_MEMORY
    yield Finding(
        "Machine", "memory", "note" if little else "ok", decimal(memory), "use models of an endpoint" if little else ""
    )
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding(
            "Machine", "torch", "error", f"cannot be imported: {error}", "pip install --force-reinstall torch"
        )
        return
    for number in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(number)
        yield Finding("Machine", f"cuda:{number}", "ok", f"{about.name}, {decimal(about.total_memory)}")
    if torch.backends.mps.is_available():
        yield Finding("Machine", "mps", "ok", platform.processor())
    if not torch.accelerator.is_available():
        yield Finding("Machine", "accelerator", "note", "none: models run on the processor", _advise_accelerator())


def _advise_accelerator() -> str:
    if (find_version("torch") or "").endswith("+cpu") and shutil.which("nvidia-smi"):
        return "install torch with CUDA: this one is built for the processor"
    return "choose small models, or those of an endpoint"


def find_packages() -> Iterator[Finding]:
    """Yield Python, the required packages outside their tested versions, and the extras."""
    try:
        needed = [Requirement(line) for line in requires("speechiq") or ()]
        python = metadata("speechiq")["Requires-Python"]
    except PackageNotFoundError:
        yield Finding("Packages", "speechiq", "error", "not installed", "pip install --editable . in a clone")
        return
    yield Finding("Packages", "Python", "ok", f"{platform.python_version()} (tested {python})")
    always = [each for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
    faults = [fault for each in always if (fault := _compare(each, essential=True))]
    yield from faults
    yield Finding(
        "Packages", "required", "ok", f"{len(always) - len(faults)} of {len(always)} in their tested versions"
    )
    for extra in metadata("speechiq").get_all("Provides-Extra") or ():
        with_extra = [
            each for each in needed if each not in always and each.marker and each.marker.evaluate({"extra": extra})
        ]
        for each in with_extra:
            if (fault := _compare(each, essential=False, extra=extra)) is not None:
                yield fault


def _compare(needed: Requirement, *, essential: bool, extra: str = "") -> Finding | None:
    """Return the fault of a package; None if it is installed in a tested version."""
    found = find_version(needed.name)
    fix = f"pip install '.[{extra}]'" if extra else f"pip install '{needed.name}{needed.specifier}'"
    name = f"{needed.name} (extra {extra})" if extra else needed.name
    if found is None:
        return Finding("Packages", name, "error" if essential else "note", "not installed", fix)
    if not needed.specifier.contains(found, prereleases=True):
        return Finding("Packages", name, "note", f"{found}, tested {needed.specifier}", fix)
    return None


def find_caches() -> Iterator[Finding]:
    """Yield the folders of fetched and computed files."""
    from huggingface_hub import constants

    folders = {"speechiq cache": cache_dir(), "hub cache": Path(constants.HF_HUB_CACHE)}
    responses = store_folder()
    if responses is None:
        yield Finding("Caches", "response cache", "note", f"off ({VARIABLE}=off)", f"unset {VARIABLE} to resume runs")
    else:
        folders["response cache"] = responses
    for name, folder in folders.items():
        yield _examine_folder(name, folder)


def _examine_folder(name: str, folder: Path) -> Finding:
    variable = {"speechiq cache": "SIQ_CACHE", "hub cache": "HF_HOME"}.get(name, VARIABLE)
    try:
        check_output_folder(folder, f"set {variable} to another folder")
    except SpeechIQError as error:
        return Finding("Caches", name, "error", str(error).partition(";")[0], f"set {variable} to a folder of yours")
    existing = next(place for place in (folder, *folder.parents) if exists(place))
    free = shutil.disk_usage(existing).free
    detail = f"{folder}: {decimal(_measure(folder))}, {decimal(free)} free"
    if free < LITTLE_DISK:
        return Finding("Caches", name, "note", detail, f"free space, or set {variable} to a folder on another disk")
    return Finding("Caches", name, "ok", detail)


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

    stored = {"HF_TOKEN": get_token() is not None}
    for name in KEYS:
        state = "set" if os.environ.get(name) else "set by `hf auth login`" if stored.get(name) else "not set"
        yield Finding("Keys", name, "ok", state)
    for name in filter(os.environ.get, SETTINGS):
        yield Finding("Keys", name, "ok", "set")


def find_models() -> Iterator[Finding]:
    """Yield the demo's models and the default embedder."""
    from speechiq.siq_tasks.demo.fetch import MODELS, find_fault

    for name in MODELS:
        fault = find_fault(name)
        yield Finding(
            "Models", f"demo:{name}", "note" if fault else "ok", fault or "complete", "siq demo fetch" if fault else ""
        )
    yield _examine_embedder()


def _examine_embedder() -> Finding:
    from huggingface_hub import try_to_load_from_cache

    from speechiq.metrics.distance.embedder import DEFAULT_EMBEDDER

    name = f"embedder {DEFAULT_EMBEDDER}"
    if isinstance(try_to_load_from_cache(DEFAULT_EMBEDDER, "config.json"), str):
        return Finding("Models", name, "ok", "in the hub cache")
    fix = "accept its license on its page on the hub, then run hf auth login; the demo set does not need it"
    if not hub_answers():
        return Finding("Models", name, "note", "not in the hub cache, and the hub does not answer", fix)
    return Finding("Models", name, "note", *_ask_hub(DEFAULT_EMBEDDER, fix))


def _ask_hub(model: str, fix: str) -> tuple[str, str]:
    """Return whether the hub gives a model to this user, and the fix."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    def ask() -> tuple[str, str]:
        try:
            get_hf_file_metadata(hf_hub_url(model, "config.json"), timeout=PATIENCE_S)
        except (GatedRepoError, RepositoryNotFoundError):
            return "gated: the hub does not give it to you", fix
        except Exception as error:  # the client has many for a network at fault
            return f"the hub did not say ({type(error).__name__})", fix
        return "not in the hub cache; the hub gives it to you", ""

    return within(PATIENCE_S, ask, ("the hub did not answer in time", fix))


@cache
def hub_answers() -> bool:
    """Return whether the model hub answers within `PATIENCE_S`."""
    from huggingface_hub import constants

    return not constants.HF_HUB_OFFLINE and find_hub_fault(PATIENCE_S) is None


def find_hub() -> Iterator[Finding]:
    """Yield whether the model hub answers."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        yield Finding("Network", "model hub", "note", "offline (HF_HUB_OFFLINE)", "unset HF_HUB_OFFLINE to download")
    elif hub_answers():
        yield Finding("Network", "model hub", "ok", f"{constants.ENDPOINT} answers")
    else:
        yield Finding(
            "Network",
            "model hub",
            "note",
            f"{constants.ENDPOINT} does not answer within {PATIENCE_S:g} s",
            "check network and proxy, or use folders and demo:NAME, which need no hub",
        )


def find_browser() -> Iterator[Finding]:
    """Yield whether the browser that tests of the report and pictures of the docs need is installed."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser and find_spec("playwright"):
        yield Finding("Development", "Chromium", "ok", browser)
    else:
        detail = "Chromium not found" if not browser else "playwright not installed"
        yield Finding(
            "Development", "Chromium", "note", f"{detail}; only tests and docs need it",
            "apt-get install chromium" if not browser else "pip install '.[test]'",
        )  # fmt: skip


PROBES: tuple[Callable[[], Iterator[Finding]], ...] = (
    find_devices, find_packages, find_caches, find_keys, find_models, find_hub, find_browser,
)  # fmt: skip
