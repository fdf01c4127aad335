"""Hold the tasks of spoken conversation: WildSpeech-Bench, and a bundled set of the same form."""
