"""Score and compare the systems in folders of runs."""
