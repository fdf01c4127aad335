"""Store a pool of systems as a scale for other systems, so that adding a system changes no other score."""

from speechiq.reducer.scores.norms.file import SHIPPED, read, write
from speechiq.reducer.scores.norms.match import compare
from speechiq.reducer.scores.norms.norms import LevelNorms, Norms, build, freeze

__all__ = ["SHIPPED", "LevelNorms", "Norms", "build", "compare", "freeze", "read", "write"]
