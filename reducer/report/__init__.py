"""Make the report: one page that opens offline, from the files that lm-eval wrote."""

from speechiq.reducer.report.build import build, compose, render, write
from speechiq.reducer.report.study import Study, gather

__all__ = ["Study", "build", "compose", "gather", "render", "write"]
