"""Describe what all modules of `evaluate` share."""

import inspect
from typing import Any, ClassVar

import evaluate
from datasets import Features, Sequence, Value

CITATION = """\
@inproceedings{wan-etal-2025-speechiq,
    title = "{S}peech{IQ}: Speech-Agentic Intelligence Quotient Across Cognitive Levels in Voice Understanding by
        Large Language Models",
    author = "Wan, Zhen and Yang, Chao-Han Huck and Yu, Yahan and Tian, Jinchuan and Li, Sheng and Hu, Ke and
        Chen, Zhehuai and Watanabe, Shinji and Cheng, Fei and Chu, Chenhui and Kurohashi, Sadao",
    booktitle = "Proceedings of the 63rd Annual Meeting of the Association for Computational Linguistics
        (Volume 1: Long Papers)",
    year = "2025",
    address = "Vienna, Austria",
    publisher = "Association for Computational Linguistics",
    url = "https://aclanthology.org/2025.acl-long.1466/",
    doi = "10.18653/v1/2025.acl-long.1466",
    pages = "30381--30398",
}
"""
PAPER = "https://aclanthology.org/2025.acl-long.1466/"
TEXT = Value("string")


class Module(evaluate.Metric):
    """Describe a module of `evaluate` by the docstrings of its class and of its `_compute`.

    Attributes:
        forms: What the predictions and references of an item can be.
    """

    forms: ClassVar[tuple[Any, ...]] = ((TEXT, TEXT),)

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=inspect.getdoc(type(self)) or "",
            citation=CITATION,
            inputs_description=inspect.getdoc(self._compute) or "",
            features=[Features(predictions=prediction, references=reference) for prediction, reference in self.forms],
            reference_urls=[PAPER],
        )


#: Forms of an item with several predictions, or with several references.
SEVERAL_PREDICTIONS, SEVERAL_REFERENCES = (Sequence(TEXT), TEXT), (TEXT, Sequence(TEXT))
