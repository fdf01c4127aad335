"""Write answers to multiple-choice questions from templates, each with the letter that a careful reader takes from it.

A template of `phrasings.txt` is written with `{L}` (the letter meant), `{l}` (in lower case), `{o}` (its option's
text), `{X}`, `{Y}`, `{Z}` (other letters, all different) and `{x}`, `{y}`, `{z}` (their texts). Those below an `unread`
heading give no letter.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from speechiq.siq_tasks.conditions.prompts import read_phrases

SETS = [
    ["a factory fire", "higher diesel prices", "a legal fine", "a labour strike", "None of the above"],
    ["Seattle", "Denver", "Memphis", "Chicago", "None of the above"],
    ["12 percent", "15 percent", "$2,000", "1998", "None of the above"],
    ["A new bridge over the river", "An older school", "The town hall", "I-95", "None of the above"],
    ["hepatitis B", "vitamin C deficiency", "type A influenza", "a stroke", "None of the above"],
    ["It was too expensive.", "It was not safe.", "It was never finished.", "It was sold.", "None of the above"],
    ["oil", "oil spills", "disease", "seals", "None of the above"],
    ["yes", "no"],
    ["red", "green", "blue"],
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "None of the above"],
]


# May be read as a letter or as an article: filled into no template, and judged by itself.
LONE = {"A", "B", "C", "D", "E if A fails"}


def read_templates() -> dict[str, list[str]]:
    """Return the templates of `phrasings.txt` by block; `\\n` in them is a line break."""
    blocks = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            blocks[line[4:]] = []
        else:
            blocks[next(reversed(blocks))].append(line.replace("\\n", "\n"))
    return blocks


BLOCKS = read_templates()
#: Language -> its options (without E), its templates that claim a letter, and those that give none.
TONGUES = yaml.safe_load(Path(__file__).with_name("own_phrasings.yaml").read_text(encoding="utf-8"))


def write_own_answers(language: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield answers in a language, each with the letter that a careful reader takes from it or `?`, and its options."""
    for listed in TONGUES[language]["options"]:
        options = [*listed, read_phrases()[language]["none"]]
        for block in ("claims", "unread"):
            for template, first in itertools.product(TONGUES[language][block], range(5)):
                letters = ["ABCDE"[(first + i) % 5] for i in range(4)]
                answer = template.format(**_fill(letters, options))
                yield answer, letters[0] if block == "claims" else "?", options


def _fill(letters: list[str], options: list[str]) -> dict[str, str]:
    names = dict(zip("LXYZ", letters, strict=False))
    return names | {name.lower().replace("l", "o"): options[ord(letter) - 65] for name, letter in names.items()}


def write_answers(seed: int, rounds: int, blocks: Iterable[str] = BLOCKS) -> Iterator[tuple[str, str, list[str], str]]:
    """Yield answers, each with the letter that a careful reader takes from it or `?`, its options and its template.

    Args:
        seed: Of the random numbers.
        rounds: How often each template is filled in.
        blocks: Keys of `BLOCKS`, the headings of `phrasings.txt`.
    """
    rng = random.Random(seed)
    for block in blocks:
        for template in BLOCKS[block]:
            for _ in range(rounds):
                options = rng.choice(SETS[:7] if template in LONE else _fitting(template))
                letters = rng.sample("ABCDEFGH"[: len(options)], len(options))
                names = _fill(letters, options)
                answer = template.format(**names, l=names["L"].lower())
                if template in LONE:
                    yield answer, template if len(template) == 1 else "?", options, template
                elif _is_json(template) and not _reads_as_json(answer):
                    continue
                else:
                    yield answer, "?" if "unread" in block else names["L"], options, template


def _fitting(template: str) -> list[list[str]]:
    """Return the sets with as many options as the template names, without sentences in sentences."""
    needed = max((i for i, name in enumerate("lxyz", 1) if f"{{{name}}}" in template.lower()), default=0)
    words = any(f"{{{name}}}" in template for name in "oxyz")
    return [one for one in SETS if len(one) >= needed and not (words and one in (SETS[5], SETS[7]))]


def _is_json(template: str) -> bool:
    return template.startswith(('{{"', '[{{"'))


def _reads_as_json(answer: str) -> bool:
    try:
        json.loads(answer)
    except ValueError:
        return False
    return True
