"""Each room imports only those below it, upstream packages only by public modules, and heavy ones only when needed."""

import ast
import graphlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import speechiq
from tests.conftest import run

ROOT = Path(__file__).parent.parent
#: Lowest first; each may import those before it.
ROOMS = ("core", "engines", "metrics", "siq_tasks", "harness_patch", "reducer", "cli")
APART = {("reducer", "harness_patch")}
#: Modules of upstream packages that their documentation names; the rest only in the two files of `FENCE`.
PUBLIC = {
    "lm_eval": {
        "lm_eval", "lm_eval.__main__", "lm_eval.tasks", "lm_eval.models.api_models", "lm_eval.models.huggingface",
        "lm_eval.tasks.ifeval",  # The module of a task, which its YAML names.
        *(f"lm_eval.api.{name}" for name in ("filter", "instance", "model", "registry", "task")),
    },
    "transformers": {"transformers"},
    "accelerate": {"accelerate", "accelerate.utils"},
}  # fmt: skip
FENCE = {"harness_patch/_lm_eval.py": {"lm_eval"}, "engines/_transformers.py": {"transformers", "accelerate"}}
#: Holds the package under its name, in an installed environment and beside a checkout.
PATH = Path(speechiq.__file__).parent.parent
CHEAP = (
    "import speechiq; unwanted = {'numpy', 'plotly', 'typing'}; "
    "print(*(name for name in sys.modules if name.split('.')[0] in {'speechiq', *unwanted}))"
)
#: Modules of other packages that docstrings name.
FOREIGN = {"self", "np", "torch", "os", "json", "datasets", "numpy", "pandas", "evaluate", "jiwer", "speechiq", *PUBLIC}
HEAVY = ("torch", "transformers", "accelerate", "datasets", "lm_eval", "openai")
#: Room or module -> what has not been imported after it and those before it.
LIGHT = {
    **dict.fromkeys(["reducer", "cli"], (*HEAVY, "scipy", "sklearn")),
    **dict.fromkeys(["core", "reducer.output.page.plot", "harness_patch._lm_eval", "engines._transformers"], HEAVY),
    **dict.fromkeys(["metrics", "siq_tasks"], ("torch",)),
}


