"""Run language models that read text: one file per backend."""
