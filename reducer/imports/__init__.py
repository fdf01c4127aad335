"""Read outputs that other programs computed, and write them as runs: a file per form."""
