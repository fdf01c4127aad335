"""Make runs of planted models, which answer from the audio, the text, both, or the question alone."""

from __future__ import annotations

import numpy as np

from speechiq.metrics.measure import Category, Measure
from speechiq.reducer.runs.systems import System
from speechiq.reducer.studies.listening import AUDIO
from speechiq.siq_tasks.conditions.spec import MUTED, SWAPPED, TEXT

LEVEL = "apply"
CATEGORY = Category("benchmark", LEVEL, Measure("acc", "higher", "acc. %", range=(0.0, 1.0)), ("id", "question_id"))
KNOWN, GUESSED, CORRELATION = 0.8, 0.25, 0.2
CLIPS, QUESTIONS = 2, 3
#: Planted model -> its rate of right answers in each run.
PLANTED = {
    "from the audio": {AUDIO: KNOWN, TEXT: GUESSED, MUTED: GUESSED, SWAPPED: GUESSED},
    "from the text": {AUDIO: GUESSED, TEXT: KNOWN, MUTED: GUESSED, SWAPPED: GUESSED},
    "from both alike": {AUDIO: KNOWN, TEXT: KNOWN, MUTED: GUESSED, SWAPPED: GUESSED},
    "from the question": dict.fromkeys((AUDIO, TEXT, MUTED, SWAPPED), 0.5),
}


def plant(model: str, clusters: int, generator: np.random.Generator) -> dict[str, System]:
    """Return the runs of a planted model on a set."""
    size = 1 / CORRELATION - 1
    items = [
        (f"{cluster:03}-{clip}", str(q))
        for cluster in range(clusters)
        for clip in range(CLIPS)
        for q in range(QUESTIONS)
    ]
    names = {clip: clip[:3] for clip, _ in items}
    runs = {}
    for variant, rate in PLANTED[model].items():
        chances = np.repeat(generator.beta(rate * size, (1 - rate) * size, clusters), CLIPS * QUESTIONS)
        right = (generator.random(len(items)) < chances).astype(float)
        scores = dict(zip(items, right.tolist(), strict=True))
        runs[variant] = System.of_scores(variant, {LEVEL: scores}, levels={LEVEL: CATEGORY}, clusters=names)
    return runs
