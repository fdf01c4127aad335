"""Audio files: whether they are whole, how long they are, and their samples."""
