"""List, describe and make tasks and data sets."""