def list_imports(room: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield a file of a room, the module of each of its imports, and the name that is taken from it, if one is."""
    for file in (file for file in FILES if file.startswith(room)):
        for node in list_import_statements(file):
            if isinstance(node, ast.Import):
                yield from ((file, alias.name, "") for alias in node.names)
            else:
                assert node.level == 0, f"{file}: relative import"
                yield from ((file, node.module, alias.name) for alias in node.names)


@cache
def list_import_statements(file: str) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(parse(file)) if isinstance(node, ast.Import | ast.ImportFrom)]


#: The public API in the root; it imports rooms, and no room imports it.
ROOT_FILES = ("__init__.py",)
FILES = [file.relative_to(ROOT).as_posix() for room in ROOMS for file in sorted(ROOT.joinpath(room).rglob("*.py"))]
FILES += ROOT_FILES


@cache
def parse(file: str) -> ast.Module:
    return ast.parse(ROOT.joinpath(file).read_text(encoding="utf-8"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below_it(room):
    above = {*ROOMS[ROOMS.index(room) + 1 :], *(other for mine, other in APART if mine == room)}
    wrong = [
        f"{file}: {module}"
        for file, module, name in list_imports(f"{room}/")
        if module.split(".")[0] == "speechiq" and (*module.split("."), name)[1] in above
    ]
    assert not wrong


#: Files and folders that people can take in at a glance.
MOST_NEIGHBORS = 17
#: Parts of the reducer with their place in its order; each imports only parts before its own.
PARTS = {"imports": 0, "runs": 0, "stats": 0, "scores": 1, "studies": 2, "output": 3, "api": 4}


def test_a_part_of_the_reducer_imports_only_parts_below_it():
    wrong = []
    for file, module, name in list_imports("reducer/"):
        part = Path(file).parts[1].removesuffix(".py")
        names = [*module.split("."), name]
        if part not in PARTS or names[:2] != ["speechiq", "reducer"] or names[2] in (part, ""):
            continue
        if PARTS.get(names[2], -1) >= PARTS[part]:
            wrong.append((file, ".".join(names[2:4])))
    assert not wrong


def test_no_files_import_in_a_circle():
    modules = {name_module(file) for file in FILES}
    imports = {module: set() for module in modules}
    for file, module, part in list_imports():
        # A package runs before the module that is taken from it.
        imports[name_module(file)] |= {module, f"{module}.{part}"}
    graph = {own: modules & names - {own, "speechiq"} for own, names in imports.items()}
    graphlib.TopologicalSorter(graph).prepare()


def name_module(file: str) -> str:
    return ".".join(("speechiq", *Path(file).with_suffix("").parts)).removesuffix(".__init__")


#: Pairs of folders that still import each other; the list may only shrink.
CIRCLES = {
    "speechiq.metrics.distance speechiq.metrics.words",
    "speechiq.siq_tasks.catalog speechiq.siq_tasks.loaders",
    "speechiq.siq_tasks.catalog speechiq.siq_tasks.questions",
}


def test_no_two_folders_import_each_other():
    folders = {".".join(("speechiq", *Path(file).parent.parts)) for file in FILES if Path(file).parent.parts[1:]}
    edges = set()
    for file, module, name in list_imports():
        own = ".".join(("speechiq", *Path(file).parent.parts))
        part = f"{module}.{name}" if f"{module}.{name}" in folders else module
        other = part if part in folders else part.rpartition(".")[0]
        if own in folders and other in folders and other != own:
            edges.add((own, other))
    circles = {f"{one} {other}" for one, other in edges if (other, one) in edges and one < other}
    assert circles <= CIRCLES


def test_a_folder_has_few_neighbors():
    crowded = {}
    for folder in {file.parent for room in ROOMS for file in ROOT.joinpath(room).rglob("*.py")}:
        places = [place for place in folder.iterdir() if place.is_dir() or place.suffix == ".py"]
        neighbors = {place.name for place in places} - {"__init__.py", "__pycache__"}
        if len(neighbors) > MOST_NEIGHBORS:
            crowded[str(folder)] = len(neighbors)
    assert not crowded


def test_no_room_imports_the_root():
    public = {"", *speechiq.__all__}
    inside = (imported for imported in list_imports() if imported[0] not in ROOT_FILES)
    assert [imported for imported in inside if imported[1] == "speechiq" and imported[2] in public] == []


@pytest.mark.parametrize("package", PUBLIC)
def test_only_the_fence_imports_private_modules_of_upstream(package):
    wrong = [
        f"{file}: {module}.{name}"
        for file, module, name in list_imports()
        if package not in FENCE.get(file, ())
        if module.split(".")[0] == package and (module not in PUBLIC[package] or is_private(name))
    ]
    assert not wrong


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("file", FENCE)
def test_the_fence_is_low(file):
    assert len(ROOT.joinpath(file).read_text(encoding="utf-8").splitlines()) < 350


def test_the_root_has_sorted_names_that_exist():
    assert speechiq.__all__ == sorted(speechiq.__all__) == dir(speechiq)
    assert all(hasattr(speechiq, name) for name in speechiq.__all__)
    with pytest.raises(AttributeError, match="no attribute 'winner'"):
        speechiq.winner  # noqa: B018


@pytest.mark.slow
def test_the_root_alone_is_cheap_to_import():
    done = run("python", "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(PATH)!r}); {CHEAP}")
    assert done.returncode == 0 and done.stdout.split() == ["speechiq"], done.stdout + done.stderr


@pytest.mark.slow
def test_what_is_heavy_is_imported_when_it_is_needed():
    """Modules that only `evaluate.load` imports are left out: `evaluate` itself imports torch."""
    program = f"""
import importlib, pkgutil, sys
for room, unwanted in {LIGHT!r}.items():
    package = importlib.import_module("speechiq." + room)
    for module in pkgutil.walk_packages(getattr(package, "__path__", []), package.__name__ + "."):
        if ".metrics.evaluate." not in module.name:
            importlib.import_module(module.name)
    if found := set(unwanted) & set(sys.modules):
        print(room, *found)
"""
    done = run("python", "-c", program)
    assert done.returncode == 0 and done.stdout.strip() == "", done.stdout + done.stderr


def test_a_class_has_a_name_of_its_own():
    homes: dict[str, list[str]] = {}
    for file in FILES:
        for node in parse(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(file)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_what_a_docstring_names_in_a_module_is_there():
    """`module.name` in a docstring: the module has the name, unless it is one of another package."""
    named, known, defined = [], {}, set()
    for file, tree in zip(map(Path, FILES), map(parse, FILES), strict=True):
        names = known.setdefault(file.stem, set())
        for node in ast.walk(tree):
            names |= {getattr(node, field, None) for field in ("id", "attr", "name", "arg")}
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                defined.add(node.name)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                found = re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_]+)`", text)
                named += [(file, path.split(".")) for path in found]
    folders = {part for file in map(Path, FILES) for part in file.parent.parts}
    lost = []
    for file, path in named:
        module, name = path[-2:]
        is_file = name in known or name in folders or name in ("json", "py", "yaml")
        is_ours = module in known or (name in defined and module not in folders)
        if is_ours and not is_file and name not in known.get(module, ()) and path[0] not in FOREIGN:
            lost.append(f"{file}: {'.'.join(path)}")
    assert lost == []
