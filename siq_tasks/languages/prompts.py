"""Write the prompt of the level Apply in the language of its data set; `_prompts.yaml` has the phrases."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.engines.languages import ENGLISH, KEY, OWN, PROMPT_LANGUAGE, read_language
from speechiq.engines.options import Options
from speechiq.metrics.letters.options import NONE_OPTION
from speechiq.metrics.settings import read_record
from speechiq.siq_tasks.index import read_mapping

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
    return read_mapping(Path(__file__).with_name("_prompts.yaml"))


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
