"""Measure how scores change with the strength of a condition: noise, codec, room, speed."""
