"""Write published results in the forms of other tools."""
