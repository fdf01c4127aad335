"""Compute word and character error rates as a module of `evaluate`; see `wer.wer`."""

from speechiq.metrics.evaluate.module import make

SpeechiqWer = make("wer")
