"""The commands of `siq`, a file each. What needs torch or lm-eval is imported when a command is called."""

from speechiq.core.errors import print_in_one_line

# Ctrl-C during the imports that follow ends the command in one line.
print_in_one_line()
