"""List what exists: systems, tasks and norms."""
