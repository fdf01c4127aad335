"""Compute METEOR of captions as a module of `evaluate`, offline; see `speechiq.metrics.rules.meteor`."""

from speechiq.metrics.evaluate.module import make

SpeechiqMeteor = make("meteor")
