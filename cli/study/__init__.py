"""Answer further questions about runs: conditions, failures of tasks, questions without an answer."""
