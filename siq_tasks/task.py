"""A YAML task of the suite: what its loader found out joins the metadata that lm-eval records."""

from __future__ import annotations

from typing import Any

from lm_eval.api.task import ConfigurableTask


class SpeechTask(ConfigurableTask):
    """`class` of every level template; `custom_dataset` returns a `Loaded`."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config={key: value for key, value in config.items() if key != "class"})

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        loaded = self.config.custom_dataset(**self.config.metadata)
        self.dataset = {"test": loaded.docs}
        self.config.metadata |= loaded.record
