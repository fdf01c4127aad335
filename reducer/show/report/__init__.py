"""The report: one page that opens offline, from the files that lm-eval wrote."""

from speechiq.reducer.show.report.build import build, render, render_suites, write
from speechiq.reducer.show.report.study import Study, gather
from speechiq.reducer.show.report.suite import gather as gather_suite

__all__ = ["Study", "build", "gather", "gather_suite", "render", "render_suites", "write"]
