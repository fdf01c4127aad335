"""Answer a question about scoreboards: compare, predict, robustness, judges, references."""
