"""End the processes of a run: none before the first one has written the results, and none by an abort."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


class Ending:
    """End one `lm_eval run`, which is one of several processes or the only one.

    A launcher stops all processes as soon as one fails. Threads of torch (2.13) can abort a process of a group while it
    exits, after all its work is done ("terminate called without an active exception"). So a process waits until the
    first one has written the results, and then exits without the destructors of libraries.
    """

    def __init__(self) -> None:
        self._all_done = False

    def wait_for_all(self) -> None:
        """Wait until all processes have come here; return at once if this process is the only one."""
        if _is_in_group():
            from accelerate import PartialState

            # The connection breaks if another process fails, which prints the reason itself.
            with suppress(RuntimeError):
                PartialState().wait_for_everyone()
                self._all_done = True

    def leave_group(self) -> None:
        """Leave the process group, if there is one; a process that stays in it ends with a warning."""
        if _is_in_group():
            from torch import distributed

            distributed.destroy_process_group()

    def end(self) -> None:
        """Exit at once if all processes of a group are done; the exit functions of libraries ran before."""
        if self._all_done:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(0)


def _is_in_group() -> bool:
    """Return whether this process is one of several; torch is not imported to find out."""
    if "torch" not in sys.modules:
        return False
    from torch import distributed

    return distributed.is_available() and distributed.is_initialized()
