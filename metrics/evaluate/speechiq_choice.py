"""Score answers to multiple-choice questions as a module of `evaluate`; see `choice.vote`."""

from speechiq.metrics.evaluate.module import make

SpeechiqChoice = make("choice")
