"""Publish the results of systems in a documented form, and check what others publish."""

from speechiq.reducer.output.published.folder import Published, read_folder
from speechiq.reducer.output.published.schema import Result

__all__ = ["Published", "Result", "read_folder"]
