"""Hold the engines that answer aloud in a voice of their own, a file per backend."""
