"""Score translations of speech: chrF of each clip, and BLEU over all clips, both by sacrebleu.

Call `score` on a doc; `pool` is the aggregation of `bleu_corpus` in lm-eval.

BLEU is a score of a corpus: it is computed from counts that are summed over clips, and has no meaning as a mean over
clips. So each row has these counts, from which the BLEU of any selection of clips follows (`bleu_of_counts`). The score
of a clip is chrF (Popović 2015), which is defined for single sentences; its mean over clips is the score of a task.

Texts are compared as they are written, with case and punctuation. Only the tokenizer of BLEU depends on the language of
the translation; it is recorded, with sacrebleu's signature (Post 2018), which also names the version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import response_of
from speechiq.engines.languages import KEY, name_language, read_language
from speechiq.engines.options import Options
from speechiq.metrics.columns import SPREAD, Pooled, higher, lower, mean, returns, spread
from speechiq.metrics.settings import Text, read_record

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

#: Key of metadata with the language into which speech is translated, and the tokenizer of BLEU.
TARGET, TOKENIZER = "target_language", "bleu_tokenizer"
#: Language -> the tokenizer of BLEU, as sacrebleu chooses it; 13a for all others.
OF_LANGUAGE = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
USUAL = "13a"
#: What sacrebleu does by default if no n-gram of an order is found.
SMOOTHING = "exp"
#: Beginning of a tokenizer -> what it needs beside sacrebleu.
NEEDS = {"ja": "sacrebleu[ja]", "ko": "sacrebleu[ko]", "flores": "sentencepiece"}
ORDERS = range(1, 5)
#: The columns that BLEU is computed from: n-grams that are also in a reference, and tokens of both texts. Of several
#: references the one whose length is nearest counts, as in sacrebleu.
COUNTS = (*(f"bleu_matches_{n}" for n in ORDERS), "answer_tokens", "reference_tokens")


class TranslationSettings(Options, frozen=True, kw_only=True):
    """Define into which language speech is translated, and how BLEU splits texts into tokens."""

    target_language: Annotated[
        Text | None, Meta(description="Code of the language into which speech is translated (ISO 639), such as `de`.")
    ] = None
    bleu_tokenizer: Annotated[
        Literal["13a", "intl", "zh", "char", "ja-mecab", "ko-mecab", "flores101", "flores200", "none"] | None,
        Meta(
            description="Tokenizer of BLEU in sacrebleu; without it that of the target language: zh, ja-mecab, "
            "ko-mecab, else 13a."
        ),
    ] = None


def read_settings(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that a translation task records; refuse a direction or tokenizer that cannot work.

    >>> read_settings({"language": "en", "target_language": "zh"})["bleu_tokenizer"]
    'zh'
    >>> read_settings({"language": "fr", "target_language": "en"})["bleu_signature"].split("|")[:3]
    ['case:mixed', 'eff:no', 'tok:13a']
    """
    target, source = read_target(metadata), read_language(metadata)
    if target == source:
        raise SpeechIQError(
            f"metadata.{TARGET}", f"{target} is also metadata.{KEY}, that of the speech", "correct one of them"
        )
    tokenizer = read_record(TranslationSettings, metadata).bleu_tokenizer or OF_LANGUAGE.get(target, USUAL)
    signatures = {"bleu_signature": _sign(open_bleu(tokenizer)), "chrf_signature": _sign(_open_chrf())}
    return {TARGET: target, TOKENIZER: tokenizer, **signatures}


def read_target(metadata: Mapping[str, Any]) -> str:
    """Return the code of the language into which a task translates; refuse a task that names none."""
    target = read_language(metadata, TARGET)
    if target is None:
        raise SpeechIQError(f"metadata.{TARGET}", "missing, and translations need it", "write one such as de")
    return target


def fill_instruction(text: str, metadata: Mapping[str, Any]) -> str:
    """Return a wording of an instruction with the English name of the target language in the place of `{language}`.

    >>> fill_instruction("Translate what is said into {language}.", {"target_language": "id"})
    'Translate what is said into Indonesian.'
    """
    if "{language}" not in text:
        return text
    target = read_target(metadata)
    if (name := name_language(target)) is None:
        raise SpeechIQError(
            f"metadata.{TARGET}", f"{target} has no English name here", "ask with a question_column instead"
        )
    return text.replace("{language}", name)


@cache
def open_bleu(tokenizer: str) -> BLEU:
    """Return BLEU with a tokenizer of sacrebleu; refuse one whose packages or model are missing."""
    from sacrebleu.metrics.bleu import BLEU

    try:
        return BLEU(tokenize=tokenizer, smooth_method=SMOOTHING)
    except (ImportError, RuntimeError) as error:
        package = next((name for start, name in NEEDS.items() if tokenizer.startswith(start)), "sacrebleu")
        other = "char" if tokenizer.endswith("mecab") else USUAL
        raise SpeechIQError(
            f"{TOKENIZER}={tokenizer}",
            "a package is missing",
            f"pip install '{package}', or give --metadata {TOKENIZER}={other}",
        ) from error
    except (OSError, ValueError) as error:
        raise SpeechIQError(
            f"{TOKENIZER}={tokenizer}",
            f"its model cannot be fetched ({' '.join(str(error).split())[:120]})",
            f"try again with a network, or give --metadata {TOKENIZER}={USUAL}",
        ) from error


