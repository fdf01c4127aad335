"""Turn arrays into estimates with intervals, and hold them in grids."""
