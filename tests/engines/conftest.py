"""Share an environment with torchvision, which the processors of omni models need even for audio alone."""

import os

import pytest
import torch

from tests.conftest import run

#: PyPI builds torchvision for CUDA; beside a torch without CUDA its operators are missing, and its import asks for two.
OPERATORS = """
import torch
if torch.version.cuda is None:
    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


@pytest.fixture(scope="session")
def seeing(tmp_path_factory):
    """Return the variables of a process that has torchvision."""
    site = tmp_path_factory.mktemp("site")
    version = f"torchvision==0.{int(torch.__version__.split('.')[1]) + 15}.*"
    done = run("python", "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), version)
    assert done.returncode == 0, done.stderr
    site.joinpath("sitecustomize.py").write_text(OPERATORS)
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
