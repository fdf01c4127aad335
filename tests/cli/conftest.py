"""Share the run trees of the reducer's tests."""

from tests.reducer.conftest import chromium, two_runs

__all__ = ["chromium", "two_runs"]
