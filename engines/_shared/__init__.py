"""Share code between engines: loading, prefill, sampling, chunks of long audio, endpoints."""
