"""Judge free answers as a module of `evaluate`; see `speechiq.metrics.judge.free_answers`."""

from speechiq.metrics.evaluate.module import make

SpeechiqJudge = make("judge")
