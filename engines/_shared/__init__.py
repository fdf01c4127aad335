"""What several engines share: loading, prefill, sampling, chunks of long audio."""
