"""Run commands in processes that are forked from one that has imported their packages, so that imports count once.

Each is a process of its own, with its own environment, streams, exit code and signals, and with nothing in memory but
imported packages. What depends on the start of an interpreter needs `tests.conftest.run`.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, chdir
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from pathlib import Path
from subprocess import CompletedProcess

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.preloaded"])
ROOT = Path(__file__).parents[1]


def lm_eval() -> None:
    """Enter the command `lm_eval`."""
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()


def siq() -> None:
    """Enter the command `siq`."""
    from speechiq.cli.main import main

    main()


def siq_run() -> None:
    """Enter lm-eval as the runs of `siq eval` do."""
    from speechiq.harness_patch.run import main

    main(sys.argv[1:])


def python() -> None:
    """Enter Python, with a program (`-c`) or a module (`-m`)."""
    kind, program, *arguments = sys.argv[1:]
    sys.argv = [kind, *arguments]
    if kind == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})


def siq_work() -> None:
    """Enter the check of systems and tasks of `siq eval` before it runs them, or a shard."""
    from speechiq.harness_patch.work import main

    main(sys.argv[1:])


def run_warm(
    entry: Callable[[], object],
    *arguments: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | str = ".",
    stdin: str = "",
    forks: BaseContext = FORKS,
) -> CompletedProcess:
    """Call a function of a module in a forked process with these arguments, and return how it ended.

    Args:
        entry: Reads `sys.argv`, as the entry of a console script does.
        *arguments: What follows the program in `sys.argv`.
        env: Variables of the process; by default those of this one.
        cwd: Its folder.
        stdin: What it can read.
        forks: How the process is made; those that are forked from this process need nothing but its packages.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.NamedTemporaryFile("w+", encoding="utf-8")) for _ in range(3)]
        files[0].write(stdin)
        files[0].flush()
        names = [file.name for file in files]
        settings = (dict(os.environ if env is None else env), str(Path(cwd).absolute()), names, forks is FORKS)
        if forks is FORKS:
            _start_server()
        process = forks.Process(target=_enter, args=(entry, arguments, *settings))
        process.start()
        process.join()
        return CompletedProcess((entry.__name__, *arguments), process.exitcode, *(file.read() for file in files[1:]))


def run_warm_ranks(
    nodes: Sequence[int], entry: Callable[[], object], *arguments: str, env: Mapping[str, str], port: int
) -> list[CompletedProcess]:
    """Run a command in processes that work together, with the variables that `accelerate launch` gives them.

    `nodes` is the number of processes of each machine.
    """
    _start_server()
    places = [(local, size) for size in nodes for local in range(size)]
    ranks = []
    for rank, (local, size) in enumerate(places):
        about = {"RANK": rank, "WORLD_SIZE": len(places), "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": size}
        about |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        ranks.append({**env, **{name: str(value) for name, value in about.items()}})
    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(lambda rank: run_warm(entry, *arguments, env=rank), ranks))


@cache
def _start_server() -> None:
    """Start the process that imports the packages, in the folder in which it finds what it has to import."""
    with chdir(ROOT):
        forkserver.ensure_running()


def _enter(
    entry: Callable, arguments: tuple, environment: dict[str, str], folder: str, streams: list[str], cleans_up: bool
) -> None:
    """Become the command, in the forked process: as an interpreter does from its start to its exit.

    It `cleans_up` at its end, unless what it would remove belongs to the process from which it is forked.
    """
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_WRONLY if number else os.O_RDONLY), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.argv = [str(Path(sys.executable).with_name(entry.__name__)), *arguments]
    code = 0
    try:
        entry()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        code = 1
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:
            traceback.print_exc()
    threading._shutdown()
    if cleans_up:
        atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
