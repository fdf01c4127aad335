"""Measure the distance between texts by the states of language models."""
