"""List the tasks of sets that exist in many languages: one template per level and a list of languages, not files.

A folder of the suite with `_languages.yaml` has the tasks `siq_FOLDER_LANG_LEVEL`; in it, the clips of a language may
be in a folder `LANG`. `harness_patch` gives the tasks to lm-eval, whose own index knows a task only by a file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from speechiq.engines.languages import KEY
from speechiq.siq_tasks.catalog.task_files import join_metadata, read_mapping, read_task

HERE = Path(__file__).parents[1]
LANGUAGES = "_languages.yaml"
#: The level whose embedder may depend on the language.
UNDERSTAND = "understand"


class LanguageTask(NamedTuple):
    """Describe a task of one language and level.

    Attributes:
        template: File of the level, with everything that the languages share.
        keys: `task`, `tag` and the metadata of the language, as a YAML with `include: TEMPLATE` would have them.
    """

    template: Path
    keys: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the name for `--tasks`."""
        return str(self.keys["task"])

    def join(self, template: Mapping[str, Any]) -> dict[str, Any]:
        """Return the whole task; `template` is the content of the file `template`."""
        return {**template, **self.keys, "metadata": {**template.get("metadata", {}), **self.keys["metadata"]}}

    def read(self) -> dict[str, Any]:
        """Return the whole task, without importing the functions that it names."""
        return join_metadata(self.join(read_task(self.template)))


def list_language_tasks() -> list[LanguageTask]:
    """Return the tasks of every language and level.

    >>> task = list_language_tasks()[0]
    >>> task.name, task.keys["tag"], task.keys["metadata"]["dataset_name"]
    ('siq_belebele_afr_Latn_remember', ['siq_belebele_afr_Latn'], 'afr_Latn')
    """
    tasks = []
    for file in sorted(HERE.rglob(LANGUAGES)):
        listed, family = read_mapping(file), file.parent.name
        embedders = {name: model for model, names in listed.get("embedders", {}).items() for name in names}
        for name, code in listed["languages"].items():
            group = f"siq_{family}_{name}"
            tags = [group, f"siq_{family}"] if name in listed["chosen"] else [group]
            # The one place for what depends on the language alone.
            metadata = {"family": family, "dataset": f"{family}_{name}", "dataset_name": name, KEY: code}
            if (bundle := file.with_name(name)).is_dir():
                metadata["bundle"] = bundle.relative_to(HERE).as_posix()
            for level in listed["levels"]:
                own = {"embedder": embedders[name]} if level == UNDERSTAND and name in embedders else {}
                keys = {"task": f"{group}_{level}", "tag": tags, "metadata": metadata | own}
                tasks.append(LanguageTask(file.with_name(f"_{level}.yaml"), keys))
    return tasks
