"""Score free answers: what a judge gives them, and beside it what no model is needed for.

Call `judge` on texts. `Judge` and `score` are what the tasks of lm-eval name.

The judge is a rule (`judge=exact_match`, the default) or a language model that grades the answer by a rubric. The
columns `exact_match`, `contains_answer` and `f1` are computed in both cases. An answer whose draws are all unjudged has
no score: NaN, counted in `unjudged`, in no mean. See docs/concepts/judges.md.

`score_letter`, `score_label`, `score_number` and `score_caption` score answers that a rule can score: its score is the
main one, with the judge beside it. Beside a letter or label is the floor: the score of an answer that is always the
same.
"""

import json
import math
from collections import UserDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from lm_eval.api.filter import Filter

from speechiq.core.errors import SpeechIQError
from speechiq.core.response import drop_reasoning, response_of
from speechiq.metrics.columns import SPREAD, higher, lower, mean, returns, spread
from speechiq.metrics.judge.judging import Case, Judgment, check_cases, judge_cases
from speechiq.metrics.judge.reader import IDENTITY, prefer_rules, read_letters, score_reading
from speechiq.metrics.judge.settings import judging_of, read_judging
from speechiq.metrics.letters.labels import parse_label
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.letters.reading import parse_letter
from speechiq.metrics.rules import meteor
from speechiq.metrics.rules.exact_match import contains_answer, exact_match, f1
from speechiq.metrics.rules.refusal import is_refusal
from speechiq.metrics.words.normalizer import normalize

__all__ = ["Judge", "check_docs", "judge", "score"]
#: The columns of `score`, and the one that tasks with wordings of their instruction have as well.
COLUMNS = (
    *higher("judge", "judge_points", "judge_agreement", aggregation=mean),
    *lower("unjudged", "refusal", "empty_answer"),
    *higher("exact_match", "contains_answer", "f1", aggregation=mean),
    *lower("answer_words"),
    *higher("audio_coverage"),
)
WORDED = lower(SPREAD, aggregation=spread)


def judge(
    question: str | Sequence[str],
    answer: str | Sequence[str],
    reference: str | Sequence[str] = "",
    judge: str = "exact_match",
    rubric: str = "grade_0_5",
    *,
    checklist: str | Sequence[str] = "",
    draws: int = 1,
    seed: int = 1,
    by: str = "generate",
    **options: Any,
) -> float:
    """Return the mean score of one answer, or of several, on the rubric's own scale.

    Unjudged draws and answers are left out; NaN if all are.

    Args:
        question: What was asked, or a list of texts.
        answer: The answer, or as many texts as `question` has; a model's reasoning is dropped.
        reference: The right answer, or as many texts; one text, such as an empty one, counts for all.
        judge: `exact_match`, or a text engine and its model: `openai:MODEL`, `hf:MODEL`, `vllm:MODEL`, ...
        rubric: Name of a rubric, or a YAML file.
        checklist: What a good answer has, or as many texts; one text counts for all.
        draws: Judgments per answer.
        seed: Seed of the draws.
        by: `generate`, or `likelihood`: the expected score by the probabilities of the grades.
        **options: `temperature`, `top_p`, `top_k`, `max_gen_toks`, and options of the engine, such as `base_url`.

    Raises:
        SpeechIQError: The judge or the rubric cannot be used, or the lists have different lengths.

    >>> judge("Who wrote it?", "The answer is Jane Austen.", "Jane Austen"), judge("Who?", "Dickens", "Austen")
    (5.0, 0.0)
    """
    given = {"judge": judge, "judge_rubric": rubric, "judge_draws": draws, "judge_seed": seed, "judge_by": by}
    judging = read_judging(given | {f"judge_{name}": value for name, value in options.items()})
    count = 1 if isinstance(question, str) else len(question)
    shared = [[text] * count if isinstance(text, str) else list(text) for text in (reference, checklist)]
    answers = [answer] if isinstance(answer, str) else list(answer)
    questions = [question] if isinstance(question, str) else list(question)
    lists = [questions, list(map(drop_reasoning, answers)), *shared]
    if len({len(texts) for texts in lists}) > 1:
        counts = "{} questions, {} answers, {} references, {} checklists".format(*map(len, lists))
        raise SpeechIQError("judge", counts, "give one of each per answer")
    cases = [Case(*row) for row in zip(*lists, strict=True)]
    return mean(mean(judgment.scores) for judgment in judge_cases(cases, judging))


