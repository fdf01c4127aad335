"""Speech recognizers: clips in, transcripts out, a file for each backend."""
