"""Read what the rows of a data set ask: question, options, answer and accepted answers, as public sets write them."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from speechiq.core.errors import RowError, SpeechIQError
from speechiq.engines.options import FORM, Options
from speechiq.metrics.letters.labels import parse_label
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.rules import instructions
from speechiq.metrics.settings import Text
from speechiq.siq_tasks.loaders.odd_rows import Repairs
from speechiq.siq_tasks.questions.file import normalize_question

#: Values of `instruction`, next to a number: a wording for each row by a digest of its name, and every wording.
BY_DIGEST, ALL = "rotate", "all"
#: How many options are spoken in a clip if its set does not say it.
SPOKEN_OPTIONS = 4
#: The marks before the first option of a text, and how those of the others are written.
_MARKS = {
    re.compile(r"\s*\(A\)"): r"\({}\)",
    re.compile(r"\s*\[A\]"): r"\[{}\]",
    re.compile(r"\s*A\)"): r"(?<!\w){}\)",
    re.compile(r"\s*A[.:]\s"): r"(?<!\w){}[.:]\s",
}
_NUMBER = re.compile(r"\d{1,2}")
_LETTER = re.compile(r"\s*[\[(]?([A-Z])[\])]?[.:;]?\s*")
_MARKED = re.compile(r"\s*(?:[\[(]([A-Z])[\])]|([A-Z])[).:])\s*(.*?)\s*", re.DOTALL)


class AnswerSettings(Options, frozen=True, kw_only=True):
    """Define how answers are written, as a run may say."""

    answer_base: Annotated[
        Literal[0, 1] | None, Meta(description="Number of the first option, if answers are numbers: 0 or 1.")
    ] = None


#: Label -> words that name it.
Labels = Annotated[
    dict[str, list[Annotated[str, Meta(pattern=r"\S")]]],
    Meta(min_length=2, extra={FORM: "two or more labels with their words, such as {joy: [happy], anger: []}"}),
]


class RowSettings(AnswerSettings, frozen=True, kw_only=True):
    """Define how the rows of a data set are read, as its YAML says."""

    answer_after: Annotated[Text | None, Meta(description="Text after which an answer begins.")] = None
    labels: Annotated[Labels | None, Meta(description="Labels and the words that name them.")] = None
    spoken_options: Annotated[
        Annotated[int, Meta(ge=2, le=len(ALPHABET))] | None,
        Meta(description="Number of options that are spoken in a clip; 4 without it."),
    ] = None


class LabelSettings(RowSettings, frozen=True, kw_only=True):
    """Define how the rows of a data set with labels are read."""

    labels: Labels


class WordingSettings(Options, frozen=True, kw_only=True):
    """Define which wordings of an instruction are asked."""

    instruction: Annotated[
        Literal["rotate", "all"] | Annotated[int, Meta(ge=0)],
        Meta(
            description="Wording of the instruction: one for each row by a digest of its id (`rotate`), every one "
            "(`all`), or one for all rows (its number)."
        ),
    ] = "rotate"


class Columns(Options, frozen=True, kw_only=True):
    """Name the columns of what a row asks; a part of a nested column is `COLUMN.PART`."""

    question_column: Annotated[Text | None, Meta(description="Column of the questions, for tasks that ask rows.")] = (
        None
    )
    choices_column: Annotated[
        str | list[str] | None,  # msgspec 0.22 crashes on a list beside a text with limits.
        Meta(
            description="Column of the options: a list, its JSON text, or one text such as `(A) yes (B) no`; in a YAML "
            "also a list of columns with one option each, of which the last ones may be empty."
        ),
    ] = None
    answer_column: Annotated[
        Text | None,
        Meta(
            description="Column of the reference answers; for options a letter, the text of an option, both, or a "
            "number if there is an `answer_base`."
        ),
    ] = None
    accepted_column: Annotated[Text | None, Meta(description="Column of further right answers, a text or a list.")] = (
        None
    )
    checklist_column: Annotated[Text | None, Meta(description="Column of what a good reply has.")] = None
    grades_column: Annotated[
        str | list[str] | None,
        Meta(
            description="Column of what each score of the judge's scale means for the row, the lowest first: a list or "
            "its JSON text; in a YAML also a list of columns with one description each."
        ),
    ] = None
    checks_column: Annotated[
        Text | None, Meta(description="Column of the names of a reply's checks, for tasks such as IFEval.")
    ] = None
    check_options_column: Annotated[Text | None, Meta(description="Column of the options of these checks.")] = None

    def __post_init__(self) -> None:
        if self.choices_column in ("", []):
            raise SpeechIQError("choices_column", "names no column", "give the column of the options")

    @property
    def names(self) -> dict[str, str]:
        """Return the columns that are named, each with a setting that names it."""
        named: dict[str, str] = {}
        for setting, columns in msgspec.structs.asdict(self).items():
            named |= dict.fromkeys([columns] if isinstance(columns, str) else columns or [], setting)
        return named

    def pick(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a row by role: `question`, `choices`, `answer`, `accepted`, `checklist`.

        >>> Columns(answer_column="a").pick({"a": "yes", "b": 1})
        {'answer': 'yes'}
        >>> Columns(choices_column=["a", "b", "c"]).pick({"a": "yes", "b": "no", "c": None})
        {'choices': ['yes', 'no']}
        """
        picked: dict[str, Any] = {}
        for key, column in msgspec.structs.asdict(self).items():
            if isinstance(column, str):
                picked[key.removesuffix("_column")] = row[column]
            elif column is not None:
                values = [row[name] for name in column]
                while values and values[-1] in (None, ""):
                    values.pop()
                picked[key.removesuffix("_column")] = values
        return picked


