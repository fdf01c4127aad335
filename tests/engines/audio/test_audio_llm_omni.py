"""Test models that also process images and speak, in a process that has torchvision, which their processors need."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from speechiq.core.errors import SpeechIQError
from speechiq.engines.audio.hf import AudioLLM
from tests.conftest import run
from tests.engines.opener import open_engine

pytestmark = pytest.mark.slow

#: PyPI builds torchvision for CUDA; beside a torch without CUDA its operators are missing, and its import asks for two.
OPERATORS = """
import torch
if torch.version.cuda is None:
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


@pytest.fixture(scope="module")
def tested(demo_models, speech_rater, tmp_path_factory) -> Path:
    """Run the tests of omni models in a process with torchvision; return the folder of what they made."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("tested")
    version = f"torchvision==0.{int(torch.__version__.split('.')[1]) + 15}.*"
    installed = run("python", "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), version)
    assert installed.returncode == 0, installed.stderr
    site.joinpath("sitecustomize.py").write_text(OPERATORS)
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    files = [str(Path(__file__).with_name(name)) for name in ("test_omni_reply.py", "test_audio_llm.py")]
    done = run(
        "python", "-m", "pytest", "-q", "-p", "no:xdist", "-k", "omni", f"--basetemp={folder}", *files,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout[-3000:]
    return folder


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="torchvision is installed")
def test_they_do_what_transformers_does_and_a_missing_package_of_their_processor_is_one_line(tested):
    (omni,) = tested.glob("qwen2_5_omni0")
    with pytest.raises(SpeechIQError, match=f"^{omni}: its processor cannot be loaded .*Torchvision"):
        open_engine(AudioLLM, str(omni), batch_size=1)
