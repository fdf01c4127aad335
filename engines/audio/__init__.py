"""Run audio models, which take prompts of text and audio and may answer aloud: one file per backend."""
