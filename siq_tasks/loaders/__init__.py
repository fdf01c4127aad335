"""Load the docs of a task: rows, tables, subsets, clips and questions."""
