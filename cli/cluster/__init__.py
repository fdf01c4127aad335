"""Show and run the work of a plan in a file, as jobs of Slurm or of this machine: `siq plan` and `siq launch`."""
