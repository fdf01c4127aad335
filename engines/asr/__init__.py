"""Run speech recognizers, which transcribe clips: one file per backend."""