def read_nothing(raw: Mapping[str, Any], settings: RowSettings, repairs: Repairs) -> dict[str, Any]:
    """Return an empty question: a transcript is wanted."""
    return {"question": ""}


def read_open(raw: Mapping[str, Any], settings: RowSettings, repairs: Repairs) -> dict[str, Any]:
    """Return `question`, `answer` and `accepted` of a row with a free answer, and `grades` if it has them.

    `raw` has the values by role, from `Columns.pick`. What a rule repairs is added to `repairs`.

    >>> read_open({"question": "Who?", "answer": ["Ann", "Anna"]}, RowSettings(), [])
    {'question': 'Who?', 'answer': 'Ann', 'accepted': ['Anna']}
    """
    question = _read_text(raw["question"], "question") if "question" in raw else ""
    answers = _read_texts(raw.get("answer"), "answer", repairs, settings.answer_after or "")
    accepted = _read_texts(raw["accepted"], "accepted answer", repairs) if raw.get("accepted") else []
    row: dict[str, Any] = {"question": question, "answer": answers[0], "accepted": [*answers[1:], *accepted]}
    return row | ({"grades": _read_grades(raw["grades"])} if raw.get("grades") else {})


def _read_grades(value: Any) -> list[str]:
    """Return the description of each score, from a list of texts or its JSON text.

    >>> _read_grades('["wrong", "right"]')
    ['wrong', 'right']
    """
    try:
        given = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        given = None
    if not isinstance(given, list | tuple) or not all(isinstance(text, str) and text.strip() for text in given):
        raise RowError("descriptions of scores that cannot be read", f"{value!r:.200} is not a list of texts")
    return [" ".join(text.split()) for text in given]


def read_query(raw: Mapping[str, Any], settings: RowSettings, repairs: Repairs) -> dict[str, Any]:
    """Return `question`, `checklist`, `answer` and `accepted` of a spoken query, of which only the first is required.

    >>> read_query({"question": "How do I boil an egg?", "checklist": None}, RowSettings(), [])
    {'question': 'How do I boil an egg?', 'checklist': '', 'answer': '', 'accepted': []}
    """
    checklist = raw.get("checklist")
    empty = checklist is None or (isinstance(checklist, str) and not checklist.strip())
    answers = _read_texts(raw["answer"], "answer", repairs) if raw.get("answer") else [""]
    return {
        "question": _read_text(raw["question"], "question"),
        "checklist": "" if empty else "\n".join(_read_texts(checklist, "checklist", repairs)),
        "answer": answers[0],
        "accepted": answers[1:],
    }


