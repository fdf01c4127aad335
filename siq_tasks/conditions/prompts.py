"""Choose the prompt of a task: the user's own, or that of the level Apply in the language of its data set.

The user's own are a YAML or JSON file with texts in the place of the prompts of the package. A prompt says by
placeholders where the audio, the question, the options, the hypotheses or the text go. The docs of a task have the
prompts that it reads, so that its system and its filters find them; results record them with a digest.

The phrases of the prompt of Apply in other languages are in `languages/_prompts.yaml`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.yaml_text import read_mapping_file
from speechiq.core.prompt import AUDIO, PROMPTS, OwnPrompts
from speechiq.core.suggestions import suggest
from speechiq.engines.languages import ENGLISH, KEY, OWN, PROMPT_LANGUAGE, read_language
from speechiq.engines.options import Options
from speechiq.metrics.letters.options import LETTERS, NONE_OPTION
from speechiq.metrics.settings import Text, read_record
from speechiq.siq_tasks.index import HERE, read_mapping

QUESTION, OPTIONS, HYPOTHESES, TEXT = "{question}", "{options}", "{hypotheses}", "{text}"
#: Prompt -> the placeholders that it must have, each once.
PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "transcribe": (AUDIO,),
    "answer": (AUDIO, QUESTION, OPTIONS),
    "correct": (HYPOTHESES,),
    "background": (TEXT,),
    "summary": (TEXT,),
    "system": (),
}
#: Task type -> the prompt with which it asks the system.
REQUESTS = {"remember": "transcribe", "understand": "transcribe", "distance": "transcribe", "apply": "answer"}
#: The prompts that lm-eval fills in as templates of Jinja, and what begins an expression there.
TEMPLATES, JINJA = ("transcribe", "answer"), ("{{", "{%", "{#")
FORM = "write lines such as `transcribe: <audio> What is said?`"


class PromptFileSettings(Options, frozen=True, kw_only=True):
    """Define whose prompts are used."""

    prompts: Annotated[
        Text | None,
        Meta(
            description="YAML or JSON file with prompts of your own: `transcribe`, `answer`, `correct`, `background`, "
            "`summary`, `system`. See [Systems](../how-to/systems.md#prompts-of-your-own)."
        ),
    ] = None


def read_prompts(metadata: Mapping[str, Any], keys: Sequence[str] = ()) -> dict[str, Any]:
    """Return the user's own prompts of a task under `prompts`: those of the stages, and of `keys`.

    Empty if the metadata name no file, or one without such prompts.
    """
    own = find_prompts(metadata)
    read = {key: own[key] for key in (*OwnPrompts._fields, *keys) if key in own}
    return {PROMPTS: read} if read else {}


def find_prompts(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return all prompts of the file that the metadata of a task name; empty if they name none."""
    file = read_record(PromptFileSettings, metadata).prompts
    return {} if file is None else read_prompt_file(file)


def read_prompt_file(name: str) -> dict[str, str]:
    """Return prompt -> its text, without blank space around it; refuse unknown prompts and wrong placeholders."""
    option = f"--metadata {PROMPTS}={name}"
    content = read_mapping_file(option, name, FORM)
    for key, text in content.items():
        if key not in PLACEHOLDERS:
            raise SpeechIQError(option, f"unknown prompt {key!r:.80}", suggest(key, PLACEHOLDERS))
        if not isinstance(text, str) or not text.strip():
            raise SpeechIQError(f"{option}: {key}", "not a text", "write one, or leave it out")
        _check_prompt(f"{option}: {key}", key, text)
    if not content:
        raise SpeechIQError(option, "has no prompt", FORM)
    return {key: text.strip() for key, text in content.items()}


def _check_prompt(where: str, key: str, text: str) -> None:
    """Refuse a prompt without one of its placeholders, with one twice, or with an expression of Jinja."""
    if key in TEMPLATES:
        for sign in JINJA:
            if sign in text:
                raise SpeechIQError(where, f"has {sign!r}", f"write {' and '.join(PLACEHOLDERS[key])}, and no template")
    for placeholder in PLACEHOLDERS[key]:
        if placeholder not in text:
            raise SpeechIQError(where, f"has no {placeholder}", f"write {placeholder} where it belongs")
        if text.count(placeholder) > 1:
            raise SpeechIQError(where, f"has {placeholder} {text.count(placeholder)} times", "write it once")


