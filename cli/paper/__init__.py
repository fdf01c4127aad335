"""Reproduce the analyses of the SpeechIQ paper."""
