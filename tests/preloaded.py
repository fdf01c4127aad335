"""Import what the commands import, in the process from which `tests.warm` forks theirs."""

from importlib import import_module

from speechiq.harness_patch.fork_server import import_packages

import_packages()
for name in ("lm_eval.models.huggingface", "nltk", "pytablewriter", "sklearn.metrics", "speechiq.cli.main"):
    import_module(name)
