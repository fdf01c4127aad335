"""Score transcripts by their words: error rates, normalization and word classes."""
