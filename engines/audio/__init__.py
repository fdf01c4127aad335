"""Language models that hear, a file for each backend."""