def check_docs(docs: Sequence[Mapping[str, Any]]) -> None:
    """Refuse docs of one task without the reference that their judge is shown, before any system runs."""
    check_cases((case_of(doc, "") for doc in docs), judging_of(docs[0]))


class JudgedItem(UserDict[str, Any]):
    """Hold a judged answer for lm-eval, with JSON as its text, which is what lm-eval writes into sample files.

    It is not a `dict`, which lm-eval would replace by a copy whose text is not JSON.
    """

    def __str__(self) -> str:
        return json.dumps(self.data, ensure_ascii=False)


class Judge(Filter):
    """Turn each answer into its judgment, as a filter of lm-eval; all docs of a task name the same judge."""

    def apply(self, resps: Iterable[str], docs: Sequence[Mapping[str, Any]]) -> list[JudgedItem]:
        """Return `{"answer", "scores", "texts", "coverage"}` per answer; the score of an unjudged draw is None.

        If the docs name a reader, also `read`: the letter or label that it reads.
        """
        answers = list(resps)
        if not answers:
            return []
        judging = judging_of(docs[0])
        cases = [case_of(doc, answer) for doc, answer in zip(docs, answers, strict=True)]
        judgments = judge_cases(cases, judging)
        items = [
            item_of(answer, judgment, response_of(answer).coverage)
            for answer, judgment in zip(answers, judgments, strict=True)
        ]
        if IDENTITY in docs[0]:
            options = [list(doc["labels"] if "labels" in doc else doc["options"]) for doc in docs]
            letters = read_letters(docs, answers, options)
            for item, doc, letter in zip(items, docs, letters, strict=True):
                item["read"] = _label_of(letter, doc["labels"]) if "labels" in doc else letter
        return items


def _label_of(letter: str, labels: Iterable[str]) -> str:
    """Return the label that has a letter, in their order; `?` for none."""
    by_letter = dict(zip(ALPHABET, labels, strict=False))
    return by_letter.get(letter, UNPARSED)


def item_of(answer: str, judgment: Judgment, coverage: float) -> JudgedItem:
    """Return a judged answer as `score` takes it; its audio coverage is NaN if unknown.

    >>> str(item_of("Three.", Judgment((5.0, math.nan), ("5", "?")), 1.0))
    '{"answer": "Three.", "scores": [5.0, null], "texts": ["5", "?"], "coverage": 1.0}'
    """
    return JudgedItem(answer=answer, **as_stored(judgment), coverage=coverage)


def as_stored(judgment: Judgment, suffix: str = "") -> dict[str, Any]:
    """Return scores and texts of a judgment as an item stores them; None is an unjudged draw, as JSON has no NaN."""
    scores = [None if math.isnan(value) else value for value in judgment.scores]
    return {f"scores{suffix}": scores, f"texts{suffix}": list(judgment.texts)}


def as_number(stored: float | None) -> float:
    """Return a number that an item stores; None is NaN."""
    return math.nan if stored is None else float(stored)


def case_of(doc: Mapping[str, Any], answer: str) -> Case:
    """Return what is judged about an answer; its doc has `question` and maybe `answer` and what `Case` names."""
    return Case(
        doc["question"],
        str(answer),
        doc.get("answer") or "",
        doc.get("checklist") or "",
        tuple(doc.get("accepted") or ()),
        str(doc.get("id", "")),
        tuple(doc.get("keywords") or ()),
        grades=tuple(doc.get("grades") or ()),
    )


