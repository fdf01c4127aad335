"""Make the report: one page that opens offline, from the files that lm-eval wrote."""
