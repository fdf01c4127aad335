"""Examine this machine, and clean up what runs have stored."""
