"""Write random texts that exercise Whisper's normalizers, and record what OpenAI's own code makes of them.

`python tests/metrics/whisper_texts.py FOLDER` imports `normalizers` from FOLDER (`whisper` in the source archive of
openai-whisper 20250625) and writes `whisper_texts.json`: for each block of texts a digest of the outputs.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

BLOCKS, BLOCK = 60, 100
WORDS = str.split(
    """
the a of it is was that he she we they won't can't let's ain't y'all I'd he'd we'll you're could've wanna gonna gotta
i'ma imma woulda coulda shoulda Mr. Mrs. St. Dr. Capt. Gov. Prof. Jr. Rev. Esq. Gen. cause because kinda sorta dunno
colour colours theatre organise analysed grey cheque uh um hmm mm mhm mmm zero oh o one two three five nine ten eleven
thirteen nineteen twenty thirty forty fifty ninety hundred hundreds thousand thousands million billion trillion first
second third twelfth twentieth hundredth sixes ones twenties double triple point and per cent percent dollar dollars
pounds euro cents minus plus negative positive 1 2 10 42 100 1960s 274th 3.5 1,000 2,000,000 $20 £5.50 €3 ¢9 50% 7% +4
-8 & / 0 00 007 4.0.1 half quarter year years 's ' don't 'cause naïve café Zürich œuvre Łódź ﬁne ½ ² … — - ... . , ? ! ;
(laughs) [music] <unk> (a b) [x y] it's been he's got she'd been they've gone हिन्दी 東京 e-mail U.S. a.m. # % $
"""
)


def write_texts(seed: int = 20250625) -> list[list[str]]:
    """Return blocks of texts; they depend on the seed alone."""
    rng = random.Random(seed)

    def text() -> str:
        return " ".join(WORDS[int(rng.random() * len(WORDS))] for _ in range(2 + int(rng.random() * 14)))

    return [[text() for _ in range(BLOCK)] for _ in range(BLOCKS)]


def hash_outputs(texts: list[str], normalizer: Callable[[str], str]) -> str:
    """Return the beginning of the sha256 of what a normalizer makes of texts; one on which it fails counts as such."""
    made = []
    for text in texts:
        try:
            made.append(normalizer(text))
        except (AssertionError, TypeError, ValueError):
            made.append("(fails)")
    return hashlib.sha256("\n".join(made).encode()).hexdigest()[:16]


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    from normalizers import BasicTextNormalizer, EnglishTextNormalizer

    kinds = {"whisper": EnglishTextNormalizer(), "basic": BasicTextNormalizer()}
    record = {kind: [hash_outputs(texts, rules) for texts in write_texts()] for kind, rules in kinds.items()}
    Path(__file__).with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
