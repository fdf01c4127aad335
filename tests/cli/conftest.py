"""Share the run trees of the reducer's tests."""

from tests.reducer.conftest import two_runs

__all__ = ["two_runs"]
