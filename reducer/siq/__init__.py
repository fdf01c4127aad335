"""Compute SIQ: its scale, norms, rankings and the questions that count."""
