"""Norms: a pool of systems frozen into a scale that others are read off, so that adding a system moves nobody."""

from speechiq.reducer.siq.norms.file import SHIPPED, read, write
from speechiq.reducer.siq.norms.match import compare
from speechiq.reducer.siq.norms.norms import LevelNorms, Norms, build

__all__ = ["SHIPPED", "LevelNorms", "Norms", "build", "compare", "read", "write"]
