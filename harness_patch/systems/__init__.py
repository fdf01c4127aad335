"""Build speech systems, which transcribe clips and answer questions about them."""
