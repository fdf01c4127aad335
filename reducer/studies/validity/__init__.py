"""Measure which metric of a transcript predicts that the system behind it fails."""
