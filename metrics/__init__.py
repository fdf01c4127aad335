"""How one answer is scored."""
