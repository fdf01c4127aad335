"""Write, check and read the questions of the level Apply, and join them to clips by id."""
