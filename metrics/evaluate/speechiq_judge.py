"""Judge free answers as a module of `evaluate`; see `free_answers.judge`."""

from speechiq.metrics.evaluate.module import make

SpeechiqJudge = make("judge")