def write_request(task_type: Any, own: Mapping[str, str], none: str) -> str | None:
    """Return the user's own request of a task as a template of Jinja; None if there is none.

    `none` is the text of option (E).

    >>> print(write_request("apply", {"answer": "<audio> {question} {options}"}, "None"))
    <audio> {{question}} (A) {{options[0]}}
    (B) {{options[1]}}
    (C) {{options[2]}}
    (D) {{options[3]}}
    (E) None
    """
    key = REQUESTS.get(task_type) if isinstance(task_type, str) else None
    if key is None or key not in own:
        return None
    lines = [f"({letter}) {{{{options[{place}]}}}}" for place, letter in enumerate(LETTERS[:-1])]
    options = "\n".join([*lines, f"({LETTERS[-1]}) {none}"])
    return own[key].replace(QUESTION, "{{question}}").replace(OPTIONS, options)


def digest_prompts(own: Mapping[str, str]) -> str:
    """Return the sha256 of prompts, independent of their order."""
    return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()


#: Version of the phrases of all languages, recorded with the prompts that have them.
VERSION = 1


class PromptSettings(Options, frozen=True, kw_only=True):
    """Define how the level Apply is asked."""

    prompt_language: Annotated[
        Literal["en", "own"],
        Meta(
            description="Language of the prompt of Apply: English, or that of the data set "
            "([languages](../how-to/languages.md))."
        ),
    ] = "en"


@cache
def read_phrases() -> dict[str, dict[str, str]]:
    """Return code of a language -> name of a phrase -> the phrase."""
    return read_mapping(HERE / "languages" / "_prompts.yaml")


def read_prompt_language(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the prompt of a task; empty for a task that names neither a language nor that of a prompt.

    With `prompt_language=own` they have the text of option (E); English is the own language of English sets.

    >>> read_prompt_language({"language": "de", "prompt_language": "own"})[NONE_OPTION]
    'Keine der genannten Antworten'
    >>> read_prompt_language({"language": "de"}), read_prompt_language({})
    ({'prompt_language': 'en'}, {})
    """
    chosen = read_record(PromptSettings, metadata).prompt_language
    language = read_language(metadata)
    if chosen == ENGLISH or language in (None, ENGLISH):
        return {PROMPT_LANGUAGE: ENGLISH} if {PROMPT_LANGUAGE, KEY} & metadata.keys() else {}
    return {PROMPT_LANGUAGE: OWN, f"{PROMPT_LANGUAGE}_version": VERSION, NONE_OPTION: _find_phrases(metadata)["none"]}


def _find_phrases(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the phrases in the language of a data set; those of its script (`zh-Hant`) before the usual ones."""
    phrases, language = read_phrases(), str(read_language(metadata))
    if found := phrases.get(str(metadata[KEY])) or phrases.get(language):
        return found
    raise SpeechIQError(
        f"{PROMPT_LANGUAGE}={OWN}",
        f"no prompt is written in {language} (there are {', '.join(phrases)})",
        f"give {PROMPT_LANGUAGE}={ENGLISH}",
    )


def write_prompt(template: str, metadata: Mapping[str, Any]) -> str:
    """Return the prompt of a task, with the phrases of its language in the place of the English ones."""
    if read_prompt_language(metadata).get(PROMPT_LANGUAGE) != OWN:
        return template
    for name, phrase in _find_phrases(metadata).items():
        english = read_phrases()[ENGLISH][name]
        if english not in template:
            raise SpeechIQError(
                f"{PROMPT_LANGUAGE}={OWN}", f"doc_to_text has no {english!r}", f"give {PROMPT_LANGUAGE}={ENGLISH}"
            )
        template = template.replace(english, phrase)
    return template


def check_options(question: Mapping[str, Any]) -> None:
    """Refuse a question that has the text of option (E) among its options."""
    none = question.get(NONE_OPTION)
    if none and none.casefold() in map(str.casefold, question["options"]):
        raise SpeechIQError(
            question["question_id"],
            f"{none!r} is among its options, but is added as (E) by {PROMPT_LANGUAGE}={OWN}",
            f"leave it out, or give {PROMPT_LANGUAGE}={ENGLISH}",
        )
