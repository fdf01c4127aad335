"""Read what the rows of a data set ask: question, options, answer and accepted answers, as public sets write them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from speechiq.core.errors import SpeechIQError
from speechiq.metrics.letters.labels import parse_label
from speechiq.metrics.letters.options import ALPHABET, UNPARSED
from speechiq.metrics.rules import instructions
from speechiq.siq_tasks.questions.file import normalize

FIX = "correct the row, or leave it out with --metadata leave_out=ID"
#: The marks before the first option of a text, and how those of the others are written.
_MARKS = {
    re.compile(r"\s*\(A\)"): r"\({}\)",
    re.compile(r"\s*\[A\]"): r"\[{}\]",
    re.compile(r"\s*A\)"): r"(?<!\w){}\)",
    re.compile(r"\s*A[.:]\s"): r"(?<!\w){}[.:]\s",
}
_LETTER = re.compile(r"\s*[\[(]?([A-Z])[\])]?[.:;]?\s*")
_MARKED = re.compile(r"\s*(?:[\[(]([A-Z])[\])]|([A-Z])[).:])\s*(.*\S)\s*", re.DOTALL)


class Columns(NamedTuple):
    """Name the columns of what a row asks; a part of a nested column is `COLUMN.PART`.

    Attributes:
        choices_column: The options: a list, its JSON text, or one text such as `(A) yes (B) no`; or the names of
            several columns with one option each, which may be empty in rows with fewer options.
        answer_column: The reference answer; for options a letter, the text of an option, or both.
        accepted_column: Further right answers, a text or a list.
        checklist_column: What a good reply has; empty for a question without a checklist.
        checks_column: Names of IFEval's checks of a reply, a list.
        check_options_column: Options of each check, a list of mappings.
    """

    question_column: str | None = None
    choices_column: str | list[str] | None = None
    answer_column: str | None = None
    accepted_column: str | None = None
    checklist_column: str | None = None
    checks_column: str | None = None
    check_options_column: str | None = None

    @property
    def names(self) -> list[str]:
        """Return the columns that are named, each once."""
        named = [[column] if isinstance(column, str) else column or [] for column in self]
        return list(dict.fromkeys(name for names in named for name in names))

    def pick(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a row by role: `question`, `choices`, `answer`, `accepted`, `checklist`.

        >>> Columns(answer_column="a").pick({"a": "yes", "b": 1})
        {'answer': 'yes'}
        >>> Columns(choices_column=["a", "b", "c"]).pick({"a": "yes", "b": "no", "c": None})
        {'choices': ['yes', 'no']}
        """
        picked: dict[str, Any] = {}
        for key, column in self._asdict().items():
            if isinstance(column, str):
                picked[key.removesuffix("_column")] = row[column]
            elif column is not None:
                picked[key.removesuffix("_column")] = [row[name] for name in column if row[name] not in (None, "")]
        return picked


def read_columns(metadata: Mapping[str, Any]) -> Columns:
    """Return the columns that a task's metadata names; a name that is not a text is refused."""
    columns = {key: metadata[key] for key in Columns._fields if metadata.get(key) is not None}
    for key, value in columns.items():
        names = value if key == "choices_column" and isinstance(value, list) else [value]
        if not names or not all(isinstance(name, str) and name for name in names):
            raise SpeechIQError(f"metadata.{key}", f"{value!r:.80} is not the name of a column", "correct it")
    return Columns(**columns)


