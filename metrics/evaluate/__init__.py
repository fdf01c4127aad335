"""Offer the metrics as modules of Hugging Face's `evaluate`, loaded from disk without network."""

from __future__ import annotations

from pathlib import Path

from speechiq.core.errors import SpeechIQError

#: Name of each module -> what it scores.
MODULES = {
    "wer": "transcripts against references, by words and characters (level Remember)",
    "similarity": "transcripts against references, by the states of a language model (level Understand)",
    "choice": "answers to multiple-choice questions (level Apply)",
    "meteor": "captions of audio against one or several references",
    "judge": "free answers, by a rule or by a language model that grades them",
}
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


def path(name: str) -> str:
    """Return the path of a module, for `evaluate.load`.

    Args:
        name: A key of `MODULES`, such as `wer`.

    Raises:
        SpeechIQError: No module has this name.

    >>> Path(path("wer")).name
    'speechiq_wer.py'
    """
    if name not in MODULES:
        raise SpeechIQError(f"evaluate module {name!r}: unknown; known are {', '.join(MODULES)}")
    return str(Path(__file__).with_name(f"speechiq_{name}.py"))
