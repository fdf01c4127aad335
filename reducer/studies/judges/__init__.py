"""Judge stored answers again, and compare judges with people and with each other."""
