"""Run systems, score them and write a report, in one command: `siq eval`."""
