"""Run speech systems in lm-eval: model types, task discovery, and checks around a run."""
