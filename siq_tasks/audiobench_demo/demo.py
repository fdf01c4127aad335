"""Load the bundled sets of AudioBench's templates: each is a table in this folder, read like a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from speechiq.siq_tasks.loaders import clips as loading
from speechiq.siq_tasks.loaders.docs import Loaded
from speechiq.siq_tasks.options import takes

HERE = Path(__file__).parent


@takes("subset", "leave_out")
def load(table: str, **metadata: Any) -> Loaded:
    """Load the docs of one task; lm-eval passes every item of metadata and model_args.

    Args:
        table: Name of the table in this folder.
        **metadata: See `loading.load`.
    """
    return loading.load(**metadata | {"dataset_path": str(HERE / table)})
