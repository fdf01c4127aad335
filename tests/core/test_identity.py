import os
import shutil

import pytest

from speechiq.core.cache.stage_cache import StageCache
from speechiq.core.cache.stages import list_stages
from speechiq.core.checkpoints import names as module
from speechiq.core.checkpoints.names import identity, without_places
from tests.conftest import run


def test_an_adapter_of_a_hub_is_its_commit(tmp_path):
    repository = tmp_path / "models--me--adapter"
    commit = "0123456789" * 4
    repository.joinpath("refs").mkdir(parents=True)
    repository.joinpath("refs", "main").write_text(commit)
    repository.joinpath("snapshots", commit).mkdir(parents=True)
    repository.joinpath("snapshots", commit, "adapter_config.json").write_text("{}")
    ask = (
        "from speechiq.core.checkpoints.names import identity; "
        "print(identity('me/adapter', file='adapter_config.json'))"
    )
    done = run("python", "-c", ask, env=os.environ | {"HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"})
    assert done.stdout.strip() == str({"model": "me/adapter", "commit": commit}), done.stderr


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
    monkeypatch.setattr(module, "READ_WHOLE", 4)
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
    def open_cache(place):
        files = {"files": "5a7c"}
        return StageCache(
            {"stage": "asr", option: place} | (files if option == "model" else {"adapter": files}), tmp_path
        )

    assert open_cache("./tuned").folder == open_cache("/elsewhere/renamed").folder
    assert [stage.stage[option] for stage in list_stages(tmp_path)] == ["./tuned"]
    assert {*without_places({"peft": "a/hub", "adapter": {"model": "a/hub", "commit": "1"}})} == {"peft", "adapter"}
