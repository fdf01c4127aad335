"""Run voices, which speak text: one file per backend."""
