"""Run tasks with the user's own prompts: a YAML or JSON file with texts in the place of the prompts of the package.

A prompt says by placeholders where the audio, the question, the options, the hypotheses or the text go. The docs of a
task have the prompts that it reads, so that its system and its filters find them; results record them with a digest.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from speechiq.core.errors import SpeechIQError
from speechiq.core.files.yaml_text import read_mapping_file
from speechiq.core.prompt import AUDIO, PROMPTS, OwnPrompts
from speechiq.core.suggestions import did_you_mean
from speechiq.engines.options import Options
from speechiq.metrics.letters.options import LETTERS
from speechiq.metrics.settings import Text, read_record

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


def read_prompts(metadata: Mapping[str, Any], *keys: str) -> dict[str, Any]:
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
            near = did_you_mean(str(key), PLACEHOLDERS)
            raise SpeechIQError(option, f"unknown prompt {key!r:.80}", f"{near}known are {', '.join(PLACEHOLDERS)}")
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
