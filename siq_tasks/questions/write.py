"""Write three questions per clip that every checker answers right from the reference (paper, appendix A).

The questions are a function of the clips, the seed and the authors' answers: clips are processed in parallel, but the
questions of a clip do not depend on other clips. The right letters are balanced over the file. The prompts are in
`_prompts.yaml`: the paper's own text is only a picture. A changed text makes other questions: raise `PROMPT_VERSION`,
which every written question contains.
"""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from speechiq.core.batches import run_concurrently
from speechiq.core.console import count_of
from speechiq.core.errors import SpeechIQError
from speechiq.core.ids import complete_ids
from speechiq.core.response import drop_reasoning
from speechiq.metrics.letters.options import LETTERS, NONE_OF_THE_ABOVE
from speechiq.metrics.letters.reading import UNPARSED, parse_letter
from speechiq.siq_tasks.index import read_mapping
from speechiq.siq_tasks.questions import file
from speechiq.siq_tasks.questions.authors import Author, StoredAnswers
from speechiq.siq_tasks.questions.file import OPTIONS, PER_CLIP, normalize_question

PROMPT_VERSION = 1

#: Name of a prompt, or of a part of one -> its text.
TEXTS: dict[str, str] = read_mapping(Path(__file__).with_name("_prompts.yaml"))


def ask_for_questions(reference: str, count: int, asked: Sequence[str] = ()) -> str:
    """Return the prompt for `count` questions about `reference` that differ from those `asked` before."""
    avoid = TEXTS["avoid"].format(asked="\n".join(f"- {question}" for question in asked)) if asked else ""
    return TEXTS["writing"].format(
        count="one question" if count == 1 else f"{count} questions", avoid=avoid, reference=reference
    )


def ask_for_letter(question: str, options: Sequence[str], reference: str | None = None) -> str:
    """Return the prompt for the letter of the right option, with (E); without a reference, for a guess (the floor).

    >>> print(ask_for_letter("Who won?", ["Ann", "Dan"]).split("about it?")[1].strip())
    Question: Who won?
    (A) Ann
    (B) Dan
    Reply with the letter of one option, nothing else.
    """
    listed = "\n".join(f"({letter}) {option}" for letter, option in zip("ABCDE", options, strict=False))
    template = TEXTS["guessing" if reference is None else "checking"]
    return template.format(reference=reference, question=question, options=listed)


class UnusableDraft(Exception):
    """Report a writer's answer without questions; the message is one of a few reasons, which are counted."""


class _Question(msgspec.Struct):
    question: str
    answer: str
    distractors: list[str]


class _Written(msgspec.Struct):
    questions: list[_Question]


class QuestionDraft(NamedTuple):
    """Hold a question as it was written: the right answer first."""

    question: str
    options: list[str]


def parse_drafts(answer: str, count: int) -> list[QuestionDraft]:
    """Return the `count` questions of a writer's JSON, which may be in a code fence or between sentences.

    >>> text = 'Sure: {"questions": [{"question": "Who?", "answer": "Ann", "distractors": ["Dan", "Jan", "Stan"]}]}'
    >>> parse_drafts(text, 1)
    [QuestionDraft(question='Who?', options=['Ann', 'Dan', 'Jan', 'Stan'])]
    """
    found = re.search(r"\{.*\}", drop_reasoning(answer), re.DOTALL)
    if not found:
        raise UnusableDraft("no JSON, perhaps a refusal")
    try:
        questions = msgspec.json.decode(found[0], type=_Written).questions
    except msgspec.ValidationError:
        raise UnusableDraft("JSON of another schema") from None
    except ValueError:
        raise UnusableDraft("malformed JSON") from None
    if len(questions) != count:
        raise UnusableDraft("another number of questions")
    drafts = []
    for written in questions:
        options = [text.strip() for text in (written.answer, *written.distractors)]
        drafts.append(QuestionDraft(written.question.strip(), options))
    return drafts


def choose_letter(seed: int, place: int) -> str:
    """Return the right letter of the question at `place` in the file; each block of four has every letter once.

    >>> sorted(choose_letter(0, place) for place in range(8))
    ['A', 'A', 'B', 'B', 'C', 'C', 'D', 'D']
    """
    block, within = divmod(place, OPTIONS)
    return random.Random(f"{seed}/letters/{block}").sample(LETTERS[:OPTIONS], OPTIONS)[within]


def shuffle(draft: QuestionDraft, letter: str, seed: int, question_id: str) -> list[str]:
    """Return the draft's options: the right one at `letter`, the others in an order given by seed and question.

    >>> shuffle(QuestionDraft("Who?", ["Ann", "Dan", "Jan", "Stan"]), "C", 0, "a-q1")[2]
    'Ann'
    """
    right, *others = draft.options
    random.Random(f"{seed}/{question_id}/{draft.question}").shuffle(others)
    others.insert(LETTERS.index(letter), right)
    return others


