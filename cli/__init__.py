"""The commands of `siq`, a file each. What needs torch or lm-eval is imported when a command is called."""
