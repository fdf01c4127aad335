"""Make the modules of `evaluate`: each is a function of predictions and references, described by its docstring."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import evaluate
from datasets import Features, Value
from datasets import Sequence as SequenceOf

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.choice import score as score_vote
from speechiq.metrics.choice import vote
from speechiq.metrics.columns import mean_rows
from speechiq.metrics.distance.readers import DEFAULT_EMBEDDER
from speechiq.metrics.judge import free_answers
from speechiq.metrics.judge.settings import read_settings
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.letters.reading import parse_letter
from speechiq.metrics.rules.meteor import meteor
from speechiq.metrics.similarity import PROMPTS, compute_cosines, read_embedding
from speechiq.metrics.words.normalizer import DEFAULT
from speechiq.metrics.words.wer import pair_texts, wer
from speechiq.metrics.words.wer import score as score_transcript

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
#: Forms of an item: one prediction and one reference, several predictions, or several references.
ONE, SEVERAL_PREDICTIONS, SEVERAL_REFERENCES = (TEXT, TEXT), (SequenceOf(TEXT), TEXT), (TEXT, SequenceOf(TEXT))
MEANS = ("wer", "cer", "substitutions", "deletions", "insertions", "repetition")
VOTE_SCORES = ("acc", "acc_strict", "agreement", "unparsed", "none_of_the_above")
_RULES = ("refusal", "empty_answer", "exact_match", "contains_answer", "f1")
JUDGE_SCORES = ("judge", "judge_points", "judge_agreement", "unjudged", *_RULES)


class Module(evaluate.Metric):
    """Compute one of `METRICS`, whose docstring describes the module."""

    name_of_metric: ClassVar[str]

    def _info(self) -> evaluate.MetricInfo:
        compute, forms = METRICS[self.name_of_metric]
        about = inspect.getdoc(compute) or ""
        return evaluate.MetricInfo(
            description=about.partition("\nArgs:")[0],
            citation=CITATION,
            inputs_description=about,
            features=[Features(predictions=prediction, references=reference) for prediction, reference in forms],
            reference_urls=[PAPER],
        )

    def _compute(self, **inputs: Any) -> dict[str, float]:
        return METRICS[self.name_of_metric][0](**inputs)


def make(name: str) -> type[Module]:
    """Return the class of a module, which the file `speechiq_NAME.py` gives to `evaluate`."""
    return type(f"Speechiq{name.title()}", (Module,), {"name_of_metric": name})


def compute_wer(predictions: Sequence[str], references: Sequence[str], normalizer: str = DEFAULT) -> dict[str, float]:
    """Compute word and character error rates of transcripts, after both texts are normalized.

    The measure of the level Remember of SpeechIQ.

    Args:
        predictions (list of str): The transcripts.
        references (list of str): The words that were spoken.
        normalizer (str): english (default), whisper, basic or multilingual.

    Returns:
        wer, cer, substitutions, deletions, insertions: The means over the clips. Substitutions, deletions and
            insertions are per reference word, and add up to wer. Clips whose reference has no words after
            normalization have no rate and are left out; NaN if all are left out.
        wer_corpus: All errors over all reference words, of all clips.
        repetition: The share of all clips whose transcript repeats one phrase many times more than the reference.
    """
    pairs = pair_texts(references, predictions)
    rows = [
        score_transcript({"text": reference, "normalizer": normalizer}, [hypothesis]) for reference, hypothesis in pairs
    ]
    return mean_rows(rows, MEANS) | {"wer_corpus": wer(references, predictions, normalizer)}


def compute_similarity(
    predictions: Sequence[str],
    references: Sequence[str],
    embedder: str = DEFAULT_EMBEDDER,
    embedder_template: str = "plain",
    embedder_text: str = "raw",
    embedder_dtype: str = "float32",
    embedder_layer: int | str = -1,
) -> dict[str, float]:
    """Compute cosines of a language model's hidden states of transcript and reference under two one-word prompts.

    The measure of the level Understand of SpeechIQ.

    Args:
        predictions (list of str): The transcripts.
        references (list of str): The words that were spoken.
        embedder (str): A causal language model: hub id, folder, or demo:NAME; by default the paper's,
            meta-llama/Llama-3.1-8B-Instruct.
        embedder_template (str): plain (the default) or chat.
        embedder_text (str): raw (the default), or the normalizer that is applied to both texts.
        embedder_dtype (str): float32 (the default), bfloat16 or float16.
        embedder_layer (int or str): the layer whose state is compared, -1 (the default) for the last; 1+-1 is the
            mean of two.

    Returns:
        similarity: The mean over the clips of the lower of their two cosines.
        similarity_background, similarity_summary: The mean cosine under each prompt.
    """
    options = {"template": embedder_template, "text": embedder_text, "dtype": embedder_dtype, "layer": embedder_layer}
    settings = {"embedder": embedder} | {f"embedder_{name}": value for name, value in options.items()}
    embedding = read_embedding(settings)
    if not references:
        raise SpeechIQError("predictions", "empty", "give at least one transcript and its reference")
    cosines = compute_cosines(pair_texts(references, predictions), embedding)
    means = cosines.mean(axis=0).tolist()
    return {
        "similarity": float(cosines.min(axis=1).mean()),
        **{f"similarity_{name}": mean for name, mean in zip(PROMPTS, means, strict=True)},
    }


def compute_choice(
    predictions: Sequence[Sequence[str] | str],
    references: Sequence[str],
    options: Sequence[Sequence[str]] | None = None,
) -> dict[str, float]:
    """Score the vote over several answers to each multiple-choice question, and how far the answers agree.

    The measure of the level Apply of SpeechIQ.

    Args:
        predictions (list of lists of str, or list of str): The answers to each question, or one answer per
            question. An answer is a letter, or ? for an answer without one; with options, any text from which the
            letter is read.
        references (list of str): The letter of the right option of each question, A for the first.
        options (list of lists of str): The texts of the options of each question, in the order of their letters.
            With them, letters are read from the answers.

    Returns:
        acc: The share of questions whose vote (the letter that most answers give) is right.
        acc_strict: The share of questions to which more than half of the answers are right.
        agreement: The mean share of the answers to a question that give the letter of the vote.
        unparsed: The mean share of the answers to a question from which no letter can be read.
        none_of_the_above: The share of questions whose vote is E.
    """
    if options is not None and len(options) != len(references):
        raise SpeechIQError(
            "options",
            f"those of {len(options)} questions, references: {len(references)}",
            "give the options of each question",
        )
    rows = []
    for number, (prediction, right) in enumerate(zip(predictions, references, strict=True)):
        answers = [prediction] if isinstance(prediction, str) else list(prediction)
        if not answers:
            raise SpeechIQError(
                "predictions", f"question {number} has no answer", "give ? for an answer without a letter"
            )
        if right not in [*(ALPHABET if options is None else ALPHABET[: len(options[number])])]:
            raise SpeechIQError(
                "references",
                f"question {number} has the right answer {str(right)[:60]!r}, not the letter of an option",
                "give a capital letter, A for the first option",
            )
        if options is None:
            letters = [_check_letter(answer, number) for answer in answers]
        else:
            letters = [parse_letter(answer, options[number]) for answer in answers]
        rows.append(score_vote({"answer": right}, [[vote(letters), letters]]))
    return mean_rows(rows, VOTE_SCORES)


def _check_letter(answer: str, number: int) -> str:
    if answer == UNPARSED or (len(answer) == 1 and answer in ALPHABET):
        return answer
    raise SpeechIQError(
        "predictions",
        f"question {number} has the answer {answer[:60]!r}, not a letter or {UNPARSED}",
        "give options=, the texts of the options, to read letters from answers",
    )


def compute_meteor(predictions: Sequence[str], references: Sequence[str | Sequence[str]]) -> dict[str, float]:
    """Compute METEOR of captions against one or several references, for the caption tasks of SpeechIQ.

    NLTK's own function reads a table of WordNet 3.0 that is part of the package, so that nothing is downloaded.

    Args:
        predictions (list of str): The captions.
        references (list of str, or list of lists of str): One reference of each caption, or several, of which the
            best counts.

    Returns:
        meteor: The mean over the captions; NaN if a caption has no reference with words.
    """
    return {"meteor": meteor(references, predictions)}


def compute_judge(
    predictions: Sequence[str],
    references: Sequence[str],
    questions: Sequence[str] | None = None,
    checklists: Sequence[str] | None = None,
    judge: str = "exact_match",
    **options: Any,
) -> dict[str, float]:
    """Score free answers by the rule exact_match, or by a language model that grades each answer by a rubric.

    The measure of judged tasks of SpeechIQ; the scores by rule are computed in both cases.

    Args:
        predictions (list of str): The answers.
        references (list of str): The right answers; empty texts for a rubric without a reference.
        questions (list of str): What was asked; by default nothing.
        checklists (list of str): What a good answer has; by default nothing.
        judge (str): exact_match (default), or ENGINE:MODEL with a text engine.
        **options: rubric (name or YAML file; by default grade_0_5), draws, seed, by, and options of the engine, as
            the keys judge_* of --metadata.

    Returns:
        judge: The mean score as a share of the scale, from 0 to 1; judge_points on the scale itself. Unjudged
            answers are left out; NaN if all are.
        judge_agreement, unjudged, refusal, empty_answer, exact_match, contains_answer, f1: Means over the answers
            for which they are defined.
    """
    empty = [""] * len(predictions)
    columns = {"question": questions or empty, "answer": references, "checklist": checklists or empty}
    if wrong := [name for name, texts in columns.items() if len(texts) != len(predictions)]:
        raise SpeechIQError(
            f"{wrong[0]}s", f"{len(columns[wrong[0]])} texts for {len(predictions)} answers", "give one each"
        )
    settings = read_settings({"judge": judge} | {f"judge_{name}": value for name, value in options.items()})
    docs = [dict(zip(columns, row, strict=True)) | settings for row in zip(*columns.values(), strict=True)]
    rows = [
        free_answers.score(doc, [item])
        for doc, item in zip(docs, free_answers.Judge().apply(predictions, docs), strict=True)
    ]
    return mean_rows(rows, JUDGE_SCORES)


#: Name of a module -> what computes it, and the forms of an item.
METRICS: dict[str, tuple[Callable[..., dict[str, float]], tuple[Any, ...]]] = {
    "wer": (compute_wer, (ONE,)),
    "similarity": (compute_similarity, (ONE,)),
    "choice": (compute_choice, (SEVERAL_PREDICTIONS, ONE)),
    "meteor": (compute_meteor, (SEVERAL_REFERENCES, ONE)),
    "judge": (compute_judge, (ONE,)),
}
