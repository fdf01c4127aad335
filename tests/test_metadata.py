"""What describes the project: the citation, its version and its links agree."""

from configparser import ConfigParser
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg", encoding="utf-8")
CITATION = yaml.safe_load(ROOT.joinpath("CITATION.cff").read_text(encoding="utf-8"))
#: Keys that version 1.2.0 of the format requires.
REQUIRED = {"cff-version", "message", "title", "authors"}


def test_the_citation_has_what_its_format_requires():
    assert CITATION.keys() >= REQUIRED and CITATION["cff-version"] == "1.2.0"
    paper = CITATION["preferred-citation"]
    assert paper.keys() >= {"type", "title", "authors", "year", "doi", "url"}
    assert all(author.keys() == {"family-names", "given-names"} for author in paper["authors"])
    assert len(paper["authors"]) == 11 and paper["conference"]["name"] == "ACL 2025"


def test_the_citation_agrees_with_the_package():
    about = SETUP["metadata"]
    assert str(CITATION["version"]) == about["version"]
    assert CITATION["license"] == about["license_expression"]
    assert [author["name"] for author in CITATION["authors"]] == [about["author"]]


def test_the_package_names_no_address_but_that_of_the_paper():
    about = SETUP["metadata"]
    assert "url" not in about and "repository-code" not in CITATION
    assert about["project_urls"].split(" = ")[1:] == [CITATION["preferred-citation"]["url"]]


def test_workflow_and_templates_are_valid():
    files = [*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml"]
    assert len(files) >= 6 and all(yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    workflow = yaml.safe_load(ROOT.joinpath(".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert {"run": ".ci/run"} in workflow["jobs"]["check"]["steps"]


def test_lint_and_hooks_run_the_same_tools():
    (hooks,) = yaml.safe_load(ROOT.joinpath(".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    recipe = ROOT.joinpath("Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    tools = {line.split()[0].removeprefix("$(BIN)/") for line in recipe.splitlines()[1:]}
    assert {Path(hook["entry"].split()[0]).name for hook in hooks["hooks"]} == tools
