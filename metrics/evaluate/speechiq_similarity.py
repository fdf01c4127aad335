"""Compute the similarity of transcripts to references as a module of `evaluate`; see `similarity.similarity`."""

from speechiq.metrics.evaluate.module import make

SpeechiqSimilarity = make("similarity")
