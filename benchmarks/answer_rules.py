"""Measure how often the rules for free answers agree with verdicts, on any file of answers with verdicts.

    python benchmarks/answer_rules.py FILE.jsonl [--answer answer] [--accepted accepted] [--verdict verdict]

Each line of the file is an object with an answer, an accepted answer (or a list of them) and a verdict, 1 or 0. The
options name other columns. The rows with an even number are for choosing a rule, those with an odd number for judging
it. Agreement is the share of answers on which both say the same; kappa is Cohen's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.metrics import cohen_kappa_score

from speechiq.metrics.rules.exact_match import contains_answer, exact_match, f1

RULES: dict[str, Callable[[str, str, Sequence[str]], float]] = {
    "exact_match": exact_match,
    "f1 >= 0.5": lambda *texts: float(f1(*texts) >= 0.5),
    "contains_answer": contains_answer,
}


def main() -> None:
    """Print, for each half of the rows and each rule, the share of right answers, agreement and kappa."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    for column in ("answer", "accepted", "verdict"):
        parser.add_argument(f"--{column}", default=column)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.file.read_text(encoding="utf-8").splitlines()]
    print("rows   rule             answers  right %  verdicts: right %  agreement %  kappa")
    for half, some in (("even", rows[::2]), ("odd", rows[1::2])):
        verdicts = [int(row[options.verdict]) for row in some]
        for name in RULES:
            found = [decide(name, row, options) for row in some]
            agreement = sum(map(int.__eq__, found, verdicts)) / len(some)
            print(
                f"{half:<6} {name:<16} {len(some):7d} {100 * sum(found) / len(some):8.1f} "
                f"{100 * sum(verdicts) / len(some):18.1f} {100 * agreement:12.1f} "
                f"{cohen_kappa_score(found, verdicts):6.3f}"
            )


def decide(rule: str, row: Mapping[str, Any], options: argparse.Namespace) -> int:
    """Return 1 if a rule takes the answer of a row as right, else 0."""
    accepted = row[options.accepted]
    targets = [accepted] if isinstance(accepted, str) else list(accepted)
    return int(RULES[rule](row[options.answer], targets[0], targets[1:]) == 1)


if __name__ == "__main__":
    main()
