"""Compute the similarity of transcripts to references as a module of `evaluate`; see `speechiq.metrics.similarity`."""

from speechiq.metrics.evaluate.module import make

SpeechiqSimilarity = make("similarity")
