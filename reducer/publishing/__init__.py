"""Publish the results of systems in a documented form, and check what others publish."""

from speechiq.reducer.publishing.folder import Published, read_folder
from speechiq.reducer.publishing.schema import Result

__all__ = ["Published", "Result", "read_folder"]
