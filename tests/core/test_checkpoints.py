"""Test names of models: demo models, folders, the hub and whether it answers; and what their files say."""

import json
import os
import shutil
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import datasets
import pytest
from huggingface_hub import close_session, constants
from transformers import AutoTokenizer, GPT2Config, LlamaConfig, MambaConfig, Qwen2Config

from speechiq.core.cache.stage_cache import StageCache
from speechiq.core.cache.stages import list_stages
from speechiq.core.checkpoints import names
from speechiq.core.checkpoints.names import DEMO_MODELS, identity, read_config, resolve, without_places
from speechiq.core.checkpoints.opening import check_tokens, read_context
from speechiq.core.errors import SpeechIQError
from speechiq.siq_tasks.demo.fetch import MODELS, ON_REQUEST
from tests.conftest import run


def test_a_demo_model_that_was_not_fetched_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    with pytest.raises(SpeechIQError, match=rf"demo:whisper-base: .*{tmp_path}.*siq demo fetch"):
        resolve("demo:whisper-base")


def test_a_demo_model_of_a_name_that_is_nearly_right_is_suggested(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    with pytest.raises(SpeechIQError, match=r"demo:whisper-bse: .*; did you mean demo:whisper-base\? known") as error:
        resolve("demo:whisper-bse")
    assert "fetch" not in str(error.value)


def test_the_models_that_can_be_fetched_are_known():
    assert {*DEMO_MODELS} == MODELS.keys() | ON_REQUEST.keys()


def test_a_demo_model_is_a_folder_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIQ_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    folder.joinpath("config.json").write_text("{}")
    assert resolve("demo:tiny") == str(folder) and resolve("Qwen/Qwen2-7B-Instruct") == "Qwen/Qwen2-7B-Instruct"


def test_a_missing_folder_is_named():
    for name in ("./nowhere", "~nobody-of-this-name/model", "/" + "x" * 300):
        with pytest.raises(SpeechIQError, match=rf"^{name}: no folder with a config\.json"):
            resolve(name)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "my models/tiny", "a/b/c"])
def test_a_name_that_no_model_on_the_hub_can_have_is_that_of_a_missing_folder(name, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SpeechIQError, match=r"no folder with a config\.json is there"):
        read_config(name)


def test_a_pipe_in_a_checkpoint_is_named_and_not_waited_for(tmp_path):
    tmp_path.joinpath("config.json").write_text('{"model_type": "whisper"}')
    tmp_path.joinpath("gone.json").symlink_to("nowhere")
    assert read_config(str(tmp_path)).model_type == "whisper"
    for name in ("tokenizer.json", "model.safetensors"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(SpeechIQError, match=rf"its config cannot be read \({name} is a pipe or a device\); "):
            read_config(str(tmp_path))
        tmp_path.joinpath(name).unlink()


def test_a_config_of_no_known_kind_is_named_with_the_way_out(tmp_path):
    tmp_path.joinpath("config.json").write_text(json.dumps({"model_type": "abacus"}))
    with pytest.raises(SpeechIQError, match=r"cannot be read .*pretrained=demo"):
        read_config(str(tmp_path))


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, "rope_theta": 5e5,
          "low_freq_factor": 1.0, "high_freq_factor": 4.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "rope_theta": 1e6}


@pytest.mark.parametrize(
    ("config", "context"),
    [
        (LlamaConfig(max_position_embeddings=4096), 4096),
        (LlamaConfig(max_position_embeddings=131072, rope_parameters=LLAMA3), 131072),
        (Qwen2Config(max_position_embeddings=32768, rope_parameters=YARN), 131072),
        (Qwen2Config(max_position_embeddings=131072, rope_parameters=YARN), 131072),
        (LlamaConfig(max_position_embeddings=4096, rope_parameters={"rope_type": "linear", "factor": 4.0}), 16384),
        (Qwen2Config(max_position_embeddings=8192, use_sliding_window=True, sliding_window=64), 8192),
        (GPT2Config(n_positions=1024), 1024),
        (MambaConfig(), None),
    ],
)
def test_the_context_is_that_of_the_architecture(config, context):
    assert read_context(config) == context


def test_a_tokenizer_counts_only_where_the_config_has_no_limit(demo_models):
    tokenizer = AutoTokenizer.from_pretrained(resolve("demo:SmolLM2-135M-Instruct"))
    tokenizer.model_max_length = 77
    assert read_context(MambaConfig(), tokenizer) == 77
    assert read_context(LlamaConfig(max_position_embeddings=99), tokenizer) == 99
    tokenizer.model_max_length = int(1e30)
    assert read_context(MambaConfig(), tokenizer) is None


def test_too_many_tokens_are_refused_with_the_numbers():
    check_tokens("m", "a", [0] * 8, 2, 10, "do")
    check_tokens("m", "a", [0] * 8, 2, None, "do")
    with pytest.raises(SpeechIQError, match=r"^m: a has 10,167 tokens, but the model takes 8,192; do$"):
        check_tokens("m", "a", [0] * 10_167, 0, 8192, "do")
    with pytest.raises(SpeechIQError, match=r"has 9 tokens and 2 for the answer, but the model takes 10"):
        check_tokens("m", "a", [0] * 9, 2, 10, "do")


OF_HUB = """
from speechiq.core.checkpoints.names import identity
print(identity("me/tiny"), identity("me/adapter", file="adapter_config.json"))
"""


