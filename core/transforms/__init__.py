"""Change the sound of a clip: noise, room, codec, band, speed, level.

Each transform is a frozen record with numbers alone, so that a doc can contain it, and the cache key of a clip does.
"""
