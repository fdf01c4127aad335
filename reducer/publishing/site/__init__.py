"""Show published results as a static site, made of the parts of the report."""
