"""Load the models that metrics run, each once for equal settings, with the stage of the response cache for its rows."""

import json
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from speechiq.core.cache.stage_cache import StageCache
from speechiq.core.files.folders import store_folder
from speechiq.engines.base import Setup
from speechiq.engines.cached import CachedEngine
from speechiq.engines.registry import build

Model = TypeVar("Model")


def load_model(make: Callable[..., Model], *arguments: Hashable) -> Model:
    """Return what `make` returns, the same object for equal arguments; the last models are kept."""
    model: Model = _load(make, *arguments)
    return model


@lru_cache(maxsize=8)
def _load(make: Callable[..., Any], *arguments: Hashable) -> Any:
    return make(*arguments)


def open_cache(stage: Mapping[str, Any]) -> StageCache:
    """Return the rows of a stage in the current response cache, the same object for equal stages."""
    return _open_cache(json.dumps(stage, sort_keys=True), store_folder())


@cache
def _open_cache(stage: str, folder: Path | None) -> StageCache:
    return StageCache(json.loads(stage), folder)


def open_engine(
    kind: str,
    engine: str,
    model: str,
    options: Mapping[str, Any],
    *,
    prefix: str,
    stage: str,
    also: Collection[str] = (),
) -> CachedEngine:
    """Return an engine on the device of this process, whose model is not yet loaded.

    `stage` names its rows in the response cache; `prefix` and `also`, options that are read elsewhere, are for errors.
    """
    given = json.dumps(options, sort_keys=True)
    return load_model(_open_engine, kind, engine, model, given, prefix, stage, tuple(sorted(also)), store_folder())


def _open_engine(
    kind: str,
    engine: str,
    model: str,
    options: str,
    prefix: str,
    stage: str,
    also: tuple[str, ...],
    folder: Path | None,
) -> CachedEngine:
    from accelerate import PartialState

    setup = Setup(engine=engine, prefix=prefix, device=PartialState().device)
    return CachedEngine(build(kind, model, json.loads(options), setup, also=also), folder, stage)


def forget_models() -> None:
    """Forget all models and rows in memory; rows on the disk stay."""
    _load.cache_clear()
    _open_cache.cache_clear()
