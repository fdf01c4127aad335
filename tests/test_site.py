"""The generated pages of the documentation name everything that there is; `make docs` builds the site itself."""

from pathlib import Path

import pytest
import yaml
from typer.main import get_command

import speechiq
from docs.hooks.commands import describe_lm_eval, describe_siq
from docs.hooks.extras import describe, read_extras
from docs.hooks.python_api import INDEX, ROOMS, TOPICS, list_names, write_index
from docs.hooks.repository import PAGES, rewrite
from docs.hooks.tasks import FORMULAS, describe_metrics, describe_tasks
from speechiq import reducer
from speechiq.cli.main import app
from speechiq.engines import base
from speechiq.engines.base import Engine
from speechiq.engines.registry import KINDS, list_backends
from speechiq.siq_tasks.index import list_tasks
from tests.test_docs import PYTHON, ROOT, SETUP
from tests.test_rooms import ROOMS as ALL_ROOMS

EXTRAS = read_extras(ROOT.joinpath("setup.cfg").read_text(encoding="utf-8"))


def list_commands(command, words="siq"):
    yield words
    for name, below in getattr(command, "commands", {}).items():
        yield from list_commands(below, f"{words} {name}")


def test_every_command_of_siq_has_a_section():
    page = describe_siq()
    assert all(f"# `{words}`\n" in page for words in list_commands(get_command(app)))
    assert "[bold]" not in page and "&#x27;" not in page


def test_every_option_has_a_heading_that_the_search_finds():
    page = describe_siq()
    assert '#### <span class="command">siq eval </span>`--limit` { #siq-eval---limit .option }' in page
    assert "`-o, --output` { #siq-data-speak---output .option }" in page and " None`" not in page


def test_the_page_of_commands_has_model_types_and_metadata():
    page = describe_lm_eval()
    assert all(name in page for name in ("`hf-audio`", "`audio-api`", "| `embedder` |", "| `subset` |"))


def test_every_extra_says_what_it_is_for():
    assert {extra.name for extra in EXTRAS} == set(SETUP["options.extras_require"])
    assert all(extra.purpose.endswith(".") and extra.requirements for extra in EXTRAS)


def test_every_engine_and_option_is_listed():
    page = describe(EXTRAS)
    for backend in (found for kind in KINDS for found in list_backends(kind).values()):
        assert f"`{backend.example}`" in page
        assert all(f"| `{option.name}` |" in page for option in backend.list_options())


def test_every_task_and_metric_is_listed():
    tasks = [task for task in list_tasks(check_files=False) if not task.is_outside_short_lists]
    listed, metrics = describe_tasks(tasks), describe_metrics(tasks)
    assert all(f"`{task.name}`" in listed for task in tasks)
    # Error rates in the unit of a language stand on the page of languages.
    assert all(f"| `{measure}` |" in metrics for measure in {task.measure for task in tasks} - {"cer", "mer"})
    assert "::: speechiq.metrics.words.wer.score" in metrics and "the measure" in metrics
    assert all(f"$${formula}$$" in metrics for formula in FORMULAS.values())


def test_the_python_reference_has_the_names_of_the_package_and_of_the_docs():
    assert set(ROOMS) == set(ALL_ROOMS)
    public = {name for topic in TOPICS.values() for _, names in list_names(topic) for name in names}
    assert public >= (set(speechiq.__all__) | set(reducer.__all__)) - {"__version__", "plot"}
    protocols = {name for name, member in vars(base).items() if isinstance(member, type) and Engine in member.__mro__}
    assert public >= protocols and not any(name.startswith("_") for name in public)
    modules = {module for topic in TOPICS.values() for module in topic.names}
    lines = [line.split() for block in PYTHON for line in block.splitlines() if line.startswith("from speechiq")]
    for _, module, _, *names in lines:
        for name in (name.strip(",") for name in names):
            assert name in public or any(f"{listed}.".startswith(f"{module}.{name}.") for listed in modules), name
    assert all(f"`{name}`" in write_index() for name in public)


@pytest.mark.parametrize(
    ("link", "origin", "page", "wanted"),
    [
        ("LICENSE", "README.md", "index.md", "LICENSE"),
        ("docs/glossary.md", "CONTRIBUTING.md", "contributing.md", "glossary.md"),
        ("../../CHANGELOG.md", "docs/how-to/report.md", "how-to/report.md", "../changelog.md"),
        ("../tutorials/python.ipynb", "docs/how-to/report.md", "how-to/report.md", "../tutorials/python.md"),
        ("missing.md", "README.md", "index.md", "missing.md"),
    ],
)
def test_a_link_of_the_repository_is_one_of_the_site(link, origin, page, wanted):
    assert rewrite(link, Path(origin), page) == wanted


def test_the_navigation_has_every_page_by_its_title():
    class Loader(yaml.SafeLoader):
        """Reads the names of Python functions in the configuration as nothing."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    nav = yaml.load(ROOT.joinpath("mkdocs.yml").read_text(encoding="utf-8"), Loader)["nav"]
    entries = [page for tab in nav for pages in tab.values() for page in pages]
    made_of_runs = [{"Example report": "example/report.html"}, {"Example registry": "registry/index.html"}]
    assert [entry for entry in entries if not isinstance(entry, str)] == made_of_runs
    places = [entry for entry in entries if isinstance(entry, str)]
    written = {file.relative_to(ROOT / "docs").as_posix() for file in ROOT.glob("docs/**/*.md")}
    made = {INDEX, *TOPICS, *PAGES.values()}
    assert written | made <= set(places) and len(set(places)) == len(places)
