"""Define `siq data`: make data sets of recordings or texts, and questions about them."""