def read_choice(raw: Mapping[str, Any], settings: RowSettings, repairs: Repairs) -> dict[str, Any]:
    r"""Return the fields of a row with options: those of `read_open`, `options` and `gold`, the right letters.

    An empty option is dropped, and letters close up. Each option that is equal to the right one is right.

    >>> raw = {"question": "When?", "choices": "(A) Today;\n(B) Never.", "answer": "(B) Never."}
    >>> row = read_choice(raw, RowSettings(), [])
    >>> row["options"], row["gold"], row["answer"], row["accepted"]
    (['Today', 'Never.'], ['B'], '(B) Never.', ['B', 'Never.'])
    >>> row = read_choice(raw | {"choices": ["now", None, "then", "Now."], "answer": "D"}, RowSettings(), repairs := [])
    >>> row["options"], row["gold"], [repair.reason for repair in repairs]
    (['now', 'then', 'Now.'], ['A', 'C'], ['empty options', 'equal options'])
    """
    row = read_open(raw, settings, repairs)
    texts = parse_options(raw.get("choices"))
    right = find_right(row["answer"], texts, settings.answer_base)
    kept = [place for place, text in enumerate(texts) if text]
    gold = [letter for letter, place in zip(ALPHABET, kept, strict=False) if place in right]
    options = [texts[place] for place in kept]
    if len(options) < 2:
        raise RowError("fewer than two options", f"the options {texts!r:.200} are fewer than two")
    if len(options) < len(texts):
        repairs.append(RowError("empty options", f"an option of {texts!r:.200} is empty"))
    if len(gold) > 1:
        repairs.append(RowError("equal options", f"the answer is the text of the options {' and '.join(gold)}"))
    named = [options[ALPHABET.index(letter)] for letter in gold]
    accepted = [*gold, *dict.fromkeys(named), *row["accepted"]]
    answer = {"answer": f"({gold[0]}) {named[0]}", "accepted": accepted, "gold": gold}
    return {"question": row["question"], "options": options, **answer}


def read_spoken_choice(raw: Mapping[str, Any], settings: RowSettings, repairs: Repairs) -> dict[str, Any]:
    """Return the fields of a row whose options are spoken in the clip and known by their letters alone.

    >>> two = RowSettings(spoken_options=2)
    >>> row = read_spoken_choice({"question": "Is it A. hot or B. cold?", "answer": "(B)"}, two, [])
    >>> row["options"], row["gold"]
    (['A', 'B'], ['B'])
    """
    letters = ALPHABET[: settings.spoken_options or SPOKEN_OPTIONS]
    return read_choice({**raw, "choices": list(letters)}, settings, repairs)


def read_checks(raw: Mapping[str, Any], settings: RowSettings, repairs: Repairs) -> dict[str, Any]:
    """Return `question` and `checks` of a spoken request, whose checks are tried once, so that they can work later."""
    checks, options = raw["checks"], raw["check_options"]
    if not isinstance(checks, list) or not isinstance(options, list) or not len(checks) == len(options) > 0:
        fault = f"checks {checks!r:.80} and options {options!r:.80} are not two lists of equal length"
        raise RowError("checks that do not work", fault)
    if not all(isinstance(each, dict | None) for each in options):
        raise RowError("checks that do not work", f"options {options!r:.80} are not mappings")
    question = _read_text(raw["question"], "question")
    given = [_drop_missing(each or {}) for each in options]
    row = {"question": question, "checks": json.dumps([checks, given])}
    if fault := instructions.find_broken_check(row):
        raise RowError("checks that do not work", fault)
    return row


