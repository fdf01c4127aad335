"""Score answers by rule: exact words, labels, keywords, captions and refusals."""
