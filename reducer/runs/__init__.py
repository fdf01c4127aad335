"""Read runs: files of lm-eval in, systems with their answers out."""
