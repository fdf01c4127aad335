"""Compute rows of a stage, and read those that are on disk."""

from speechiq.core.cache.stage_cache import StageCache, cached
from speechiq.core.files.json_text import content_sha256

STAGE = {"model": "tiny", "dtype": "float32"}


def square(items, on_result):
    for i, item in enumerate(items):
        on_result([i], [{"square": item**2, "half": item / 3}])


def fill(folder, items, compute=square):
    """Return the rows of the items, computed unless they are on disk."""
    return cached(StageCache(STAGE, folder), items, str, compute)


def stored(folder, items, stage=STAGE):
    """Return the rows that are on disk, by item."""
    cache, keys = StageCache(stage, folder), {content_sha256(str(item)): item for item in items}
    cache.fetch(keys)
    return {keys[key]: row for key, row in cache.rows.items()}
