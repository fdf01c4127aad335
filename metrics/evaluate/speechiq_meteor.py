"""Compute METEOR of captions as a module of `evaluate`, offline; see `meteor.meteor`."""

from speechiq.metrics.evaluate.module import make

SpeechiqMeteor = make("meteor")
