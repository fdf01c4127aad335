"""Compute scores over clips: raw matrices, intervals, comparisons."""
