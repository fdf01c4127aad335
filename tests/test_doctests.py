"""Run the examples in docstrings, also those that `doctest` does not find because a decorator hides them."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("cli", "core", "engines", "metrics", "siq_tasks", "harness_patch", "reducer", "tools", "docs/hooks")
PYTHON = [file for room in ROOMS for file in sorted(ROOT.joinpath(room).rglob("*.py"))]
FILES = [file.relative_to(ROOT) for file in PYTHON if ">>> " in file.read_text(encoding="utf-8")]
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("file", FILES, ids=str)
def test_examples_give_what_is_written(file):
    name = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
    name = name if name.startswith("docs.") else f"speechiq.{name}"
    names, runner = vars(importlib.import_module(name)), doctest.DocTestRunner()
    text = ROOT.joinpath(file).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and (docstring := ast.get_docstring(node)):
            place = getattr(node, "name", name)
            runner.run(doctest.DocTestParser().get_doctest(docstring, {**names}, place, str(file), 0))
    assert runner.tries and not runner.failures
