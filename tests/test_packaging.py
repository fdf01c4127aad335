"""The wheel, built from the sdist, in a fresh environment: found by lm-eval, and gone without a trace."""

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

#: One process builds the wheel, in the folder of the repository.
pytestmark = [pytest.mark.checks, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).parent.parent
LOOK = """
import json
from lm_eval.api.registry import model_registry
import lm_eval.models
from lm_eval.tasks import TaskManager
tasks = TaskManager(include_defaults=False).load(["siq_demo_remember", "siq_demo_apply"])["tasks"]
import speechiq.harness_patch.plugins as plugins
print(json.dumps([plugins.__file__, "hf-audio" in model_registry, {n: len(t.eval_docs) for n, t in tasks.items()}]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    dist = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", dist, ROOT], check=True, capture_output=True)
    assert len(list(dist.glob("*.tar.gz"))) == 1
    (wheel,) = dist.glob("*.whl")
    return wheel


class Fresh:
    """A virtual environment that sees this one's dependencies, but not how speechiq is installed here."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        self.python = folder / "bin" / "python"
        self.site = next(folder.glob("lib/python*/site-packages"))
        self.site.joinpath("dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(self, *arguments):
        return subprocess.run([self.python, *arguments], capture_output=True, text=True, cwd=self.site.parent)


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory):
    environment = Fresh(tmp_path_factory.mktemp("fresh"))
    environment.before = sorted(environment.site.iterdir())
    done = environment.run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    assert done.returncode == 0, done.stderr
    return environment


def test_the_wheel_holds_the_suite_and_nothing_of_the_workshop(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"speechiq", "speechiq.pth", "speechiq.start", f"{wheel.name.rsplit('-', 3)[0]}.dist-info"}
    shipped = {Path(name).relative_to("speechiq") for name in names if name.startswith("speechiq/")}
    top = {"__init__.py", "py.typed"}
    rooms = {path.parts[0] for path in shipped} - top
    assert rooms == {"cli", "core", "engines", "harness_patch", "metrics", "reducer", "siq_tasks"}
    on_disk = [*map(ROOT.joinpath, top), *(path for room in rooms for path in ROOT.joinpath(room).rglob("*"))]
    here = {path.relative_to(ROOT) for path in on_disk if path.is_file() and "__pycache__" not in path.parts}
    assert shipped == here


def test_the_installed_wheel_is_found_by_lm_eval_with_all_its_data(fresh):
    done = fresh.run("-c", LOOK)
    assert done.returncode == 0, done.stderr
    place, has_model, docs = json.loads(done.stdout.splitlines()[-1])
    assert place.startswith(str(fresh.site)) and has_model
    assert docs == {"siq_demo_remember": 14, "siq_demo_apply": 42}


@pytest.mark.parametrize("start", [["-m", "lm_eval"], ["-m", "accelerate.commands.launch", "--cpu", "-m", "lm_eval"]])
def test_every_way_to_start_lm_eval_finds_the_suite(fresh, start):
    done = fresh.run(*start, "validate", "--tasks", "siq_demo")
    assert done.returncode == 0 and "All tasks found and valid" in done.stdout


def test_without_the_start_up_file_siq_run_does_the_same(fresh):
    start_up = fresh.site / "speechiq.pth"
    away = start_up.rename(start_up.with_suffix(".away"))
    try:
        plain = fresh.run("-m", "lm_eval", "validate", "--tasks", "siq_demo")
        ours = fresh.run("-m", "speechiq.cli.main", "run", "validate", "--tasks", "siq_demo")
    finally:
        away.rename(start_up)
    assert "Tasks not found: siq_demo" in plain.stdout
    assert ours.returncode == 0 and "All tasks found and valid" in ours.stdout


def test_uninstalling_leaves_nothing(fresh):
    done = fresh.run("-m", "pip", "uninstall", "--quiet", "--yes", "speechiq")
    assert done.returncode == 0, done.stderr
    assert sorted(fresh.site.iterdir()) == fresh.before


def test_an_editable_install_is_an_ordinary_package_to_type_checkers(tmp_path):
    environment = Fresh(tmp_path / "fresh")
    copy = tmp_path / "clone"
    kept_out = shutil.ignore_patterns(".git", ".venv", ".editable", "runs", "clips", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=kept_out, symlinks=True)
    done = environment.run("-m", "pip", "install", "--quiet", "--no-deps", "--editable", copy)
    assert done.returncode == 0, done.stderr
    (path_file,) = environment.site.glob("__editable__*.pth")
    package = Path(path_file.read_text().strip(), "speechiq")
    assert package.joinpath("py.typed").is_file() and package.joinpath("metrics", "words", "wer.py").is_file()
    assert package.resolve() == copy
    done = environment.run("-c", "from speechiq.core import errors; import sys; print(errors.__file__, *sys.modules)")
    place, *modules = done.stdout.split()
    assert Path(place).resolve() == copy / "core" / "errors.py" and "speechiq.harness_patch.plugins" in modules
