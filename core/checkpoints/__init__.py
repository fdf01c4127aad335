"""Name, open and check checkpoints of models, on this machine and on the hub."""
