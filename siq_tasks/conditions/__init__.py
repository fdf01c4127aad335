"""Run any task of the suite under a condition: noise, room, codec, band, speed, level."""
