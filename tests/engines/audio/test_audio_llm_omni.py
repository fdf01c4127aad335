"""Test a model that also processes images and speaks, in an environment of its own, which has torchvision."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.engines.audio.hf import AudioLLM
from tests.conftest import run
from tests.engines.opener import open_engine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def omni(seeing, demo_models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("qwen2_5_omni")
    made = run("python", "-m", "tests.engines.tiny", "qwen2_5_omni", str(folder), env=seeing)
    assert made.returncode == 0, made.stderr
    return str(folder)


def test_an_omni_model_says_what_transformers_says_in_any_batch(seeing, omni):
    file = Path(__file__).with_name("test_audio_llm.py")
    done = run("python", "-m", "pytest", "-q", "-p", "no:xdist", "-k", "qwen2_5_omni", str(file), env=seeing)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout[-2000:]


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="torchvision is installed")
def test_a_missing_package_of_its_processor_is_one_line(omni):
    with pytest.raises(SpeechIQError, match=f"^{omni}: its processor cannot be loaded .*Torchvision"):
        open_engine(AudioLLM, omni, batch_size=1)
