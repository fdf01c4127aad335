"""Call models behind an endpoint: client, transport, retries, addresses and replies."""
