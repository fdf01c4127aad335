"""Check by IFEval's rules whether a reply follows instructions such as "in at most 50 words".

The checks are those of lm-eval's task `ifeval` (Zhou et al. 2023, arXiv:2311.07911), which need packages of their own.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import response_of
from speechiq.metrics.columns import higher, lower, mean, returns

STRICT_AND_LOOSE = ("strict", "loose")
#: A text on which all checks are tried before anything is computed.
TRIAL = "One sentence is here. Another one follows.\n\nAnd one more."


def find_broken_check(doc: Mapping[str, Any]) -> str:
    """Return why the checks of a doc cannot work, or an empty text; refuse a missing package, and missing data."""
    try:
        check_instructions(doc, TRIAL)
    except ImportError as error:
        raise SpeechIQError(
            "IFEval's checks", f"the package {error.name} is not installed", "`pip install 'lm_eval[ifeval]'`"
        ) from error
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        return f"the checks {doc['checks']:.200} do not work in this version of lm_eval ({error!r:.80})"
    except LookupError as error:
        raise SpeechIQError(
            "IFEval's checks",
            "punkt_tab, by which they split sentences, is missing",
            "`python -m nltk.downloader punkt_tab`",
        ) from error
    return ""


def check_instructions(doc: Mapping[str, Any], reply: str) -> dict[str, list[bool]]:
    """Return for each instruction whether a reply follows it: `strict`, and `loose`.

    Loosely it counts too if the reply follows the instruction without its first line, its last line or its asterisks.
    The doc has `question`, and `checks`: JSON of a list of names and a list of the options of each.
    """
    import langdetect

    # Its import tries a download, and prints how that went.
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        from lm_eval.tasks.ifeval import utils

    # Without a seed, the detected language of a short text differs from call to call.
    langdetect.DetectorFactory.seed = 0
    names, options = json.loads(doc["checks"])
    row = {"key": 0, "instruction_id_list": names, "prompt": doc["question"], "kwargs": options}
    scores = utils.process_results(row, [reply])
    return {way: scores[f"inst_level_{way}_acc"] for way in STRICT_AND_LOOSE}


@returns(
    higher("prompt_strict", "instruction_strict", "prompt_loose", "instruction_loose", "ifeval"),
    lower("empty_answer"),
    higher("audio_coverage"),
)
def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score one reply; the `process_results` of `checks`.

    Its columns are `prompt_strict` and `prompt_loose` (all instructions are followed), `instruction_strict` and
    `instruction_loose` (share of the doc's instructions that are followed), `ifeval` (mean of the four), `empty_answer`
    and `audio_coverage`.
    """
    scores: dict[str, float] = {}
    for way, followed in check_instructions(doc, str(results[0])).items():
        scores |= {f"prompt_{way}": float(all(followed)), f"instruction_{way}": sum(followed) / len(followed)}
    return {
        **scores,
        "ifeval": mean(scores.values()),
        "empty_answer": float(not results[0].strip()),
        "audio_coverage": response_of(results[0]).coverage,
    }
