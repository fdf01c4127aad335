"""Language models that read text, a file for each backend."""
