"""Turn systems into a scoreboard: alignment, comparability, scales, intervals and ranks."""
