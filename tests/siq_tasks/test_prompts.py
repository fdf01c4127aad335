"""A changed prompt makes other numbers: its version must change with it."""

import hashlib
from itertools import chain

import pytest

from speechiq.harness_patch.systems import correction
from speechiq.harness_patch.systems.answering import LIKELIHOOD_PROMPT, LIKELIHOOD_PROMPT_VERSION
from speechiq.metrics import similarity
from speechiq.metrics.distance import readers
from speechiq.siq_tasks.conditions.prompts import VERSION, read_phrases
from speechiq.siq_tasks.index import read_task
from speechiq.siq_tasks.questions import write
from speechiq.siq_tasks.settings import name_task_type
from tests.siq_tasks.test_task import FILES

FROZEN = {
    ("remember", 1): "63a210ccc3bf5836",
    ("understand", 1): "756e37b0b5e7f893",
    ("apply", 1): "bb764d8c403d3e43",
    ("distance", 1): "2c6725abc661f373",
    ("choose", 1): "b57713ae386155f4",
    ("answer", 1): "785a645f4a0ff16d",
    ("choice", 1): "e7ef0006cadb6c14",
    ("judged", 1): "c4881e1ff0039688",
    ("labels", 1): "abbfeaf31b9b2caa",
    ("spoken_choice", 1): "fd65b4add160e4d7",
    ("open", 1): "785a645f4a0ff16d",
    ("refusal", 1): "785a645f4a0ff16d",
    ("checks", 1): "785a645f4a0ff16d",
    ("caption", 1): "17ed0290fa3bcd8f",
    ("transcribe", 1): "e55366560f24efa3",
    ("translate", 1): "e55366560f24efa3",
    ("reply", 1): "785a645f4a0ff16d",
    ("likelihood", 1): "9cff446765f2e48c",
    ("correction", 1): "d0fcea2229afac8b",
    ("questions", 1): "7bc8b17d847789c1",
    ("phrases of all languages", 1): "e41e903c4bc0109f",
}
#: Prompts of the models that score, beside that of the system.
MORE = {"understand": similarity.PROMPTS, "distance": readers.PROMPTS}


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def test_the_prompts_of_every_task_are_those_of_their_version():
    for file in FILES:
        config = read_task(file)
        if "group" in config:
            continue
        task_type = name_task_type(config["metadata"])
        found = digest(config["doc_to_text"], *MORE.get(task_type, {}).values())
        assert found == FROZEN[task_type, config["metadata"]["prompt_version"]], f"{file.name}: raise prompt_version"


OTHERS = {
    ("likelihood", LIKELIHOOD_PROMPT_VERSION): [LIKELIHOOD_PROMPT],
    ("correction", correction.PROMPT_VERSION): [correction.PROMPT],
    ("questions", write.PROMPT_VERSION): write.TEXTS.values(),
    ("phrases of all languages", VERSION): chain.from_iterable(each.values() for each in read_phrases().values()),
}


@pytest.mark.parametrize(("version", "texts"), OTHERS.items())
def test_every_other_prompt_is_that_of_its_version(version, texts):
    assert digest(*texts) == FROZEN[version], "raise its version"
