"""Data sets that exist in many languages, and the prompts in these languages."""
