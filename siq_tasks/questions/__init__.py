"""Questions of the level Apply: written, checked, kept in a file, and joined to clips by id."""