def reveals_answer(question: str, options: list[str], answer: str) -> bool:
    """Return whether the question contains the text of its right option, but not the texts of all options.

    >>> reveals_answer("Who is Ann?", ["Dan", "Ann", "Jan", "Stan"], "B")
    True
    >>> reveals_answer("Was it Ann, Dan, Jan or Stan?", ["Dan", "Ann", "Jan", "Stan"], "B")
    False
    """
    text = f" {normalize_question(question)} "
    contained = [f" {normalize_question(option)} " in text for option in options]
    return contained[LETTERS.index(answer)] and not all(contained)


def derive_seed(*parts: Any) -> int:
    """Return a seed of 31 bits from the parts that identify a request."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, parts)).encode()).digest()[:4]) >> 1


TEMPERATURE = 0.7
TOKENS_OF_A_QUESTION = 70
CHARACTERS_OF_A_QUESTION = 150


@dataclass(frozen=True)
class WritingPlan:
    """Hold the settings of a run; see `siq data questions --help`."""

    writer: Author
    checkers: Sequence[Author]
    tries: int = 3
    rewrites: int = 3
    seed: int = 0


class Outcome(NamedTuple):
    """Hold the result of a run: lines of the file, failed attempts by reason, and the number of requested answers."""

    rows: list[dict[str, Any]]
    failures: Counter[str]
    asked: int


class CostEstimate:
    """Estimate the cost of a run in which every question passes at once; four characters count as one token."""

    def __init__(self, clips: Sequence[Mapping[str, Any]], plan: WritingPlan) -> None:
        checks = PER_CLIP * len(plan.checkers) * (plan.tries // 2 + 1)
        self.requests = len(clips) * (1 + checks)
        self.at_most = len(clips) * (plan.rewrites + 1) * (1 + PER_CLIP * len(plan.checkers) * plan.tries)
        writing = sum(len(ask_for_questions(clip["text"], PER_CLIP)) for clip in clips)
        checking = sum(len(ask_for_letter("", (), clip["text"])) + CHARACTERS_OF_A_QUESTION for clip in clips)
        self.tokens_in = (writing + checks * checking) // 4
        self.tokens_out = len(clips) * (PER_CLIP * TOKENS_OF_A_QUESTION + checks)

    def __str__(self) -> str:
        return (
            f"about {self.requests} requests, {self.tokens_in} tokens in and {self.tokens_out} out if every question "
            f"passes at once; {self.at_most} requests at most"
        )


def list_unfinished(clips: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the clips that have fewer than three lines among `rows`."""
    counts = Counter(row["id"] for row in complete_ids(rows, [clip["id"] for clip in clips]))
    return [clip for clip in clips if counts[clip["id"]] < PER_CLIP]


def answers_of(output: Path) -> Path:
    """Return the folder of the cached answers, which is next to the question file."""
    return output.with_name(f"{output.name}.answers")


def write_missing(
    clips: Sequence[Mapping[str, Any]], plan: WritingPlan, output: Path, dataset: str, workers: int = 8
) -> Outcome:
    """Write the questions that are missing in `output`; its lines stay unchanged.

    The file is written completely at the end, and the answers are cached next to it as they arrive, also if an author
    fails or after Ctrl-C; open calls are not waited for then.
    """
    kept = complete_ids(file.read_questions(output) if output.is_file() else [], [clip["id"] for clip in clips])
    file.refuse_unknown_clips(kept, [clip["id"] for clip in clips], dataset)
    rows: dict[str, list[dict[str, Any]]] = {clip["id"]: [] for clip in clips}
    for row in kept:
        rows[row["id"]].append(row)
    places = {clip["id"]: place * PER_CLIP for place, clip in enumerate(clips)}
    answers, todo = StoredAnswers(answers_of(output)), list_unfinished(clips, kept)

    def finish(clip: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Counter[str]]:
        try:
            return _write_clip(clip, places[clip["id"]], rows[clip["id"]], plan, answers)
        except BaseException as failure:
            answers.stop(failure)
            raise

    done: list[int] = []
    label = f"{dataset} questions", "clip"
    try:
        written = run_concurrently(
            todo, finish, workers=workers, label=label, on_result=lambda places, _: done.extend(places)
        )
    except (SpeechIQError, KeyboardInterrupt) as failure:
        answers.stop(failure)
        kind = SpeechIQError if isinstance(failure, SpeechIQError) else KeyboardInterrupt
        raise kind(
            f"{failure}; {len(clips) - len(todo) + len(done)} of {len(clips)} clips have their questions, and "
            f"{count_of(len(answers), 'answer')} cached in {answers.folder}: run the same command again to continue"
        ) from failure
    failures: Counter[str] = Counter()
    for clip, (lines, failed) in zip(todo, written, strict=True):
        rows[clip["id"]] = lines
        failures += failed
    complete = [row for clip in clips for row in rows[clip["id"]]]
    file.write_questions(output, complete)
    return Outcome(complete, failures, answers.asked)