def _drop_missing(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def read_label(raw: Mapping[str, Any], settings: RowSettings, repairs: Repairs) -> dict[str, Any]:
    """Return the fields of a row with a label: those of `read_open`, and in `gold` the one label that its answer names.

    >>> settings = LabelSettings(labels={"joy": ["happy"], "anger": ["angry"]})
    >>> read_label({"answer": "The speaker sounds happy."}, settings, [])["gold"]
    ['joy']
    """
    row = read_open(raw, settings, repairs)
    labels = settings.labels or {}
    label = parse_label(row["answer"], labels)
    if label == UNPARSED:
        raise RowError(
            "an answer that names no label",
            f"the answer {row['answer']!r:.80} does not name exactly one of the labels {', '.join(labels)}",
            "add its words to metadata.labels, or correct the row",
        )
    return row | {"answer": label, "accepted": list(labels[label]), "gold": [label]}


def parse_options(value: Any) -> list[str]:
    """Return the texts of options without their letters; an empty text is a missing option.

    They are a list of at most 26 texts, its JSON text, or one text in which `(A)`, `[A]`, `A)`, `A.` or `A:` begins
    each.

    >>> parse_options("A. a cat B. a dog C. both"), parse_options(["(A) yes", "(B) no"])
    (['a cat', 'a dog', 'both'], ['yes', 'no'])
    >>> parse_options('["yes", null, 2]')
    ['yes', '', '2']
    """
    given = _split_options(value) if isinstance(value, str) else value
    texts = [_as_text(each) for each in given] if isinstance(given, list | tuple) else []
    if not 0 < len(texts) <= len(ALPHABET) or None in texts:
        raise RowError(
            "options that cannot be read",
            f"the options {value!r:.200} cannot be read",
            f"write a list of 2 to {len(ALPHABET)} texts, its JSON text, or one text such as '(A) yes (B) no'",
        )
    return _drop_letters([" ".join(text.split()).rstrip("; ") for text in texts if text is not None])


def _drop_letters(options: list[str]) -> list[str]:
    """Return options without their letters, if each that is not empty begins with its own."""
    texts = []
    for letter, option in zip(ALPHABET, options, strict=False):
        mark = _MARKED.fullmatch(option)
        if option and (mark is None or letter not in (mark[1], mark[2])):
            return options
        texts.append(mark[3] if mark else "")
    return texts if any(texts) else options


def _split_options(text: str) -> list[str]:
    try:
        if isinstance(texts := json.loads(text), list):
            return texts
    except (ValueError, RecursionError):  # No JSON.
        pass
    pattern = next((form for first, form in _MARKS.items() if first.match(text)), None)
    if pattern is None:
        return []
    starts = list(_find_marks(text, pattern))
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [text[after:end].strip() for (_, after), end in zip(starts, ends, strict=True)]


def _find_marks(text: str, pattern: str) -> Iterator[tuple[int, int]]:
    """Yield where the mark of each option begins and ends, until the next letter has none."""
    place = 0
    for letter in ALPHABET:
        mark = re.compile(pattern.format(letter)).search(text, place)
        if mark is None:
            return
        place = mark.end()
        yield mark.span()


def find_right(answer: str, options: Sequence[str], base: int | None = None) -> list[int]:
    """Return the places of the options that are right; the answer is a text, a letter or both, or a number from `base`.

    Texts are equal but for case, blanks and a final full stop. An option that is an empty text is never right.

    >>> [find_right(answer, ["today", "never"]) for answer in ("B", "(b) never", "NEVER.", "(B) Never")]
    [[1], [1], [1], [1]]
    >>> find_right("2", ["today", "never"], base=1), find_right("now", ["now", "then", "Now."])
    ([1], [0, 2])
    """
    texts = [_simplify(option) for option in options]
    place = _find_place(answer, texts, base)
    if place is None or not 0 <= place < len(texts) or not texts[place]:
        raise RowError(
            "an answer that is in no option",
            f"the answer {answer!r:.80} is not one of the options {list(options)!r:.200}",
            "write its letter, its text or both; for a number give metadata.answer_base, 0 or 1",
        )
    return [each for each, text in enumerate(texts) if text == texts[place]]


def _find_place(answer: str, texts: Sequence[str], base: int | None) -> int | None:
    plain = _simplify(answer)
    if base is not None and _NUMBER.fullmatch(answer):
        return int(answer) - base
    if plain in texts:
        return texts.index(plain)
    if alone := _LETTER.fullmatch(answer.upper()):
        return ALPHABET.index(alone[1])
    loose = [normalize_question(text) for text in texts]
    if marked := _MARKED.fullmatch(answer[:4].upper() + answer[4:]):
        place = ALPHABET.index(marked[1] or marked[2])
        if place < len(texts) and normalize_question(marked[3]) == loose[place]:
            return place
    return loose.index(normalize_question(plain)) if loose.count(normalize_question(plain)) == 1 else None


def _simplify(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip("; ").removesuffix(".").rstrip()


def _read_texts(value: Any, role: str, repairs: Repairs, after: str = "") -> list[str]:
    """Return the texts of a role, or what follows `after` in each; empty ones are dropped if others are left."""
    values = value if isinstance(value, list | tuple) else [value]
    texts = [_as_text(each) or "" for each in values]
    if after:
        texts = [text.rpartition(after)[2].strip() for text in texts]
    found = [text for text in texts if text]
    if not found:
        raise RowError(f"no {role}", f"the {role} is {value!r:.80}, not a text")
    if len(found) < len(texts):
        repairs.append(RowError(f"an empty {role}", f"a part of the {role} {value!r:.80} is empty"))
    return found


def _read_text(value: Any, role: str) -> str:
    if not (text := _as_text(value)):
        raise RowError(f"no {role}", f"the {role} is {value!r:.80}, not a text")
    return text


def _as_text(value: Any) -> str | None:
    """Return a text or number as a text without blanks around it, empty for a missing one; None for anything else."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if type(value) is int:
        return str(value)
    if isinstance(value, float):
        return f"{value:.15g}"
    return value.strip() if isinstance(value, str) else None
