"""Run audio models, which take prompts of text and audio: one file per backend."""