def read_nothing(raw: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return an empty question: a transcript is wanted."""
    return {"question": ""}


def read_open(raw: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return `question`, `answer` and `accepted` of a row with a free answer.

    `raw` has the values by role, from `Columns.pick`, and `settings` those of the task type: `answer_after` is a text
    after which the answer begins. `where` is file and row, for errors.

    >>> read_open({"question": "Who?", "answer": ["Ann", "Anna"]}, {}, "set row 0")
    {'question': 'Who?', 'answer': 'Ann', 'accepted': ['Anna']}
    """
    question = _read_text(raw["question"], "question", where) if "question" in raw else ""
    answers, mark = _read_texts(raw.get("answer"), "answer", where), settings.get("answer_after")
    answers = [text.rpartition(mark)[2].strip() for text in answers] if mark else answers
    accepted = _read_texts(raw["accepted"], "accepted answers", where) if raw.get("accepted") else []
    return {"question": question, "answer": answers[0], "accepted": [*answers[1:], *accepted]}


def read_query(raw: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return `question`, `checklist`, `answer` and `accepted` of a spoken query, of which only the first is required.

    >>> read_query({"question": "How do I boil an egg?", "checklist": None}, {}, "set row 0")
    {'question': 'How do I boil an egg?', 'checklist': '', 'answer': '', 'accepted': []}
    """
    checklist = raw.get("checklist")
    empty = checklist is None or (isinstance(checklist, str) and not checklist.strip())
    answers = _read_texts(raw["answer"], "answer", where) if raw.get("answer") else [""]
    return {
        "question": _read_text(raw["question"], "question", where),
        "checklist": "" if empty else "\n".join(_read_texts(checklist, "checklist", where)),
        "answer": answers[0],
        "accepted": answers[1:],
    }


def read_choice(raw: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    r"""Return the fields of a row with options: those of `read_open`, `options` and `gold`, the right letter.

    >>> raw = {"question": "When?", "choices": "(A) Today;\n(B) Never.", "answer": "(B) Never."}
    >>> row = read_choice(raw, {}, "set row 0")
    >>> row["options"], row["gold"], row["answer"], row["accepted"]
    (['Today', 'Never.'], 'B', '(B) Never.', ['B', 'Never.'])
    """
    row = read_open(raw, settings, where)
    options = parse_options(raw.get("choices"), where)
    letter = parse_key(row["answer"], options, where)
    text = options[ALPHABET.index(letter)]
    answers = {"answer": f"({letter}) {text}", "accepted": [letter, text, *row["accepted"]], "gold": letter}
    return {"question": row["question"], "options": options, **answers}


def read_spoken_choice(raw: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a row whose options are spoken in the clip and known by their letters alone.

    `settings` has `spoken_options`, the number of options; 4 without it.

    >>> row = read_spoken_choice({"question": "Is it A. hot or B. cold?", "answer": "(B)"}, {"spoken_options": 2}, "")
    >>> row["options"], row["gold"]
    (['A', 'B'], 'B')
    """
    return read_choice({**raw, "choices": list(ALPHABET[: settings.get("spoken_options", 4)])}, settings, where)


def read_checks(raw: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return `question` and `checks` of a spoken request, whose checks are tried once, so that they can work later."""
    checks, options = raw["checks"], raw["check_options"]
    if not isinstance(checks, list) or not isinstance(options, list) or not len(checks) == len(options) > 0:
        raise SpeechIQError(
            where, f"checks {checks!r:.80} and options {options!r:.80} are not two lists of equal length", FIX
        )
    question = _read_text(raw["question"], "question", where)
    given = [{key: value for key, value in (each or {}).items() if value is not None} for each in options]
    row = {"question": question, "checks": json.dumps([checks, given])}
    instructions.try_checks(row, where)
    return row


def read_label(raw: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of a row with a label: those of `read_open`, and `gold`, the one label that its answer names.

    `settings` has `labels`: label -> words that name it.

    >>> labels = {"joy": ["happy"], "anger": ["angry"]}
    >>> read_label({"answer": "The speaker sounds happy."}, {"labels": labels}, "set row 0")["gold"]
    'joy'
    """
    row = read_open(raw, settings, where)
    labels: Mapping[str, Sequence[str]] = settings["labels"]
    label = parse_label(row["answer"], labels)
    if label == UNPARSED:
        raise SpeechIQError(
            where,
            f"the answer {row['answer']!r:.80} does not name exactly one of the labels {', '.join(labels)}",
            f"add its words to metadata.labels, or {FIX}",
        )
    return row | {"answer": label, "accepted": list(labels[label]), "gold": label}


def parse_options(value: Any, where: str) -> list[str]:
    """Return the texts of options without their letters; `where` is file and row, for errors.

    They are a list of 2 to 26 texts, its JSON text, or one text in which `(A)`, `[A]`, `A)`, `A.` or `A:` begins each.

    >>> parse_options("A. a cat B. a dog C. both", "row 0"), parse_options(["(A) yes", "(B) no"], "row 0")
    (['a cat', 'a dog', 'both'], ['yes', 'no'])
    >>> parse_options('["yes", "no"]', "row 0")
    ['yes', 'no']
    """
    texts = _split_options(value) if isinstance(value, str) else value
    if (
        not isinstance(texts, Sequence)
        or not 2 <= len(texts) <= len(ALPHABET)
        or not all(isinstance(text, str) and text.strip(" ;\n") for text in texts)
    ):
        raise SpeechIQError(
            where,
            f"the options {value!r:.200} cannot be parsed",
            f"write a list of 2 to {len(ALPHABET)} texts, its JSON text, or one text such as '(A) yes (B) no'; {FIX}",
        )
    options = [" ".join(text.split()).rstrip("; ") for text in texts]
    marks = [_MARKED.fullmatch(text) for text in options]
    if [mark and (mark[1] or mark[2]) for mark in marks] == list(ALPHABET[: len(options)]):
        return [mark[3] for mark in marks if mark]
    return options


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


def parse_key(answer: str, options: Sequence[str], where: str) -> str:
    """Return the letter of the right option, named by a letter, a text, or both.

    >>> [parse_key(answer, ["today", "never"], "row 0") for answer in ("B", "(b) never", "Never.", "(B) Never")]
    ['B', 'B', 'B', 'B']
    """
    letters = ALPHABET[: len(options)]
    texts = [normalize(option) for option in options]
    plain = normalize(answer)
    alone, marked = _LETTER.fullmatch(answer.upper()), _MARKED.fullmatch(answer[:4].upper() + answer[4:])
    if texts.count(plain) == 1:
        return letters[texts.index(plain)]
    if texts.count(plain) > 1:
        same = " and ".join(letter for letter, text in zip(letters, texts, strict=True) if text == plain)
        raise SpeechIQError(where, f"the answer {answer!r:.80} is the text of the options {same}", FIX)
    if alone and alone[1] in letters:
        return alone[1]
    letter, text = (str(marked[1] or marked[2]), marked[3]) if marked else ("", "")
    if letter and letter in letters and normalize(text) == texts[letters.index(letter)]:
        return letter
    raise SpeechIQError(
        where,
        f"the answer {answer!r:.80} is not one of the options {list(options)!r:.200}",
        f"write its letter, its text or both; {FIX}",
    )


def _read_texts(value: Any, role: str, where: str) -> list[str]:
    values = value if isinstance(value, list | tuple) and value else [value]
    return [_read_text(text, role, where) for text in values]


def _read_text(value: Any, role: str, where: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:.15g}"
    if not isinstance(value, str) or not value.strip():
        raise SpeechIQError(where, f"the {role} is {value!r:.80}, not a text", FIX)
    return value.strip()
