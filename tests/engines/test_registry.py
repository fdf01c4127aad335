"""Test the registry of engines: their packages, their options in words, and engines of other packages.

The engine of docs/tutorials/new_engine.md is installed as a package of its own and run by lm-eval.
"""

import json
import os
import re
import shlex
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from speechiq.core.errors import SpeechIQError
from speechiq.core.suggestions import PROGRAMS
from speechiq.engines.registry import BACKENDS, KINDS, Backend, find_backend, list_backends
from tests.conftest import run
from tests.engines.opener import build

LIST = """
import json, sys
from speechiq.engines.registry import BACKENDS
missing = {backend.example: backend.missing() for backend in BACKENDS}
print(json.dumps([missing, [name for name in ("torch", "transformers", "openai") if name in sys.modules]]))
"""


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: f"{backend.kind} {backend.engine}")
def test_each_option_of_each_engine_is_described_in_one_line(backend):
    for option in backend.list_options():
        assert option.description.endswith(".") and "\n" not in option.description, option
        assert not option.type.startswith("value of the type"), option


def test_an_option_has_limits_and_a_default_in_words():
    options = {option.name: option for option in list_backends("asr")["hf"].list_options()}
    assert (options["num_beams"].type, options["num_beams"].default) == ("whole number of 1 or more", "")
    assert (options["window_s"].type, options["window_s"].default) == ("number of seconds from 1 to 86400", "30.0")
    assert options["quantization"].type == "4bit or 8bit"
    assert options["trust_remote_code"][1:3] == ("True or False", "False")


def test_missing_packages_are_found_without_importing_any():
    done = run("python", "-c", LIST)
    assert done.returncode == 0, done.stderr
    missing, imported = json.loads(done.stdout)
    found = {example: [name for name in names if name not in PROGRAMS] for example, names in missing.items()}
    assert found == {backend.example: [] for backend in BACKENDS} and not imported


def test_a_missing_program_is_named_with_its_installation(monkeypatch):
    monkeypatch.setenv("PATH", "")
    voices = [backend for backend in BACKENDS if backend.program]
    assert {backend.program for backend in voices} == set(PROGRAMS)
    assert all(backend.missing() == [backend.program] for backend in voices)
    assert all(backend.installation == PROGRAMS[backend.program] for backend in voices)


def test_a_missing_package_is_named_and_each_engine_with_a_package_has_an_extra():
    backend = Backend("asr", "other", "other_engine:OtherASR", "NAME", "other-package")
    assert backend.missing() == ["other-package"] and backend.example == "other:NAME"
    assert {backend.kind for backend in BACKENDS} == set(KINDS)
    assert all(bool(backend.package) == bool(backend.extra) for backend in BACKENDS)


PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "new_engine.md"
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
BACKEND = '\n[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install the package of the page and return the folder."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    source.joinpath("pyproject.toml").write_text(BLOCKS["toml"] + BACKEND)
    source.joinpath("sphinx_engine.py").write_text(BLOCKS["python"])
    done = run("python", "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--target", target, source)
    assert done.returncode == 0, done.stderr
    return target


def test_the_engine_of_the_page_transcribes_in_lm_eval(demo_models, installed, tmp_path):
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    done = run(*shlex.split(BLOCKS["sh"]), env=os.environ | {"PYTHONPATH": path}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.rglob("results_*.json")
    system = json.loads(file.read_text())["config"]["siq"]["system"]
    assert system["asr"]["language_weight"] == 7 and system["asr"]["engine"].startswith("pocketsphinx ")
    (samples,) = tmp_path.rglob("samples_*.jsonl")
    assert len(json.loads(samples.read_text().splitlines()[0])["resps"][0][0].split()) > 5


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"asr_language_weight": 99}, r"^asr_language_weight=99: not a number from 1 to 20; give one$"),
        ({"asr_language_wieght": 7}, r"^asr_language_wieght: no such option of the sphinx engine; .* asr_language_wei"),
    ],
)
def test_its_options_have_limits_and_names(demo_models, installed, monkeypatch, options, line):
    monkeypatch.setattr(sys, "path", [str(installed), *sys.path])
    with pytest.raises(SpeechIQError, match=line):
        build("sphinx:en-us+demo:SmolLM2-135M-Instruct", **options)


def write_entry(folder: Path, name: str) -> None:
    """Write what an installed package leaves of an entry point."""
    info = folder / "other_engine-1.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: other-engine\nVersion: 1\n")
    info.joinpath("entry_points.txt").write_text(f"[speechiq.engines]\n{name} = other_engine:OtherASR\n")
    assert PathDistribution(info).entry_points


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("asr.gold", r"^other-engine, entry point asr\.gold = other_engine:OtherASR: the asr engine gold is regist"),
        ("gold", r"^other-engine, entry point gold = .*: not the name of an engine; rename .* asr\.NAME, text\.NAME"),
        ("ger.gold", r"^other-engine, entry point ger\.gold = .*: not the name of an engine"),
    ],
)
def test_a_name_that_is_taken_or_has_no_kind_is_refused(tmp_path, monkeypatch, name, message):
    write_entry(tmp_path, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(SpeechIQError, match=message):
        list_backends("asr")


def test_another_package_adds_an_engine_which_is_imported_only_when_it_runs(tmp_path, monkeypatch):
    write_entry(tmp_path, "asr.other")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert find_backend("asr", "other").class_path == "other_engine:OtherASR"
    assert "other" not in list_backends("text")
