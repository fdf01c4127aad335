"""Call models behind an endpoint: addresses, calls and their replies."""
