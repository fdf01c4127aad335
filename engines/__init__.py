"""Run the stages of a system, one file per backend; a stage loads its model when it works and frees it afterwards."""
