"""Provide the bundled demo set, its models and its run."""
