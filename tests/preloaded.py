"""Import what the commands import, in the process from which `tests.warm` forks theirs."""

from functools import cache
from importlib import import_module

from lm_eval.tasks import TaskManager
from torch.utils import collect_env

from speechiq.siq_tasks.index import list_tasks

PACKAGES = (
    "lm_eval.__main__",
    "lm_eval.evaluator",
    "lm_eval.models.huggingface",
    "datasets",
    "nltk",
    "pytablewriter",
    "scipy.stats",
    "sklearn.metrics",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.llama.modeling_llama",
    "transformers.models.whisper.modeling_whisper",
    "transformers.models.whisper.processing_whisper",
    "speechiq.cli.main",
    "speechiq.engines.asr.whisper",
    "speechiq.engines.text.hf",
    "speechiq.harness_patch.hf_audio",
    "speechiq.metrics.similarity",
    "speechiq.siq_tasks.task",
)
for name in PACKAGES:
    import_module(name)

#: Both read hundreds of files, which no test changes.
TaskManager(include_defaults=False)
list_tasks(check_files=False)

#: lm-eval lists the packages of the machine in each results file, and starts pip for that.
collect_env.get_pip_packages = cache(collect_env.get_pip_packages)
collect_env.get_pip_packages(collect_env.run)
