"""Read the letter or the label that an answer gives."""
