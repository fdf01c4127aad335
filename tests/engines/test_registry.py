"""Test what programs and help texts read in the registry: engines, their packages, and their options in words."""

import json

import pytest

from speechiq.core.suggestions import PROGRAMS
from speechiq.engines.registry import BACKENDS, KINDS, Backend, list_backends
from tests.conftest import run

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
    names = [option.name for option in backend.list_options()]
    assert sorted(names) == sorted(backend.load().option_names())


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


def test_a_missing_package_is_named_and_each_engine_with_packages_has_an_extra():
    backend = Backend("asr", "other", "other_engine:OtherASR", "NAME", ("other_package", "json"), "other")
    assert backend.missing() == ["other_package"] and backend.example == "other:NAME"
    assert {backend.kind for backend in BACKENDS} == set(KINDS)
    assert all(bool(backend.packages) == bool(backend.extra) for backend in BACKENDS)
