"""Download a checkpoint from the Hub: the second source of a demo model, whose package is not available any more.

It is another checkpoint than that of the package, or the same one in another precision, so it has its own name.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from speechiq.core.checkpoints.names import LIMIT_S, find_hub_fault
from speechiq.core.checkpoints.opening import opening
from speechiq.core.errors import SpeechIQError
from speechiq.core.files.plain import hash_file

FIX = "check the network, and run `siq demo fetch` again"


class Checkpoint(NamedTuple):
    """Name a checkpoint on the Hub at a commit, and its files with their sha256.

    It is None for a small file whose sha256 was not known: the commit alone pins it.
    """

    repository: str
    revision: str
    files: Mapping[str, str | None]

    def describe(self) -> str:
        """Return the content of `source.txt`."""
        return f"{self.repository} revision:{self.revision}\n"


def download_checkpoint(checkpoint: Checkpoint, folder: Path) -> None:
    """Put the files of a checkpoint into a folder; refuse a file with another sha256."""
    from huggingface_hub import constants, hf_hub_download

    if not constants.HF_HUB_OFFLINE and (fault := find_hub_fault(LIMIT_S)):
        raise SpeechIQError(checkpoint.repository, fault, FIX)
    for name, sha256 in checkpoint.files.items():
        what = f"{checkpoint.repository}/{name} at {checkpoint.revision[:12]}"
        with opening(f"{what}: cannot be fetched from {constants.ENDPOINT}", FIX):
            file = hf_hub_download(checkpoint.repository, name, revision=checkpoint.revision, local_dir=folder)
        if sha256 is not None and (present := hash_file(file)) != sha256:
            raise SpeechIQError(
                what, f"its sha256 is {present[:12]}..., not {sha256[:12]}...", "do not use it, and report it"
            )
    shutil.rmtree(folder / ".cache", ignore_errors=True)
