"""An IQ test for voice-understanding models: read runs of lm-eval, rank the systems, compare two of them.

```python
import speechiq

scoreboard = speechiq.rank(speechiq.read_systems("runs"))
scoreboard.to_frame()
speechiq.plot.scores(scoreboard).show()
speechiq.compare("whisper-base", "whisper-tiny.en", "runs").to_frame()
```

Each name is imported when it is first used, so that `import speechiq` itself is cheap.
"""

from importlib import import_module

#: True to a type checker; defined here because `typing` must not be imported at interpreter start (`speechiq.pth`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from speechiq.core.errors import SpeechIQError
    from speechiq.reducer.api import compare, predict, rank, read_systems
    from speechiq.reducer.output.page import plot
    from speechiq.reducer.scores.scoreboard import Scoreboard
    from speechiq.reducer.studies.comparison import Comparison

    __version__: str

__all__ = [
    "Comparison",
    "Scoreboard",
    "SpeechIQError",
    "__version__",
    "compare",
    "plot",
    "predict",
    "rank",
    "read_systems",
]

_MODULES = {
    "Comparison": "speechiq.reducer.studies.comparison",
    "Scoreboard": "speechiq.reducer.scores.scoreboard",
    "SpeechIQError": "speechiq.core.errors",
    "compare": "speechiq.reducer.api",
    "predict": "speechiq.reducer.api",
    "rank": "speechiq.reducer.api",
    "read_systems": "speechiq.reducer.api",
}

if not TYPE_CHECKING:  # A type checker would take every name for one that exists.

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name == "__version__":
            from importlib.metadata import version

            value: object = version("speechiq")
        elif name == "plot":
            value = import_module("speechiq.reducer.output.page.plot")
        elif name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        else:
            raise AttributeError(f"module 'speechiq' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