def test_a_checkpoint_and_an_adapter_of_a_hub_are_their_commit(tmp_path):
    commit = "0123456789" * 4
    for name, file in (("tiny", "config.json"), ("adapter", "adapter_config.json")):
        repository = tmp_path / f"models--me--{name}"
        repository.joinpath("refs").mkdir(parents=True)
        repository.joinpath("refs", "main").write_text(commit)
        repository.joinpath("snapshots", commit).mkdir(parents=True)
        repository.joinpath("snapshots", commit, file).write_text("{}")
    done = run("python", "-c", OF_HUB, env=os.environ | {"HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"})
    expected = [str({"model": f"me/{name}", "commit": commit}) for name in ("tiny", "adapter")]
    assert done.stdout.strip() == " ".join(expected), done.stderr


def test_a_folder_is_its_files_wherever_it_lies(tmp_path, monkeypatch):
    for place in ("here", "there"):
        tmp_path.joinpath(place).mkdir()
        tmp_path.joinpath(place, "config.json").write_text("{}")
        tmp_path.joinpath(place, "model.safetensors").write_bytes(b"weights")
    tmp_path.joinpath("there", ".cache", "huggingface").mkdir(parents=True)
    tmp_path.joinpath("there", ".cache", "huggingface", "download.metadata").write_text("yesterday")
    here, there = (identity(str(tmp_path / place)) for place in ("here", "there"))
    assert here == there
    identity.cache_clear()
    tmp_path.joinpath("there", "model.safetensors").write_bytes(b"Weights")
    assert identity(str(tmp_path / "there")) != here
    identity.cache_clear()
    monkeypatch.setattr(names, "READ_WHOLE", 4)
    large = identity(str(tmp_path / "there"))
    identity.cache_clear()
    shutil.copytree(tmp_path / "there", tmp_path / "copied")
    assert identity(str(tmp_path / "copied")) == large
    identity.cache_clear()
    os.utime(tmp_path / "there" / "model.safetensors", (1, 1))
    assert identity(str(tmp_path / "there")) != large
    identity.cache_clear()


@pytest.mark.parametrize("option", ["model", "peft"])
def test_a_stage_of_a_folder_is_found_under_another_name_and_records_its_first_one(tmp_path, option):
    files = {"files": "5a7c"} if option == "model" else {"adapter": {"files": "5a7c"}}

    def open_cache(place):
        return StageCache({"stage": "asr", option: place} | files, tmp_path)

    assert open_cache("./tuned").folder == open_cache("/elsewhere/renamed").folder
    assert [stage.stage[option] for stage in list_stages(tmp_path)] == ["./tuned"]
    assert {*without_places({"peft": "a/hub", "adapter": {"model": "a/hub", "commit": "1"}})} == {"peft", "adapter"}


@pytest.fixture
def online(monkeypatch):
    """Start as a machine that has not concluded anything yet."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(names, "WAITS", (0, 0))
    names.notice_offline.cache_clear()
    close_session()
    yield monkeypatch
    names.notice_offline.cache_clear()
    close_session()


@pytest.fixture
def server():
    """Return the address of a server that refuses every request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_name_that_cannot_be_resolved_means_offline(online, caplog):
    online.setattr(constants, "ENDPOINT", "https://hub.invalid")
    assert names.notice_offline() and constants.HF_HUB_OFFLINE
    assert "the hub (https://hub.invalid) gives no connection" in caplog.text


@pytest.mark.parametrize("address", ["garbage", "localhost:8080", "htps://hub.invalid"])
def test_an_address_of_the_hub_that_is_none_is_named(online, address):
    online.setattr(constants, "ENDPOINT", address)
    assert names.find_hub_fault(2.0) == f"HF_ENDPOINT={address} is not an address that begins with https://"


def test_one_failure_is_not_believed(online, server):
    online.setattr(constants, "ENDPOINT", server)
    resolve, failures = socket.getaddrinfo, [socket.gaierror("try again")]

    def fail_once(*args, **kwargs):
        if failures:
            raise failures.pop()
        return resolve(*args, **kwargs)

    online.setattr(socket, "getaddrinfo", fail_once)
    assert not names.notice_offline() and not constants.HF_HUB_OFFLINE and not failures


def test_a_hub_that_never_answers_is_announced_and_then_taken_as_offline(online, silent_server, caplog, capfd):
    online.setattr(constants, "ENDPOINT", silent_server)
    online.setattr(names, "NOTICE_S", 0.1)
    online.setattr(names, "LIMIT_S", 0.5)
    assert names.notice_offline() and constants.HF_HUB_OFFLINE and datasets.config.HF_HUB_OFFLINE
    assert f"siq: waiting for the hub ({silent_server}), 0.4 s more; check the network, or set HF_HUB_OFFLINE=1" in (
        capfd.readouterr().err
    )
    assert f"the hub ({silent_server}) does not answer within 0.5 s: only models and data sets" in caplog.text


def test_any_answer_of_the_hub_counts(online, server, capfd):
    online.setattr(constants, "ENDPOINT", server)
    assert not names.notice_offline() and not constants.HF_HUB_OFFLINE and "waiting" not in capfd.readouterr().err


def test_a_proxy_resolves_the_name(online, server):
    online.setattr(constants, "ENDPOINT", "https://hub.invalid")
    online.setenv("https_proxy", server)
    assert not names.notice_offline()


def test_a_closed_port_is_no_hub(online, server):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        online.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert names.notice_offline()
