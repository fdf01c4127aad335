"""Publish results in a form that others can check."""
