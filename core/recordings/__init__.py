"""Read audio files: check that they are complete, measure their length, and decode their samples."""
