"""Provide what every room uses: clips, prompts and responses, files and caches, endpoints, errors."""