@cache
def _open_chrf() -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _sign(metric: BLEU | CHRF) -> str:
    """Return the signature of a metric without the number of references, which is that of the rows."""
    metric.corpus_score(["a"], [["a"]])  # There is no signature before.
    parts = str(metric.get_signature()).split("|")
    return "|".join(part for part in parts if not part.startswith("nrefs"))


def sum_counts(rows: Sequence[Sequence[float]] | np.ndarray, times: np.ndarray | None = None) -> np.ndarray:
    """Return the sums of the counts that BLEU needs, shape (draws, 10): matches, n-grams of answers, tokens.

    Args:
        rows: Counts per clip, in the order of `COUNTS`, shape (clips, 6).
        times: How often each clip counts in each draw, shape (draws, clips); None counts each once.
    """
    counts = np.asarray(rows, dtype=float).reshape(-1, len(COUNTS))
    lengths = counts[:, len(ORDERS)]
    grams = [np.maximum(lengths - n + 1, 0) for n in ORDERS]
    parts = np.column_stack([counts[:, : len(ORDERS)], *grams, counts[:, len(ORDERS) :]])
    weights = np.ones((1, len(parts))) if times is None else times
    return np.asarray(weights @ parts)


def bleu_of_counts(sums: np.ndarray, single: bool = False) -> float:
    """Return BLEU, from 0 to 1, of one row of `sum_counts`; NaN without a token of the references.

    Args:
        sums: Shape (10,).
        single: Whether it is of a single sentence, which may have no n-grams of the highest orders.
    """
    from sacrebleu.metrics.bleu import BLEU

    matches, grams, (answers, references) = np.split(sums, [len(ORDERS), 2 * len(ORDERS)])
    if not references:
        return float("nan")
    counts = [*map(int, matches)], [*map(int, grams)], int(answers), int(references)
    found = BLEU.compute_bleu(*counts, smooth_method=SMOOTHING, effective_order=single)
    return min(float(found.score) / 100, 1.0)  # 1 may be exceeded by rounding.


def pool(scores: Iterable[Pooled]) -> float:
    """Return the BLEU of all clips together, from 0 to 1, by their counts; the aggregation of `bleu_corpus`.

    >>> round(pool([Pooled(0.76, (5, 3, 2, 1, 5, 6)), Pooled(1.0, (3, 2, 1, 0, 3, 3))]), 4)
    0.6598
    """
    return bleu_of_counts(sum_counts([score.parts for score in scores])[0])


def count_ngrams(hypothesis: str, references: Sequence[str], tokenizer: str = USUAL) -> tuple[float, ...]:
    """Return the counts of one clip, in the order of `COUNTS`.

    >>> count_ngrams("the cat sat on mat", ["the cat sat on the mat"])
    (5.0, 3.0, 2.0, 1.0, 5.0, 6.0)
    """
    found = open_bleu(tokenizer).corpus_score([hypothesis], [[reference] for reference in references])
    return tuple(map(float, (*found.counts, found.sys_len, found.ref_len)))


@returns(
    higher("chrf", aggregation=mean),
    higher("bleu_corpus", aggregation=pool),
    higher(*COUNTS),
    lower("empty_answer"),
    higher("audio_coverage"),
    lower(SPREAD, aggregation=spread),
)
def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Score a translation against `answer` and further ones, `accepted`; the `process_results` of `_translate`.

    The columns are `chrf` (0 to 1), `bleu_corpus` (the BLEU of the clip alone, with its counts, see `pool`), the
    counts, `empty_answer` and `audio_coverage`. An empty answer has score 0.

    >>> row = score({"answer": "The cat sat on the mat."}, ["The cat sat on the mat."])
    >>> row["chrf"], row["bleu_corpus"], row["answer_tokens"]
    (1.0, 1.0, 7.0)
    """
    response = response_of(results[0])
    references = [doc["answer"], *(doc.get("accepted") or ())]
    counts = count_ngrams(response.text, references, doc.get(TOKENIZER, USUAL))
    return {
        "chrf": float(_open_chrf().sentence_score(response.text, references).score) / 100,
        "bleu_corpus": Pooled(bleu_of_counts(sum_counts([counts])[0], single=True), counts),
        **dict(zip(COUNTS, counts, strict=True)),
        "empty_answer": float(not response.text.strip()),
        "audio_coverage": response.coverage,
    }