def stored_cases(doc: Mapping[str, Any], item: Mapping[str, Any]) -> list[Case]:
    """Return what is judged about a stored item of `Judge`, to judge it again."""
    return [case_of(doc, str(item["answer"]))]


def renew(item: Mapping[str, Any], judgments: Sequence[Judgment]) -> JudgedItem:
    """Return a stored item of `Judge` with the judgment of its case in `stored_cases`."""
    renewed = item_of(str(item["answer"]), judgments[0], as_number(item.get("coverage")))
    return JudgedItem({**item, **renewed})


@returns(COLUMNS, WORDED)
def score(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one answer, an item of `Judge`; the `process_results` of judged tasks.

    Its columns are `judge` (mean of the draws as a share of the scale, 0 to 1; NaN if unjudged), `judge_points` (the
    same on the rubric's own scale), `judge_agreement` (share of the pairs of draws with the same score; NaN with fewer
    than two scores, and for an empty answer, which no model judged), `unjudged` (1 if no draw has a score), `refusal`,
    `empty_answer`, `exact_match`, `contains_answer` and `f1` (by rule, NaN without a reference), `answer_words`,
    `audio_coverage`.

    >>> item = {"answer": "Three.", "scores": [4.0, 5.0, None], "texts": ["", "", ""], "coverage": 1.0}
    >>> row = score({"answer": "3", "judging": {"scale": [0, 5]}}, [item])
    >>> row["judge"], row["judge_points"], row["judge_agreement"], row["unjudged"], row["exact_match"]
    (0.9, 4.5, 0.0, 0.0, 1.0)
    """
    item = results[0]
    answer, accepted = str(item["answer"]), tuple(doc.get("accepted") or ())
    reference = doc["answer"] or ""
    return {
        **score_judgment(doc, item),
        "exact_match": exact_match(answer, reference, accepted),
        "contains_answer": contains_answer(answer, reference, accepted),
        "f1": f1(answer, reference, accepted),
        "answer_words": float(len(normalize(answer).split())),
        "audio_coverage": float(item["coverage"]),
    }


def score_judgment(doc: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, float]:
    """Return the columns that tasks with written and with spoken answers share; see `score`."""
    lowest, highest = doc["judging"]["scale"]
    answer = str(item["answer"])
    is_empty = not answer.strip()
    scores = [value for value in item["scores"] if value is not None]
    points = mean(scores)
    return {
        "judge": (points - lowest) / (highest - lowest),
        "judge_points": points,
        "judge_agreement": math.nan if is_empty else agreement(scores),
        "unjudged": float(not scores),
        "refusal": float(is_refusal(answer)),
        "empty_answer": float(is_empty),
    }


def agreement(scores: Sequence[float]) -> float:
    """Return the share of the pairs of scores that are equal; NaN with fewer than two.

    >>> agreement([4.0, 4.0, 5.0]), agreement([4.0])
    (0.3333333333333333, nan)
    """
    return mean(float(first == second) for first, second in combinations(scores, 2))


#: The columns of `score_key`.
KEY_COLUMNS = (*higher("acc", "acc_guess", "floor"), *lower("unparsed"))


def score_key(found: str, doc: Mapping[str, Any], choices: int) -> dict[str, float]:
    """Return the scores by rule of one letter or label, of a number of choices.

    They are `acc` (it is in `doc["gold"]`, which has several letters if options are equal), `acc_guess` (the same, but
    one of the choices is drawn for an answer without one: its expected accuracy is the share of them that is right),
    `unparsed` (it is `?`), and `floor`: the accuracy of a system that always answers `doc["majority"]`, the right
    answer to most items of the data set.

    >>> score_key("B", {"gold": ["B"], "majority": "A"}, 4)
    {'acc': 1.0, 'acc_guess': 1.0, 'unparsed': 0.0, 'floor': 0.0}
    >>> score_key("?", {"gold": ["A", "C"], "majority": "A"}, 4)
    {'acc': 0.0, 'acc_guess': 0.5, 'unparsed': 1.0, 'floor': 1.0}
    """
    right = float(found in doc["gold"])
    return {
        "acc": right,
        "acc_guess": len(doc["gold"]) / choices if found == UNPARSED else right,
        "unparsed": float(found == UNPARSED),
        "floor": float(doc["majority"] in doc["gold"]),
    }


def _score_found(
    ruled: str, doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]], choices: int
) -> dict[str, float]:
    """Score the letter or label that the rules read, or that of the reader (`read`) where they read none."""
    read = results[0].get("read")
    scores = score(doc, results)
    if read is None:
        return scores | score_key(ruled, doc, choices)
    return scores | score_key(prefer_rules(ruled, read), doc, choices) | score_reading(ruled, read)


@returns(KEY_COLUMNS, COLUMNS)
def score_letter(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score the one answer to a question with any number of options; the `process_results` of `_choice`.

    The doc has `options`, to which none is added, the letters `gold`, `majority`, and what `score` reads. If a
    reader read the answer too (`read`), its letter counts where the rules read none; see `score_reading`.

    >>> doc = {"options": ["today", "never", "Monday"], "answer": "(C) Monday", "gold": ["C"], "majority": "A"}
    >>> item = {"answer": "(C) Monday", "scores": [1.0], "texts": [""], "coverage": 1.0}
    >>> row = score_letter(doc | {"judging": {"scale": [0, 1]}}, [item])
    >>> row["acc"], row["floor"], row["judge"]
    (1.0, 0.0, 1.0)
    """
    ruled = parse_letter(results[0]["answer"], doc["options"])
    return _score_found(ruled, doc, results, len(doc["options"]))


@returns(KEY_COLUMNS, COLUMNS, WORDED)
def score_label(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score the one label of a clip; the `process_results` of `_labels`.

    The doc has `labels` (label -> further words that name it), `gold` and `majority`; see `score_letter` for a reader.

    >>> doc = {"labels": {"joy": ["happy"], "anger": []}, "answer": "joy", "gold": ["joy"], "majority": "anger"}
    >>> item = {"answer": "I cannot decide.", "scores": [0.0], "texts": [""], "coverage": 1.0}
    >>> row = score_label(doc | {"judging": {"scale": [0, 1]}}, [item])
    >>> row["acc"], row["unparsed"]
    (0.0, 1.0)
    """
    ruled = parse_label(results[0]["answer"], doc["labels"])
    return _score_found(ruled, doc, results, len(doc["labels"]))


@returns(higher("acc", "acc_guess"), lower("unparsed"), COLUMNS)
def score_number(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one number, as `score`; others draw none for an answer without a number, so `acc_guess` is `acc`.

    >>> item = {"answer": "Two pianos and one drum: three.", "scores": [1.0], "texts": [""], "coverage": 1.0}
    >>> row = score_number({"answer": "3", "judging": {"scale": [0, 1]}}, [item])
    >>> row["acc"], row["acc_guess"], row["unparsed"]
    (1.0, 1.0, 0.0)
    """
    scores = score(doc, results)
    has_number = any(char.isdigit() for char in normalize(results[0]["answer"]))
    right = scores["exact_match"]
    return scores | {"acc": right, "acc_guess": right, "unparsed": float(not has_number)}


@returns(higher("meteor", aggregation=mean), COLUMNS, WORDED)
def score_caption(doc: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Score one caption, as `meteor.score` and `score` do; the `process_results` of `_caption`."""
    # METEOR's columns come first: the text has no audio coverage here, the item of the judge has.
    return meteor.score(doc, [results[0]["answer"]]) | score(doc, results)
