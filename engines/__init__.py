"""Ways to run a stage, a file each. A stage loads its model when it works and frees it afterwards."""
