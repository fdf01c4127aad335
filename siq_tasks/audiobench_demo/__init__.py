"""Bundled sets for the templates of AudioBench: tables of rows, sounds and recordings."""
