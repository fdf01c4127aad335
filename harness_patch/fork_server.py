"""Start the processes of an evaluation from one that has imported all packages, so that imports are paid once.

`python -m speechiq.harness_patch.fork_server` imports what runs need, and computes nothing. Then it reads requests from
stdin, a line of JSON each, and writes reports to stdout, which must be a pipe, a line of JSON each: the process that it
started for a request, what that process reports of its progress, and its end. It waits for each before it reads on.

A process is forked, and then is what `python -m MODULE ARGUMENTS` would be: a crash of one leaves the others alone, and
its memory and its accelerator are free after it. Where a fork cannot go on, as on macOS or with CUDA in use, an
interpreter starts in its place.
"""

import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

import msgspec
from msgspec import Struct

from speechiq.core.console import VARIABLE, prepare_quick_end
from speechiq.engines._transformers import is_bad_fork
from speechiq.harness_patch import plugins

#: What runs import: lm-eval, the suite, and what most systems need.
PACKAGES = (
    "lm_eval.__main__",
    "lm_eval.evaluator",
    "lm_eval.models",
    "lm_eval.tasks.manager",
    "av",
    "datasets",
    "pytablewriter",
    "transformers.tokenization_mistral_common",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.processing_auto",
    "transformers.models.llama.modeling_llama",
    "transformers.models.whisper.modeling_whisper",
    "transformers.models.whisper.processing_whisper",
    "speechiq.engines.asr.whisper",
    "speechiq.engines.text.hf",
    "speechiq.harness_patch.evaluation",
    "speechiq.harness_patch.hf_audio",
    "speechiq.harness_patch.run",
    "speechiq.harness_patch.work",
    "speechiq.metrics.similarity",
    "speechiq.siq_tasks.task",
)
#: Elsewhere, libraries of the system do not work after a fork.
CAN_FORK = sys.platform == "linux"


class Request(Struct, frozen=True):
    """Ask for a process: a module whose `main` takes the arguments, its folder, its variables and its output.

    stdout goes to the file `output`. stderr goes there as well, or between the reports (`has_notes`), which are then
    without progress.
    """

    module: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    output: str
    has_notes: bool = False


class Started(Struct, frozen=True, tag=True):
    """Report the number of a process that has started and can take signals."""

    pid: int


class Ended(Struct, frozen=True, tag=True):
    """Report the exit code of the process; that of a signal is negative."""

    code: int


def main() -> None:
    """Import packages, and start the process of each request; a forked one returns from here when its work is done."""
    end_quickly = prepare_quick_end()
    reports = os.dup(1)
    # A signal to the group is for the process that works, and for the program whose end closes stdin.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    import_packages()
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line, type=Request)
        pid = os.fork()
        if pid == 0:
            enter(request, reports)
            return end_quickly()
        _, status = os.waitpid(pid, 0)
        _report(Ended(os.waitstatus_to_exitcode(status)), reports)


def _report(message: Struct, reports: int) -> None:
    """Write a message on a line of its own, whatever a process wrote before."""
    os.write(reports, b"\n" + msgspec.json.encode(message) + b"\n")


def import_packages() -> None:
    """Import what runs need; what fails here fails again in the run, whose log has the reason."""
    plugins.let_threads_sleep()
    plugins.install()
    # Asks the driver how many devices there are without using one, which no forked process could do afterwards.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    if not CAN_FORK:
        return
    gc.disable()
    for name in PACKAGES:
        with suppress(Exception):
            import_module(name)
    with suppress(Exception):
        _read_once()
    sys.stdout.flush()
    # Collecting garbage takes time while packages are imported, and later copies the memory that forks share.
    gc.freeze()
    gc.enable()


def _read_once() -> None:
    """Read the files of tasks and the list of installed packages, which all runs need."""
    from lm_eval.tasks import TaskManager

    from speechiq.harness_patch import _lm_eval
    from speechiq.siq_tasks.index import list_tasks

    _lm_eval.list_packages_once()
    list_tasks(check_files=False)
    TaskManager(include_defaults=False)


def enter(request: Request, reports: int) -> None:
    """Become the process of a request, and do its work."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        signal.signal(number, handler)
    _report(Started(os.getpid()), reports)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    _connect(request, reports)
    if _needs_interpreter():
        os.set_inheritable(reports, True)
        command = [sys.executable, "-m", request.module, *request.arguments]
        os.execve(sys.executable, command, os.environ)
    sys.argv = [request.module, *request.arguments]
    import_module(request.module).main(request.arguments)


def _connect(request: Request, reports: int) -> None:
    """Connect the streams of this process, and name the descriptor to which it reports its progress."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(request.output, os.O_WRONLY | os.O_APPEND)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(reports if request.has_notes else output, 2)
    os.close(nothing)
    os.close(output)
    if not request.has_notes:
        os.environ[VARIABLE] = str(reports)


def _needs_interpreter() -> bool:
    """Decide whether a fork must begin anew as an interpreter, as on macOS or after an accelerator was used."""
    if not CAN_FORK:
        return True
    torch = sys.modules.get("torch")
    return torch is not None and is_bad_fork(torch)


if __name__ == "__main__":
    main()