def _write_clip(
    clip: Mapping[str, Any], place: int, kept: Sequence[dict[str, Any]], plan: WritingPlan, answers: StoredAnswers
) -> tuple[list[dict[str, Any]], Counter[str]]:
    done = {row["question_id"] for row in kept}
    ids = {f"{clip['id']}-q{number + 1}": place + number for number in range(PER_CLIP)}
    todo = [question_id for question_id in ids if question_id not in done][: PER_CLIP - len(kept)]
    asked = [row["question"] for row in kept if "question" in row]
    written: dict[str, dict[str, Any]] = {}
    reasons: dict[str, str] = {}
    failures: Counter[str] = Counter()
    for attempt in range(plan.rewrites + 1):
        missing = [question_id for question_id in todo if question_id not in written]
        if not missing:
            break
        prompt = ask_for_questions(clip["text"], len(missing), asked)
        answer = answers.ask(plan.writer, prompt, TEMPERATURE, derive_seed(plan.seed, clip["id"], attempt))
        try:
            written_drafts = parse_drafts(answer, len(missing))
        except UnusableDraft as error:
            failures[str(error)] += 1
            reasons |= dict.fromkeys(missing, str(error))
            continue
        for question_id, draft in zip(missing, written_drafts, strict=True):
            row = _lay_out(draft, clip["id"], question_id, ids[question_id], plan)
            reason = _refuse(row, asked) or _fail(row, clip["text"], plan, answers)
            asked.append(draft.question)
            if reason:
                failures[reason] += 1
                reasons[question_id] = reason
            else:
                written[question_id] = row
    for question_id in todo:
        reason = f"no question passed in {plan.rewrites + 1} attempts, the last: {reasons.get(question_id)}"
        written.setdefault(question_id, {"id": clip["id"], "question_id": question_id, "left_out": reason})
    return [*kept, *(written[question_id] for question_id in todo)], failures


def _lay_out(draft: QuestionDraft, clip_id: str, question_id: str, place: int, plan: WritingPlan) -> dict[str, Any]:
    letter = choose_letter(plan.seed, place)
    return {
        "id": clip_id,
        "question_id": question_id,
        "question": draft.question,
        "options": shuffle(draft, letter, plan.seed, question_id),
        "answer": letter,
        "writer": plan.writer.name,
        "checkers": [checker.name for checker in plan.checkers],
        "prompt_version": PROMPT_VERSION,
    }


def _refuse(row: Mapping[str, Any], asked: Sequence[str]) -> str | None:
    if file.find_question_fault(row):
        return "options that break a rule"
    if normalize_question(row["question"]) in map(normalize_question, asked):
        return "a question asked before"
    if reveals_answer(row["question"], row["options"], row["answer"]):
        return "a question that contains its answer"
    return None


def _fail(row: Mapping[str, Any], reference: str, plan: WritingPlan, answers: StoredAnswers) -> str | None:
    """Return which checker fails: each must be right in more than half of its tries, which end once that is decided."""
    options = [*row["options"], NONE_OF_THE_ABOVE]
    prompt = ask_for_letter(row["question"], options, reference)
    for checker in plan.checkers:
        right = 0
        for number in range(plan.tries):
            seed = derive_seed(plan.seed, row["question_id"], "check", number)
            right += parse_letter(answers.ask(checker, prompt, TEMPERATURE, seed), options) == row["answer"]
            if 2 * right > plan.tries or 2 * (right + plan.tries - number - 1) <= plan.tries:
                break
        if 2 * right <= plan.tries:
            return f"not answered right by {checker.name}"
    return None


def count_letters(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how often each letter is the right one.

    >>> count_letters([{"answer": "B"}, {"answer": "B"}, {"left_out": "no question passed"}])
    {'A': 0, 'B': 2, 'C': 0, 'D': 0}
    """
    counts = Counter(row.get("answer", UNPARSED) for row in rows)
    return {letter: counts[letter] for letter in LETTERS[:4]}


def show_letters(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the letters and their counts in words."""
    return ", ".join(f"{letter} {count}" for letter, count in count_letters(rows).items())
