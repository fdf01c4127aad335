"""Score one answer of a system: a file per metric."""
