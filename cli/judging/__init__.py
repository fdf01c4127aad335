"""Judge stored answers again, and measure how far a judge can be trusted."""
